"""A kill that missed proves nothing; what proves itself stays."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.outcome import passed
from brokertrial.suites.result import Failure, Outcome, Reason
from brokertrial.suites.running.out_of_reach import unless_missed
from brokertrial.suites.targets.effects import OUT_OF_REACH, CheckedNode

LOST = Anomaly(
    name="lost-write", guarantee="prod-002", topic="t", partition=0, offsets=(1,), values=(1,), operations=(1, 2),
    sentence="A value was acknowledged and is gone.", strength="recency", attribution="broker", stands_alone=True,
)  # fmt: skip
DIED = Outcome(Verdict.FAIL, Reason("down", "node 1 died"), failures=(Failure("down", "node 1 died"),))


def node(missed: str = "") -> CheckedNode:
    made = CheckedNode(cast("NodeControl", None))
    made.missed = missed
    return made


NOT_ALONE = msgspec.structs.replace(LOST, stands_alone=False)


@pytest.mark.parametrize("outcome", [passed(), DIED, Outcome(Verdict.FAIL, anomalies=(NOT_ALONE,))])
def test_what_a_missed_kill_leaves_open_is_inconclusive(outcome: Outcome) -> None:
    found = unless_missed(outcome, [node(), node("node 2 was killed, and still answers")])
    assert (found.verdict, found.reason) == (
        Verdict.INCONCLUSIVE, Reason(OUT_OF_REACH, "node 2 was killed, and still answers"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(Verdict.FAIL, anomalies=(LOST,)),
        Outcome(Verdict.FAIL, failures=(Failure("harm:altered", "it is another record", harms=True),)),
    ],
)
def test_a_harmed_record_stays_a_failure(outcome: Outcome) -> None:
    assert unless_missed(outcome, [node("node 1 was paused, and still answers")]) is outcome


@pytest.mark.parametrize("outcome", [passed(), DIED])
def test_where_every_act_reached_its_broker_nothing_changes(outcome: Outcome) -> None:
    assert unless_missed(outcome, [node()]) is outcome
