"""Apache Kafka set up legally and unusually: no case may fail there.

    python -m campaigns.unusual                        # what is not noted yet, then the table
    python -m campaigns.unusual append-time zstd       # only these
    python -m campaigns.unusual --table                # runs nothing

One node of kafka:4.4.0 each: every wire case, and a few trials. Verdicts are kept as they fall
(runs/unusual/NAME.jsonl) and hold for a case as it is written: said again, the command runs what is new, changed or
was inconclusive. Exit status 1 when a case failed, or a configuration has no verdicts.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.proving.notes import Note, noted_run
from brokertrial.suites.proving.release_notes import ReleaseNotes
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.targets import open_target
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import request
from campaigns.relay import Relay

KAFKA = "kafka:4.4.0"
NOTES = Path("runs", "unusual")
RUN_LIMIT_S = 3600.0
TRIALS = (
    "produce/acked-survive-a-kill",
    "idempotence/lost-ack",
    "transactions/lost-end-answers",
    "groups/churn-delivers-everything",
)


@dataclass(frozen=True, slots=True)
class Setup:
    """One way of setting a cluster up, all of it allowed by Kafka's documentation."""

    settings: tuple[str, ...] = ()
    bytes_per_second: int = 0
    """A quota on what one client id may send, and fetch; 0 for none."""
    relayed: bool = False
    """Clients reach it through a relay of TCP connections that knows nothing of Kafka."""


SETUPS = {
    "append-time": Setup(("log.message.timestamp.type=LogAppendTime",)),
    "zstd": Setup(("compression.type=zstd",)),
    "gzip-small-segments": Setup(("compression.type=gzip", "log.segment.bytes=1048576", "log.roll.ms=3000")),
    "relayed": Setup(relayed=True),
    "quota": Setup(bytes_per_second=200_000),
    "small-messages": Setup(("message.max.bytes=100000", "replica.fetch.max.bytes=100000")),
    "large-messages": Setup(("message.max.bytes=20971520", "socket.request.max.bytes=209715200")),
    "auto-creation": Setup(("auto.create.topics.enable=true", "num.partitions=3")),
    "two-in-sync": Setup(("min.insync.replicas=2",)),
    "short-sessions": Setup(
        (
            "group.max.session.timeout.ms=10000",
            "group.initial.rebalance.delay.ms=3000",
            "group.consumer.max.session.timeout.ms=8000",
            "group.max.size=50",
        )
    ),
    "one-coordinator": Setup(
        (
            "offsets.topic.num.partitions=1",
            "offsets.topic.compression.codec=2",
            "transaction.state.log.num.partitions=1",
        )
    ),
    "no-cleaner": Setup(("log.cleaner.enable=false",)),
    "no-fetch-sessions": Setup(("max.incremental.fetch.session.cache.slots=0", "connections.max.idle.ms=20000")),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is not noted yet and prints the table; 0 when nothing failed anywhere."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(SETUPS)}")
    parser.add_argument("--table", action="store_true", help="run nothing")
    options = parser.parse_args(argv)
    if unknown := set(options.names) - set(SETUPS):
        parser.error(f"no configuration is called {', '.join(sorted(unknown))}; known: {', '.join(SETUPS)}")
    cases = [case for case in all_cases() if case.kind == "wire" or case.id in TRIALS]
    for name in [] if options.table else options.names or SETUPS:
        _run(SETUPS[name], _shelf(name), cases)
    shelves = {name: _shelf(name) for name in options.names or SETUPS}
    return _tell(shelves, cases)


def _shelf(name: str) -> ReleaseNotes:
    return ReleaseNotes(KAFKA.removeprefix("kafka:"), NOTES / f"{name}.jsonl")


def _run(setup: Setup, shelf: ReleaseNotes, cases: Sequence[Case]) -> None:
    """One run; what it shows is in the notes."""
    if not (missing := shelf.missing(cases)):
        return
    shelf.forget_what_is_said_again()
    with Scratch("unusual") as folder, _target(setup, Path(folder)) as target:
        ids = tuple(case.id for case in missing)
        place = str(Path(folder, "run"))
        options = RunOptions(target, select=ids, run_dir=place, unproven="fail", keep="failed", jobs=1)
        said = noted_run(options, shelf.path.absolute(), RUN_LIMIT_S)
    if not shelf.verdicts(cases):
        print(f"{shelf.path.stem}: no verdict at all.\n{said}")


@contextmanager
def _target(setup: Setup, folder: Path) -> Iterator[str]:
    """The target string of a cluster that is set up so: the run starts it, unless something has to be done to it."""
    settings = [*setup.settings]
    if not setup.relayed and not setup.bytes_per_second:
        yield _string(settings)
        return
    with Relay() as relay:
        if setup.relayed:
            settings.append(f"advertised.listeners=PLAINTEXT://127.0.0.1:{relay.port}")
        target = open_target(_string(settings), folder)
        relay.towards(lambda: next(iter(target.addresses().values())))  # type: ignore[attr-defined]
        with target:
            if setup.bytes_per_second:
                _limit(target.bootstrap, setup.bytes_per_second)
            yield f"bootstrap:127.0.0.1:{relay.port}" if setup.relayed else f"bootstrap:{target.bootstrap}"


def _string(settings: Sequence[str]) -> str:
    return f"{KAFKA}?set={','.join(settings)}" if settings else KAFKA


def _limit(bootstrap: str, bytes_per_second: int) -> None:
    """Sets the quota of every client id that has none of its own."""
    host, _, port = bootstrap.partition(":")
    limits = [
        {"key": f"{side}_byte_rate", "value": float(bytes_per_second), "remove": False}
        for side in ("producer", "consumer")
    ]
    entry = {"entity": [{"entity_type": "client-id", "entity_name": None}], "ops": limits}
    with Connection(host, int(port)) as connection:
        answer = connection.call(request("AlterClientQuotas", entries=[entry], validate_only=False), 1)
    if answer.entries[0].error_code:
        raise SystemExit(f"the quota was refused: {answer.entries[0]}")


def _tell(shelves: dict[str, ReleaseNotes], cases: Sequence[Case]) -> int:
    print("| configuration | settings | pass | fail | inconclusive | not applicable |\n|---|---|---|---|---|---|")
    bad = []
    for name, shelf in shelves.items():
        notes = shelf.verdicts(cases).values()
        seen = Counter(note.verdict for note in notes)
        counts = [seen[verdict] for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)]
        told = ", ".join(f"{many} {why}" for why, many in Counter(_why(note) for note in notes).items() if why)
        print(f"| {name} | {_told(SETUPS[name])} | {' | '.join(map(str, counts))} | {told or 0} |")
        bad += [f"{name}: {note.case} {note.verdict}: {note.sentence}" for note in notes if _bad(note)]
        bad += [] if notes else [f"{name}: no verdicts"]
    print("\n".join(["", *bad]))
    return 1 if bad else 0


def _why(note: Note) -> str:
    return note.reason if note.verdict == Verdict.NOT_APPLICABLE else ""


def _bad(note: Note) -> bool:
    return note.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)


def _told(setup: Setup) -> str:
    quota = [f"{setup.bytes_per_second} bytes/s for each client id"] if setup.bytes_per_second else []
    relay = ["all connections through a TCP relay"] if setup.relayed else []
    return ", ".join([*setup.settings, *quota, *relay])


if __name__ == "__main__":
    sys.exit(main())
