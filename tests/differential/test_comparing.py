"""Two brokers are alike although each names its members as it likes, and Kafka refuses in another's words."""

from __future__ import annotations

from typing import Any

import pytest

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response
from tests.differential.sequence import _in_anothers_words
from tests.differential.side import WAITING, Heard, Side
from tests.differential.step import Step

JOIN_V5 = 5


def joined(own: str, *everybody: str) -> Struct:
    members = [{"member_id": one, "metadata": memoryview(b"m")} for one in everybody]
    return response("JoinGroup", member_id=own, leader="first", generation_id=1, protocol_name="p", members=members)


def heard(monkeypatch: pytest.MonkeyPatch, first: Struct, *late: Struct) -> Heard:
    """What a broker is heard to say that answers one JoinGroup, and with it others that it has held."""
    side = Side("127.0.0.1:1", "ours", 0.1)
    steps = [Step("JoinGroup", JOIN_V5, {}, line=line) for line in range(1 + len(late))]
    monkeypatch.setattr(side, "_answer", lambda _: first)
    monkeypatch.setattr(side, "_late", lambda apart: list(zip(steps[1:], late, strict=True)))
    return side.put(steps[0])


def test_members_are_named_by_their_own_answers_not_by_the_order_in_which_a_leader_hears_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = heard(monkeypatch, joined("first", "first", "a", "b"), joined("a"), joined("b"))
    other = heard(monkeypatch, joined("first", "y", "x", "first"), joined("x"), joined("y"))
    assert one == other


def refused(*codes: int) -> Heard:
    return Heard({"partition_responses": [{"error_code": code} for code in codes]})


@pytest.mark.parametrize(
    ("judge", "here", "same"),
    [
        (refused(errors.TRANSACTION_ABORTABLE), refused(errors.INVALID_TXN_STATE), True),
        (refused(0, errors.INVALID_TXN_STATE), refused(0, errors.TRANSACTION_ABORTABLE), True),
        (refused(errors.INVALID_TXN_STATE), refused(errors.INVALID_TXN_STATE), False),
        (refused(errors.INVALID_TXN_STATE), refused(errors.PRODUCER_FENCED), False),
        (refused(errors.INVALID_TXN_STATE), refused(0, errors.TRANSACTION_ABORTABLE), False),
        (refused(errors.INVALID_TXN_STATE), Heard(WAITING), False),
    ],
)
def test_only_a_transaction_that_is_not_open_is_refused_in_anothers_words(judge: Any, here: Any, same: bool) -> None:
    assert _in_anothers_words(judge, here) is same
