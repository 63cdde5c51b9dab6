"""What a failure of the closing look accuses of: what it looked at, not what the case had found to be kept."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites import closing_look
from brokertrial.suites.case import by_id
from brokertrial.suites.closing_look import partition
from brokertrial.suites.closing_look.coordinator_history import EXPLICIT, GROUP_APIS, IMPLICIT
from brokertrial.suites.closing_look.coordinators import BROKEN
from brokertrial.suites.closing_look.group import GroupLook
from brokertrial.suites.closing_look.log_model import LastOf, LogModel
from brokertrial.suites.closing_look.partition import PartitionLook
from brokertrial.suites.closing_look.promises import HARMS, STATEMENT, of_its_own
from brokertrial.suites.closing_look.transaction import TransactionLook
from brokertrial.suites.guarantees import registry
from brokertrial.suites.outcome import failed, passed
from brokertrial.suites.probe import batch, harm
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import CaseResult, Failure, Outcome
from brokertrial.wire.records import Record
from tests.suites.in_process import NOW_MS, InProcess

CASE = by_id()["idempotence/retry-is-written-once"]
DOUBLED = Anomaly(
    name="duplicate",
    guarantee="idem-002",
    topic="t",
    partition=0,
    offsets=(1, 2),
    values=(7,),
    operations=(1, 2),
    sentence="value 7 is at 1 and at 2",
    strength="integrity",
    attribution="broker",
)
LOOKED = Failure(
    "statement:DescribeProducers.topics.partitions.active_producers:producer # is shown with nothing",
    "the closing look at t1-0: DescribeProducers v0: producer 7 is shown with nothing",
    guarantees=("txn-026",),
)


def failing(*failures: Failure, anomalies: tuple[Anomaly, ...] = ()) -> CaseResult:
    outcome = failed("statement", failures[0].sentence)
    return CaseResult.of(CASE, Outcome(outcome.verdict, outcome.reason, failures=failures, anomalies=anomalies))


def test_the_look_accuses_of_what_it_looked_at() -> None:
    result = of_its_own(failing(LOOKED, replace(LOOKED, guarantees=("cmt-001", "txn-026"))))
    assert (result.guarantees, result.statement) == (("txn-026", "cmt-001"), STATEMENT)
    assert (result.verdict, result.case, result.level) == (Verdict.FAIL, CASE.id, CASE.level)


def test_what_the_case_itself_found_accuses_of_what_that_breaks() -> None:
    own = Failure("statement:Produce:it succeeded", "Produce v13: it must be refused", guarantees=("idem-005",))
    for failures, broken in (((own,), ("idem-005",)), ((own, LOOKED), ("idem-005", "txn-026"))):
        result = of_its_own(failing(*failures))
        assert (result.guarantees, result.statement) == (broken, CASE.statement)


def test_harmed_records_beside_it_are_accused_of_by_what_they_break() -> None:
    own = Failure("statement:Fetch:its end", "Fetch v4: its end is 1", guarantees=("fetch-010",))
    harmed = Failure("harm:aborted-read", "read_committed shows offset 17 of an aborted transaction", harms=True)
    assert of_its_own(failing(own, harmed)).guarantees == ("fetch-010", "txn-002")
    alone = failing(harmed)
    assert of_its_own(alone) is alone


def test_every_harm_is_named() -> None:
    kinds = re.findall(r'yield "([a-z-]+)"', inspect.getsource(harm))
    assert {f"harm:{kind}" for kind in kinds} == set(HARMS)
    assert set(HARMS.values()) <= set(registry())


def test_what_the_case_itself_found_accuses_of_its_own() -> None:
    own = Failure("statement:Produce:it succeeded", "Produce v13: it succeeded; it must be refused")
    both = failing(own, LOOKED)
    assert of_its_own(both) is both
    harmed = failing(LOOKED, anomalies=(DOUBLED,))
    assert of_its_own(harmed) is harmed
    kept = CaseResult.of(CASE, passed())
    assert of_its_own(kept) is kept


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """Of a sound broker with a record in `t` and a commit of `g`."""
    world = InProcess(tmp_path)
    made = Wire(world, CaseContext(prefix="bt-x", case="offsets/x", latency_ms=0.1, time_ms=NOW_MS), [world.address])
    made.create_topic("t").must_succeed()
    made.produce("t", batch(records=[Record(None, b"v", timestamp=NOW_MS)])).must_succeed()
    made.commit("g", "t", offset=1).must_succeed()
    yield made
    world.end()


@pytest.mark.parametrize(
    ("where", "name", "says", "broken"),
    [
        (LogModel, "gap", lambda _: (1, 2), "ord-004"),
        (LogModel, "gap", lambda _: (2, 1), "ord-004"),
        (LogModel, "beyond_the_end", 7, "offs-001"),
        (LogModel, "open_since", 0, "txn-004"),
        (LogModel, "committed", lambda *_: [7], "fetch-015"),
        (LogModel, "offsets_at", lambda *_: {7}, "offs-002"),
        (LogModel, "epoch_end", lambda *_: 7, "repl-008"),
        (partition, "last_of_producers", lambda _: {7: LastOf(0, 0, False)}, "txn-026"),
    ],
)
def test_what_does_not_fit_a_log_names_its_guarantee(
    wire: Wire, where: Any, name: str, says: Any, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A false model of the log: what the broker answers does not fit it."""
    PartitionLook(wire, "t", 0, compacted=False).judge()
    monkeypatch.setattr(where, name, says)
    with pytest.raises(StatementFalse) as found:
        PartitionLook(wire, "t", 0, compacted=False).judge()
    assert found.value.guarantees == (broken,), found.value


