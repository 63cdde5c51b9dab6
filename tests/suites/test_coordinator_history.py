"""Whether one order explains what a coordinator answered: exchanges that must fail, and near misses that must pass."""

from __future__ import annotations

from typing import Any

import pytest

from brokertrial.suites.closing_look.coordinator_history import coordinator_histories
from brokertrial.suites.closing_look.coordinators import UNDECIDED, order_of_answers
from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.failures import StatementFalse, Unclear
from brokertrial.wire import errors
from brokertrial.wire.frames import encode_request, encode_response
from brokertrial.wire.messages import request, response
from brokertrial.wire.records import Record, build_batch

Fields = dict[str, Any]
TXN = {"transactional_id": "x", "producer_id": 7}
OK = {"error_code": errors.NONE}


class Asked:
    """Exchanges one after the other, or beside each other where their times say so."""

    def __init__(self) -> None:
        self.exchanges: list[PendingExchange] = []
        self._now = 0

    def add(
        self, api: str, version: int, asked: Fields, answer: Fields | None, at: tuple[int, int] | None = None
    ) -> Asked:
        self._now += 10
        sent, received = at or (self._now, self._now + 5)
        body = request(api, **asked)
        made = PendingExchange(body, version, encode_request(body, version, 1, "c"), sent, "node 1", lambda _: None)
        made.number = len(self.exchanges) + 1
        if answer is not None:
            made.answer, made.received_ns = response(api, **answer), received
            made.answer_frame = encode_response(made.answer, version, 1)
        self.exchanges.append(made)
        return self

    # --- a group

    def join(self, member: str, generation: int, at: tuple[int, int] | None = None, **fields: Any) -> Asked:
        told = {"generation_id": generation, "member_id": member}
        return self.add("JoinGroup", 5, {"group_id": "g", "protocol_type": "consumer", **fields}, told, at)

    def heartbeat(self, member: str, generation: int, error: int = 0, at: tuple[int, int] | None = None) -> Asked:
        asked = {"group_id": "g", "generation_id": generation, "member_id": member}
        return self.add("Heartbeat", 3, asked, {"error_code": error}, at)

    def commit(self, member: str, generation: int, error: int = 0) -> Asked:
        asked = {"group_id": "g", "generation_id_or_member_epoch": generation, "member_id": member}
        topics = [{"name": "t", "partitions": [{"partition_index": 0, "error_code": error}]}]
        wanted = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
        return self.add("OffsetCommit", 7, {**asked, "topics": wanted}, {"topics": topics})

    def leave(self, member: str, error: int = 0) -> Asked:
        return self.add("LeaveGroup", 2, {"group_id": "g", "member_id": member}, {"error_code": error})

    # --- a transaction

    def init(self, epoch: int | None, error: int = 0, of: int = -1, producer: int = 7) -> Asked:
        asked = {"transactional_id": "x", "producer_id": producer if of >= 0 else -1, "producer_epoch": of}
        told = {"error_code": error, "producer_id": producer, "producer_epoch": epoch if epoch is not None else -1}
        return self.add("InitProducerId", 4, asked, told)

    def partitions(self, epoch: int, error: int = 0) -> Asked:
        named = {"transactional_id": "x", "producer_id": 7, "producer_epoch": epoch}
        asked = {f"v3_and_below_{name}": value for name, value in named.items()}
        rows = [{"name": "t", "results_by_partition": [{"partition_index": 0, "partition_error_code": error}]}]
        return self.add("AddPartitionsToTxn", 3, asked, {"results_by_topic_v3_and_below": rows})

    def produce(self, epoch: int, version: int = 12) -> Asked:
        batch = build_batch(
            [Record(None, b"v", timestamp=1)], producer_id=7, producer_epoch=epoch, base_sequence=0, transactional=True
        )
        data = [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]
        done = [{"name": "t", "partition_responses": [{"index": 0}]}]
        asked = {"transactional_id": "x", "acks": -1, "topic_data": data}
        return self.add("Produce", version, asked, {"responses": done})

    def end(self, epoch: int, commit: bool, error: int = 0, following: int | None = None) -> Asked:
        asked = {**TXN, "producer_epoch": epoch, "committed": commit}
        told: Fields = {"error_code": error}
        if following is not None:
            told.update(producer_id=7, producer_epoch=following)
        return self.add("EndTxn", 3 if following is None else 5, asked, told)


