"""Leaderships that moved while nobody of us moved them, and what then becomes of a failure."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.probe.failures import NoResponse
from brokertrial.suites.probe.target_condition import UNSETTLED, Condition
from brokertrial.suites.result import Failure, Outcome, Reason
from brokertrial.suites.running.cluster_moves import ClusterMoves, Leadership, moved

LEADERSHIP = Leadership((1, 2, 3), (("__consumer_offsets", 0, 4), ("__consumer_offsets", 1, 2)), 7)
FAILED = Outcome(Verdict.FAIL, Reason("statement", "it is 3"), failures=(Failure("statement:x", "it is 3"),))
HARMED = msgspec.structs.replace(FAILED, failures=(Failure("statement:x", "a record is lost", harms=True),))
MOVED = Condition("unsettled", "nodes went")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, ""),
        ({"nodes": (1, 3)}, "nodes [1, 2, 3] were named by Metadata, then [1, 3]"),
        ({"controller_epoch": 8}, "the controllers elected anew (epoch 7, then 8)"),
        (
            {"coordinators": (("__consumer_offsets", 0, 4), ("__consumer_offsets", 1, 3))},
            "__consumer_offsets-1 had leader epoch 2, then 3",
        ),
        ({"coordinators": (*LEADERSHIP.coordinators, ("__transaction_state", 0, 0))}, ""),
    ],
    ids=["nothing", "a node", "the controller", "a coordinator", "a new topic"],
)
def test_what_has_moved(changed: dict[str, object], sentence: str) -> None:
    assert moved(LEADERSHIP, msgspec.structs.replace(LEADERSHIP, **changed)) == sentence


class FakeWire:
    """A cluster that shows one leader epoch after the other; None: it does not answer."""

    def __init__(self, epochs: list[int | None]) -> None:
        self._epochs = epochs

    def metadata(self, *topics: str) -> SimpleNamespace:
        if (epoch := self._epochs.pop(0)) is None:
            raise NoResponse("it is away")
        part = SimpleNamespace(partition_index=0, leader_epoch=epoch)
        topics_told = [SimpleNamespace(name=topics[0], partitions=[part])]
        return SimpleNamespace(struct=SimpleNamespace(brokers=[SimpleNamespace(node_id=1)], topics=topics_told))

    def versions(self, api: str) -> tuple[int, ...]:
        return ()

    def drop_lines(self) -> None:
        """Nothing is open."""


def test_each_look_is_what_the_next_case_begins_with() -> None:
    moves = ClusterMoves(lambda wire=FakeWire([1, 2, 2]): wire)
    before = moves.known()
    assert moves.since(before) == "__consumer_offsets-0 had leader epoch 1, then 2"
    assert moves.since(moves.known()) == ""


def test_what_a_case_moved_itself_is_forgotten() -> None:
    moves = ClusterMoves(lambda wire=FakeWire([1, 2, 2]): wire)
    moves.known()
    moves.forget()
    assert moves.since(moves.known()) == ""


@pytest.mark.parametrize("epochs", [[None, 1], [1, None]], ids=["before", "after"])
def test_a_cluster_that_does_not_tell_has_not_moved(epochs: list[int | None]) -> None:
    moves = ClusterMoves(lambda wire=FakeWire(epochs): wire)
    assert moves.since(moves.known()) == ""


def test_a_failure_while_leaderships_moved_is_tried_again() -> None:
    found = MOVED.upon(FAILED, SimpleNamespace(apis={"Produce"}))
    assert found.verdict is Verdict.INCONCLUSIVE and found.reason is not None and found.reason.kind == UNSETTLED
    assert found.reason.sentence == "leaderships moved by themselves: nodes went; it is 3"


@pytest.mark.parametrize(
    ("outcome", "apis"),
    [
        (HARMED, {"Produce"}),
        (FAILED, {"Produce", "ElectLeaders"}),
        (Outcome(Verdict.PASS), {"Produce"}),
        (Outcome(Verdict.NOT_APPLICABLE, Reason("needs", "no")), {"Produce"}),
    ],
    ids=["a record is harmed", "the case moved them", "passed", "not applicable"],
)
def test_anything_else_stands(outcome: Outcome, apis: set[str]) -> None:
    assert MOVED.upon(outcome, SimpleNamespace(apis=apis)) is outcome
