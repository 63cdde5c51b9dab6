"""Random sequences of requests, sent alike to Apache Kafka and to the bundled broker; every difference is told.

    python -m tests.differential [--sequences 5000] [--first 1] [--judge kafka:4.4.0] [--here reference]
                                 [--at-once 4] [--table docs/differential.md]

Sequences are drawn from their number alone, so that `--first 814 --sequences 1` asks number 814 again. Several run at
once. A difference counts when it shows again afterwards, alone on fresh brokers and with ten times the patience: Kafka
asks for several producers at once whether their transactions are open, and then tells one what only another may be
told; and what one sequence leaves behind may be written while another looks. Exit status 1
when a difference is neither mended nor listed in divergences.toml, or a sequence broke off.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic

from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import errors
from brokertrial.wire.apis import ALL
from brokertrial.wire.client import Connection
from brokertrial.wire.conversation import ConnectionFailed
from tests.differential.sequence import Difference, Outcome, run, world_of
from tests.differential.side import ANSWER_WITHIN_S, Side
from tests.differential.table import Covered

PATIENCE_S = 0.15
# Nothing is cleaned and no session ends while a sequence runs: when that happens is nobody's promise. Partitions of
# KIP-848 groups are handed round at once, not once a second; a Kafka that got no CPU for a while is not fenced for it.
# All groups share one partition: a group that only a refused commit made shows once anything is written to its own.
SLOW = (
    "offsets.topic.num.partitions=1,"
    "offsets.retention.check.interval.ms=600000,log.retention.check.interval.ms=600000,"
    "group.consumer.max.session.timeout.ms=600000,group.consumer.session.timeout.ms=300000"
)
JUDGE = f"kafka:4.4.0?set=group.consumer.assignment.interval.ms=0,broker.session.timeout.ms=600000,{SLOW}"
HERE = f"reference?set={SLOW}"
LISTED = Path(__file__).with_name("divergences.toml")


def main() -> int:
    """Runs the sequences on both, prints what differs and what was covered."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="brokertrial-differential-") as scratch:
        return _all(options, Path(scratch))


@contextmanager
def _both(options: argparse.Namespace, work: Path) -> Iterator[tuple[Target, Target]]:
    """A judge and the broker beside it, both fresh."""
    with open_target(options.judge, work / "judge") as judge, open_target(options.here, work / "here") as here:
        yield judge, here


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sequences", type=int, default=5_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--judge", default=JUDGE)
    parser.add_argument("--here", default=HERE)
    parser.add_argument("--trace", action="store_true", help="print every request and what the judge answered")
    parser.add_argument("--at-once", type=int, default=4, help="sequences under way at the same time")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="begin no more after so long")
    parser.add_argument("--table", type=Path, help="where the table of APIs and error codes goes (Markdown)")
    return parser.parse_args()


def _all(options: argparse.Namespace, work: Path) -> int:
    began, found = monotonic(), list[Difference]()
    with _both(options, work / "together") as (judge, here):
        covered, doubted = _together(options, judge, here, began)
    if doubted:
        with _both(options, work / "alone") as (judge, here):
            found = _alone(doubted, covered, judge.bootstrap, here.bootstrap)
    told = _summary(found)
    print(covered.progress(monotonic() - began), f"{covered.share:.0f} % of the requests without an error")
    print("asked: " + ", ".join(f"{api} {count}" for api, count in covered.asked.most_common()))
    if options.table:
        options.table.write_text(covered.page(Counter(each.kind for each in found)), encoding="utf-8")
    return 1 if told or covered.broken else 0


def _together(options: argparse.Namespace, judge: Target, here: Target, began: float) -> tuple[Covered, list[int]]:
    """What was covered, and the numbers of the sequences that are in doubt."""
    covered, doubted = Covered(judge.version() or "of unknown version"), list[int]()
    for outcome in _outcomes(options, judge.bootstrap, here.bootstrap):
        if outcome is None:
            covered.broken += 1
        elif outcome.difference is not None:
            doubted.append(outcome.seed)
            _tell("in doubt:", outcome.difference)
        else:
            covered.add(outcome)
            if covered.sequences % 100 == 0:
                print(covered.progress(monotonic() - began), f"{len(doubted)} in doubt", flush=True)
    return covered, doubted


def _alone(doubted: list[int], covered: Covered, judge: str, here: str) -> list[Difference]:
    """The differences that show again."""
    ranges, found = common(judge, here), []
    for seed in doubted:
        outcome = _once(seed, judge, here, ranges, 10 * PATIENCE_S, False)
        covered.add(outcome)
        if outcome.difference is not None:
            found.append(outcome.difference)
            _tell("different:", outcome.difference)
    return found


def _outcomes(options: argparse.Namespace, judge: str, here: str) -> Iterator[Outcome | None]:
    """As many as there is time for, in their order; None for a sequence that broke off."""
    ranges, ends = common(judge, here), monotonic() + 60 * options.minutes
    with ThreadPoolExecutor(options.at_once) as several:
        numbers = range(options.first, options.first + options.sequences)
        asked = [
            (number, several.submit(_once, number, judge, here, ranges, PATIENCE_S, options.trace))
            for number in numbers
        ]
        try:
            for number, future in asked:
                if monotonic() > ends:
                    return
                try:
                    yield future.result()
                except (ConnectionFailed, OSError) as error:
                    print(f"sequence {number} broke off: {type(error).__name__}: {error}", flush=True)
                    yield None
        finally:
            several.shutdown(wait=False, cancel_futures=True)


def one(seed: int, judge: str, here: str, ranges: dict[str, tuple[int, int]], *, trace: bool = False) -> Outcome:
    """One sequence; a difference that does not show again with more patience was only slowness."""
    outcome = _once(seed, judge, here, ranges, PATIENCE_S, trace)
    if outcome.difference is not None:
        outcome = _once(seed, judge, here, ranges, 10 * PATIENCE_S, trace)
    return outcome


def _once(
    seed: int, judge: str, here: str, ranges: dict[str, tuple[int, int]], patience_s: float, trace: bool
) -> Outcome:
    world = world_of(seed, int(time.time() * 1000), ranges, uuid.uuid4().hex[:6])
    with Side(judge, world.ours, patience_s) as one_side, Side(here, world.ours, patience_s) as other:
        outcome = run(seed, one_side, other, world, trace=trace)
        outcome.seen.update({(api, errors.name(code)): n for (api, code), n in one_side.passing.items()})
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


def _tell(what: str, found: Difference) -> None:
    print(f"{what} sequence {found.seed}, request {found.number}: {found.api} v{found.version} {found.asked[:600]}")
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


if __name__ == "__main__":
    sys.exit(main())
