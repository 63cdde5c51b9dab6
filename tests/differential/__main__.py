"""Random sequences of requests, sent alike to Apache Kafka and to the bundled broker; every difference is told.

    python -m tests.differential [--sequences 5000] [--first 1] [--judge kafka:4.4.0] [--here reference] [--table FILE]

Sequences are drawn from their number alone, so that `--first 814 --sequences 1` asks number 814 again. A difference
counts when it shows again with ten times the patience. Exit status 1 when one is neither mended nor listed in
divergences.toml.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
import uuid
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic

from suites.targets import open_target
from suites.targets.base import Target
from tests.differential.sequence import Difference, Outcome, run, world_of
from tests.differential.side import ANSWER_WITHIN_S, Side
from wire.apis import ALL
from wire.client import Connection

PATIENCE_S = 0.15
# Nothing is cleaned while a sequence runs: when that happens is nobody's promise.
JUDGE = "kafka:4.4.0?set=offsets.retention.check.interval.ms=600000,log.retention.check.interval.ms=600000"
HERE = "reference?set=offsets.topic.num.partitions=3"
LISTED = Path(__file__).with_name("divergences.toml")


def main() -> int:
    """Runs the sequences on both, prints what differs and what was covered."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="brokertrial-differential-") as scratch:
        work = Path(scratch)
        with open_target(options.judge, work / "judge") as judge, open_target(options.here, work / "here") as here:
            return _all(options, judge, here)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sequences", type=int, default=5_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--judge", default=JUDGE)
    parser.add_argument("--here", default=HERE)
    parser.add_argument("--most", type=int, default=200, help="differences to stop at")
    parser.add_argument("--trace", action="store_true", help="print every request and what the judge answered")
    parser.add_argument("--table", type=Path, help="where the table of APIs and error codes goes (Markdown)")
    return parser.parse_args()


def _all(options: argparse.Namespace, judge: Target, here: Target) -> int:
    ranges = common(judge.bootstrap, here.bootstrap)
    began, asked, seen = monotonic(), Counter[str](), Counter[tuple[str, str]]()
    valid, number, found = 0, 0, list[Difference]()
    for number in range(options.sequences):
        outcome = one(options.first + number, judge.bootstrap, here.bootstrap, ranges, trace=options.trace)
        asked.update(outcome.asked)
        seen.update(outcome.seen)
        valid += outcome.valid
        if outcome.difference is not None:
            found.append(outcome.difference)
            _tell(outcome.difference)
            if len(found) >= options.most:
                break
        if number % 100 == 99:
            print(_progress(number + 1, asked, began), f"{len(found)} differences", flush=True)
    told = _summary(found)
    share = 100 * valid / max(1, asked.total())
    print(_progress(number + 1, asked, began), f"{share:.0f} % of the requests without an error")
    print("asked: " + ", ".join(f"{api} {count}" for api, count in asked.most_common()))
    if options.table:
        options.table.write_text(table(seen, asked, judge.version()), encoding="utf-8")
    return 1 if told else 0


def _progress(sequences: int, asked: Counter[str], began: float) -> str:
    return f"{sequences} sequences, {asked.total()} requests, {monotonic() - began:.0f} s:"


def one(seed: int, judge: str, here: str, ranges: dict[str, tuple[int, int]], *, trace: bool = False) -> Outcome:
    """One sequence; a difference that does not show again with more patience was only slowness."""
    outcome = _once(seed, judge, here, ranges, PATIENCE_S, trace)
    if outcome.difference is not None:
        outcome = _once(seed, judge, here, ranges, 10 * PATIENCE_S, False)
    return outcome


def _once(
    seed: int, judge: str, here: str, ranges: dict[str, tuple[int, int]], patience_s: float, trace: bool
) -> Outcome:
    world = world_of(seed, int(time.time() * 1000), ranges, uuid.uuid4().hex[:6])
    with Side(judge, world.ours, patience_s) as one_side, Side(here, world.ours, patience_s) as other:
        outcome = run(seed, one_side, other, world, trace=trace)
        for side in (one_side, other):
            names = [topic.name for topic in world.topics if topic.alive]
            side.ask("DeleteTopics", 5, topic_names=names, timeout_ms=20_000)
    return outcome


def common(*bootstraps: str) -> dict[str, tuple[int, int]]:
    """The versions that both offer, by API; those that Kafka marks as unstable left out."""
    offers = []
    for bootstrap in bootstraps:
        host, port = bootstrap.split(",")[0].rsplit(":", 1)
        with Connection(host, int(port), timeout_s=ANSWER_WITHIN_S) as line:
            offers.append(line.offered())
    found = {}
    for api in ALL:
        if all(api.key in offer for offer in offers):
            least = max(offer[api.key][0] for offer in offers)
            most = min(*(offer[api.key][1] for offer in offers), api.newest)
            if least <= most:
                found[api.name] = (least, most)
    return found


def _tell(found: Difference) -> None:
    print(f"sequence {found.seed}, request {found.number}: {found.api} v{found.version} {found.asked[:600]}")
    print(f"    judge: {found.judge[:600]}\n    here:  {found.here[:600]}", flush=True)


def unlisted(found: list[Difference]) -> list[str]:
    """The kinds of differences that divergences.toml does not know."""
    listed = [entry["kind"] for entry in tomllib.loads(LISTED.read_text("utf-8")).get("divergence", [])]
    return sorted({each.kind for each in found if not any(fnmatch(each.kind, pattern) for pattern in listed)})


def _summary(found: list[Difference]) -> int:
    """Prints the kinds of differences; how many of them nobody has listed."""
    unknown = unlisted(found)
    for kind, count in Counter(difference.kind for difference in found).most_common():
        print(f"{'UNLISTED' if kind in unknown else 'listed  '} {count:>4}  {kind[:300]}")
    return len(unknown)


def table(seen: Counter[tuple[str, str]], asked: Counter[str], version: str) -> str:
    """Which error codes the judge's broker gave to which API, as Markdown."""
    lines = [
        f"# Error codes seen on Apache Kafka {version} in the differential run",
        "",
        "| API | requests | codes seen |",
        "|---|---:|---|",
    ]
    for api in sorted(asked):
        codes = ", ".join(f"{name} {count}" for (of, name), count in sorted(seen.items()) if of == api)
        lines.append(f"| {api} | {asked[api]} | {codes} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