def test_an_end_before_the_log_ends_is_that_of_list_offsets(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogModel, "beyond_the_end", 558)
    with pytest.raises(StatementFalse, match=r"^ListOffsets v.* ends t-0 at 1, before the log does: .* 558") as found:
        PartitionLook(wire, "t", 0, compacted=False).judge()
    assert "ListOffsets" in found.value.evidence[0].text and "Fetch" in found.value.evidence[2].text


def _raises(*_: Any, **__: Any) -> None:
    raise StatementFalse("it is false")


@pytest.mark.parametrize(
    ("method", "look", "broken"),
    [
        ("describe_group", lambda wire: GroupLook(wire, "g", {}), ("grp-020",)),
        ("committed_all", lambda wire: GroupLook(wire, "g", {}), ("cmt-001", "cmt-016")),
        ("describe_transaction", lambda wire: TransactionLook(wire, "x"), ("txn-026",)),
    ],
)
def test_what_does_not_fit_a_coordinator_names_its_guarantees(
    wire: Wire, method: str, look: Callable[[Wire], Any], broken: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, method, _raises)
    with pytest.raises(StatementFalse) as found:
        look(wire).judge()
    assert found.value.guarantees == broken, found.value


def test_another_offset_than_was_committed_last_names_its_guarantee(wire: Wire) -> None:
    GroupLook(wire, "g", {("t", 0): 1}).judge()
    with pytest.raises(StatementFalse, match="7 was committed last") as found:
        GroupLook(wire, "g", {("t", 0): 7}).judge()
    assert found.value.guarantees == ("cmt-001",)


def test_the_names_are_those_of_guarantees() -> None:
    sources = [path.read_text("utf-8") for path in Path(closing_look.__file__).parent.glob("*.py")]
    named = {name for text in sources for found in re.findall(r"breaks\(([^)]*)\)", text) for name in found.split(", ")}
    assert len(named) > 8 and {name.strip('"') for name in named if name} <= set(registry())
    assert set(BROKEN.values()) <= set(registry())
    assert set(BROKEN) == {*GROUP_APIS, *IMPLICIT, *EXPLICIT, "InitProducerId", "EndTxn"}
