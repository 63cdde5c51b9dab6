"""What is left of a history still shows the anomaly to the real judge, and without any one operation it does not."""

import itertools
import random
from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import judge
from brokertrial.checkers.minimise.minimum import NotMinimised, minimise
from brokertrial.checkers.minimise.part import HistorySlice
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from tests.checkers.evidence import injections
from tests.checkers.legal_histories import Legal
from tests.checkers.wounds import Wound

OPERATIONS = 300
SOME = ("lost-write", "duplicate", "poll-skip", "two-owners")
"""Anomalies of each sort; `slow` takes all that can be put into a history."""


def recorded(folder: Path, name: str, seed: int, operations: int = OPERATIONS) -> History:
    """A legal history with one anomaly in it."""
    legal = Legal(seed, operations)
    wound = Wound(legal, random.Random(f"{name}/{seed}"))
    injections()[name](wound)
    with Recorder.create(folder, legal.header) as recorder:
        for row in itertools.chain(legal.rows, wound.added):
            if id(row) not in wound.dropped:
                recorder.add(row)
    return History.open(folder)


def same(one: Anomaly, other: Anomaly) -> bool:
    return msgspec.structs.replace(one, sentence="") == msgspec.structs.replace(other, sentence="")


def shown(part: HistorySlice, folder: Path, anomaly: Anomaly) -> bool:
    """Whether the real judge finds it in the part, written to disk."""
    part.write(folder)
    return any(same(found, anomaly) for found in judge(History.open(folder), asked(anomaly)).anomalies)


def asked(anomaly: Anomaly) -> list[str]:
    """The checks of its guarantee."""
    return [name for name, check in all_checks().items() if check.guarantee == anomaly.guarantee]


def without(part: HistorySlice, op: int) -> HistorySlice:
    tables = dict(part.tables)
    for table in ("operations", "records"):
        kept = [number != op for number in tables[table]["op"].to_pylist()]
        tables[table] = tables[table].filter(kept)
    return HistorySlice(part.header, part.started_ns, tables)


def check(tmp_path: Path, name: str, seed: int, operations: int = OPERATIONS) -> None:
    history = recorded(tmp_path / "all", name, seed, operations)
    anomaly = next(found for found in judge(history).anomalies if found.topic is not None or found.group)
    minimum = minimise(history, anomaly)

    assert minimum.complete and minimum.before > OPERATIONS / 2
    assert minimum.part.operations <= 12, minimum.sentence
    assert shown(minimum.part, tmp_path / "part", anomaly)
    for op in sorted(set(minimum.part.tables["operations"]["op"].to_pylist())):
        assert not shown(without(minimum.part, op), tmp_path / f"without-{op}", anomaly), f"{op} is not needed"


@pytest.mark.parametrize("name", SOME)
def test_it_is_still_shown_and_nothing_can_go(tmp_path, name):
    check(tmp_path, name, 1)


def test_a_search_that_is_stopped_says_so(tmp_path):
    history = recorded(tmp_path / "all", "lost-write", 1)
    anomaly = judge(history, ["lost-write"]).anomalies[0]
    minimum = minimise(history, anomaly, go_on=lambda: False)

    assert not minimum.complete and "fewer may suffice" in minimum.sentence
    assert shown(minimum.part, tmp_path / "part", anomaly)


def test_what_no_check_says_is_not_made_smaller(tmp_path):
    history = recorded(tmp_path / "all", "lost-write", 1)
    anomaly = judge(history, ["lost-write"]).anomalies[0]

    with pytest.raises(NotMinimised, match="does not follow from the operations alone"):
        minimise(history, msgspec.structs.replace(anomaly, offsets=(10**9,)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("name", sorted(injections()))
def test_every_anomaly_is_made_small(tmp_path, name, seed):
    check(tmp_path, name, seed, operations=2_000)