@pytest.mark.parametrize(
    "asked",
    [
        Asked().join("a", 1).leave("a").heartbeat("a", 1),
        Asked().join("a", 1).join("a", 2).heartbeat("a", 1),
        Asked().join("a", 2).join("b", 3).join("a", 2),
        Asked().join("a", 1).join("b", 2).commit("a", 2),
        Asked().join("a", 1).heartbeat("a", 1, errors.UNKNOWN_MEMBER_ID).heartbeat("a", 1),
        Asked().join("a", 1).heartbeat("a", 1, errors.ILLEGAL_GENERATION),
        Asked().join("a", 1, at=(1, 4)).join("b", 2, at=(2, 5)).heartbeat("a", 1, at=(6, 7)),
        Asked().init(0).init(0),
        Asked().init(0).init(1).partitions(0),
        Asked().init(0).end(0, True),
        Asked().init(0).partitions(0).end(0, True).end(0, False),
        Asked().init(0).partitions(0).end(0, True).end(0, True, errors.INVALID_TXN_STATE),
        Asked().init(0).produce(0).end(0, True, following=1).produce(0),
        Asked().init(3).partitions(3, errors.PRODUCER_FENCED),
    ],
)
def test_answers_that_no_order_explains(asked: Asked) -> None:
    (history,) = coordinator_histories(asked.exchanges)
    with pytest.raises(StatementFalse, match="no order") as raised:
        order_of_answers(history)
    assert raised.value.evidence and raised.value.ops and raised.value.guarantees


@pytest.mark.parametrize(
    "asked",
    [
        Asked().join("a", 1).heartbeat("a", 1).leave("a").heartbeat("a", 1, errors.UNKNOWN_MEMBER_ID),
        Asked().join("a", 1).join("a", 2).heartbeat("a", 1, errors.ILLEGAL_GENERATION).heartbeat("a", 2),
        Asked().join("a", 1).join("b", 2).commit("a", 1, errors.UNKNOWN_MEMBER_ID).commit("b", 2),
        Asked().join("a", 1).leave("a").commit("a", 1, errors.ILLEGAL_GENERATION),
        Asked().join("a", 1, at=(1, 4)).join("b", 2, at=(2, 5)).heartbeat("a", 1, at=(3, 7)),
        Asked().join("a", 1).join("a", 4).join("b", 4).heartbeat("a", 4, errors.REBALANCE_IN_PROGRESS),
        Asked().join("a", 1).leave("never-joined"),
        Asked().init(0).partitions(0).end(0, True).end(0, True).end(0, False, errors.INVALID_TXN_STATE),
        Asked().init(0).init(1).partitions(0, errors.PRODUCER_FENCED).partitions(1),
        Asked().init(0).produce(0).end(0, True, following=1).produce(1).end(1, False, following=2),
        Asked().init(0).end(0, False, following=1),
        Asked().init(0).partitions(0).end(0, True, errors.INVALID_TXN_STATE).end(0, True, errors.INVALID_TXN_STATE),
        Asked().init(0).init(1, of=0).init(1, of=0),
        Asked().init(0).partitions(9, errors.INVALID_PRODUCER_EPOCH),
        Asked().init(0).init(None, errors.CONCURRENT_TRANSACTIONS).partitions(0, errors.PRODUCER_FENCED),
    ],
)
def test_near_misses_are_explained(asked: Asked) -> None:
    (history,) = coordinator_histories(asked.exchanges)
    order_of_answers(history)


@pytest.mark.parametrize(
    "asked",
    [
        Asked().join("a", 2, group_instance_id="static"),
        Asked().join("a", 3).join("b", 1),
        Asked().join("a", 1).add("DeleteGroups", 2, {"groups_names": ["g"]}, {}).heartbeat("a", 1),
        Asked().join("a", 1).add("JoinGroup", 5, {"group_id": "g"}, None),
        Asked().init(0).init(0, producer=8),
        Asked().init(0).add("EndTxn", 5, {**TXN, "producer_epoch": 0, "committed": True}, None).init(1),
        Asked().heartbeat("a", 1),
    ],
)
def test_objects_whose_rules_are_wider_are_left_out(asked: Asked) -> None:
    assert coordinator_histories(asked.exchanges) == []


def test_a_search_without_end_decides_nothing() -> None:
    asked = Asked()
    for number in range(12):
        asked.join(f"m{number}", 1, at=(1, 1000))
    asked.join("m0", 2, at=(1001, 1002)).heartbeat("m1", 2, at=(1003, 1004))
    (history,) = coordinator_histories(asked.exchanges)
    with pytest.raises(Unclear) as raised:
        order_of_answers(history, states=50)
    assert raised.value.kind == UNDECIDED
