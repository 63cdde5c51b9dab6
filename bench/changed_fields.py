"""Which fields of which messages no case looks at: each is changed on its way to or from the bundled broker.

    python -P bench/changed_fields.py [--api Fetch ...] [--versions] [--jobs 2] [--table changed.jsonl]

A request's field is ignored (its default stands there), a response's is empty or another; of several elements the
others are as the first, or missing. All wire cases for one node are run once in this process, to see which of them meet
which field; then each change is put to those that meet it, the shortest first, until one accuses. What is left is
listed: a broker could be wrong there and no case would say so. With `--versions` each version is changed by itself.
What the table holds is not run again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import msgspec

from bench.in_process import ELSEWHERE, MEMORY
from bench.message_changes import REQUEST, RESPONSE, Change, change, possible
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id, own_cases
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_request, decode_response, encode_request, encode_response
from brokertrial.wire.structs import Struct
from tests.suites.in_process import NODE, NOW_MS, InProcess, OnlyNode

LONGEST_S = 30.0
MOST = 100
"""So many cases are tried with one change."""


class TooLong(SystemExit):
    """The case did not end."""


class Met(msgspec.Struct):
    """What a case meets on the healthy broker."""

    case: str
    seconds: float
    passed: bool
    changes: list[Change]


class Row(msgspec.Struct):
    """One change, and the case that accuses; empty where none does."""

    change: Change
    found_by: str
    sentence: str
    tried: int


class ChangedOnTheWay(InProcess):
    """The broker, whose messages have one field changed; or what could be changed is noted."""

    wanted: Change | None = None
    seen: set[Change]

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        try:
            header, message = decode_request(frame[4:])
        except Malformed:
            return super().send(connection, frame, api, version)
        if self._changed(message, header.api_version, REQUEST):
            frame = encode_request(message, header.api_version, header.correlation_id, header.client_id)
        return super().send(connection, frame, api, version)

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        frame, ns = super().receive(connection, timeout_s, api, version)
        try:
            correlation_id, message = decode_response(api, version, frame)
        except (Malformed, LookupError):
            return frame, ns
        if self._changed(message, version, RESPONSE):
            frame = encode_response(message, version, correlation_id)[4:]
        return frame, ns

    def _changed(self, message: Struct, version: int, direction: str) -> bool:
        wanted = self.wanted
        if wanted is None:
            self.seen.update(possible(message, version))
            return False
        if (message._api, direction) != (wanted.api, wanted.direction) or wanted.version not in (-1, version):
            return False
        return change(message, version, wanted)


def _run(case_id: str, wanted: Change | None) -> tuple[str, str, set[Change]]:
    """Verdict, sentence and what was seen."""
    case = by_id()[case_id]
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S, 1.0)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        try:
            broker = ChangedOnTheWay(Path(folder))
            broker.seen, broker.wanted = set(), wanted
            try:
                context = CaseContext(
                    prefix="bt-x", case=case.id, latency_ms=0.1, time_ms=NOW_MS, closing_look=True, names_alike=True
                )
                wire = Wire(broker, context, [broker.address])
                outcome = attempt(case, wire, broker, {NODE: OnlyNode(broker)}, lambda: True, None, closing_look)
            finally:
                broker.end()
        except TooLong:
            return "too long", "", set()
        except Exception as error:  # noqa: BLE001 - a broker that is in this process, or a probe that read nonsense
            return "raised", f"{type(error).__name__}: {error}", set()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return str(outcome.verdict), outcome.reason.sentence if outcome.reason else "", broker.seen


def _too_long(*_: object) -> None:
    raise TooLong


def met(case_id: str) -> Met:
    """Which changes a case meets on the healthy broker, and how long it takes."""
    begun = time.monotonic()
    verdict, _, seen = _run(case_id, None)
    return Met(case_id, time.monotonic() - begun, verdict == Verdict.PASS, sorted(seen))


def tried(candidates: list[str], wanted: Change) -> Row:
    """The first of the cases that accuses."""
    for count, case_id in enumerate(candidates, 1):
        verdict, sentence, _ = _run(case_id, wanted)
        if verdict == Verdict.FAIL:
            return Row(wanted, case_id, sentence, count)
    return Row(wanted, "", "", len(candidates))


def main() -> int:
    options = _options()
    names = [one.id for one in own_cases() if one.kind == "wire" and not ELSEWHERE.intersection(one.needs)]
    with ProcessPoolExecutor(options.jobs) as pool:
        by_change = _candidates(pool.map(met, names), each_version=options.versions)
        done = {row.change for row in _rows(options.table)}
        todo = [one for one in sorted(by_change) if one not in done and (not options.api or one.api in options.api)]
        print(f"{len(names)} cases, {len(by_change)} changes, {len(todo)} to try", flush=True)
        with options.table.open("ab") as table:
            for row in pool.map(tried, [by_change[one] for one in todo], todo):
                table.write(msgspec.json.encode(row) + b"\n")
                table.flush()
                if not row.found_by:
                    print(f"no case of {row.tried}: {row.change}", flush=True)
    rows = _rows(options.table)
    print(f"{sum(bool(row.found_by) for row in rows)} of {len(rows)} changes are accused")
    return 0


def _candidates(all_met: Iterable[Met], *, each_version: bool) -> dict[Change, list[str]]:
    """For each change the cases that meet it, those first that are most about that API."""
    found: dict[Change, list[tuple[float, float, str]]] = defaultdict(list)
    for one in all_met:
        if not one.passed:
            continue
        about = Counter(each.api for each in one.changes)
        for each in {each if each_version else each._replace(version=-1) for each in one.changes}:
            found[each].append((-about[each.api] / len(one.changes), one.seconds, one.case))
    return {each: [case for *_, case in sorted(cases)[:MOST]] for each, cases in found.items()}


def _rows(table: Path) -> list[Row]:
    return [msgspec.json.decode(line, type=Row) for line in table.read_bytes().splitlines()] if table.exists() else []


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--api", action="append", default=[])
    parser.add_argument("--versions", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, default=Path("changed.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
