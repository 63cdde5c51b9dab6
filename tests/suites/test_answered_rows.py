"""What is asked once is answered, and once: decided of every exchange of a case, without asking anything."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.answered_rows import must_be_answered_once
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.wire.frames import encode_request
from brokertrial.wire.messages import Struct, request, response


def exchange(asked: Struct, answer: Struct, version: int) -> PendingExchange:
    found = PendingExchange(asked, version, encode_request(asked, version, 1), 0, "node 1", lambda _: None)
    found.answer = answer
    return found


def fetched(*rows: tuple[str, int]) -> Struct:
    return response(
        "Fetch", responses=[{"topic": topic, "partitions": [{"partition_index": number}]} for topic, number in rows]
    )


def committed(*partitions: int, topic: str = "t") -> dict[str, Any]:
    return {"name": topic, "partitions": [{"partition_index": one} for one in partitions]}


def offsets(*partitions: int) -> Struct:
    return request("OffsetFetch", group_id="g", topics=[{"name": "t", "partition_indexes": list(partitions)}])


def member(*partitions: int) -> Struct:
    return response(
        "ConsumerGroupHeartbeat", assignment={"topic_partitions": [{"topic_id": UUID(int=1), "partitions": partitions}]}
    )


BEAT = request("ConsumerGroupHeartbeat", group_id="g", member_id="m")
BY_TWO = request("OffsetFetch", groups=[{"group_id": "g", "member_id": "a"}, {"group_id": "g", "member_id": "b"}])
TWO = response("OffsetFetch", groups=[{"group_id": "g", "topics": [committed(0)]}] * 2)
GROUPS = response("DescribeGroups", groups=[{"group_id": "g"}, {"group_id": "h"}, {"group_id": "g"}])


@pytest.mark.parametrize(
    ("asked", "answer", "version", "sentence"),
    [
        (
            offsets(0, 1),
            response("OffsetFetch", topics=[committed(0, 1, 1)]),
            5,
            "two rows in topics.partitions for name t, partition_index 1;",
        ),
        (offsets(0), response("OffsetFetch", topics=[committed(0), committed(0)]), 5, "for name t, partition_index 0;"),
        (
            request("DescribeGroups", groups=["g", "h"]),
            GROUPS,
            5,
            "DescribeGroups v5 has two rows in groups for group_id g;",
        ),
        (request("Fetch"), fetched(("t", 0), ("u", 0), ("t", 0)), 12, "for topic t, partition_index 0;"),
        (BEAT, member(0, 2, 0), 1, "two rows in assignment.topic_partitions.partitions for"),
    ],
)
def test_one_thing_in_two_rows_is_false(asked: Struct, answer: Struct, version: int, sentence: str) -> None:
    with pytest.raises(StatementFalse) as found:
        must_be_answered_once(exchange(asked, answer, version))
    assert sentence in found.value.sentence
    assert found.value.evidence


@pytest.mark.parametrize(
    ("asked", "answer", "version"),
    [
        (offsets(0, 1), response("OffsetFetch", topics=[committed(0, 1), committed(0, 1, topic="u")]), 5),
        (offsets(0, 0), response("OffsetFetch", topics=[committed(0, 0)]), 5),
        (request("DescribeGroups", groups=["g", "h", "g"]), GROUPS, 5),
        (BY_TWO, TWO, 9),
        (request("Fetch"), fetched(("t", 0), ("u", 0), ("t", 1)), 12),
        (BEAT, member(0, 1, 2), 1),
        (BEAT, response("ConsumerGroupHeartbeat"), 1),
    ],
    ids=[
        "each once",
        "asked twice",
        "a group asked twice",
        "by two members",
        "a topic in two rows",
        "its partitions",
        "nothing",
    ],
)
def test_what_ordinary_brokers_answer_is_right(asked: Struct, answer: Struct, version: int) -> None:
    must_be_answered_once(exchange(asked, answer, version))


@pytest.mark.parametrize(
    ("asked", "answer", "version", "what"),
    [
        (
            offsets(0, 1),
            response("OffsetFetch", topics=[committed(0)]),
            5,
            "has no row for name t, partition_indexes 1;",
        ),
        (offsets(0), response("OffsetFetch"), 5, "has no row for name t, partition_indexes 0;"),
        (
            offsets(0),
            response("OffsetFetch", topics=[committed(0, topic="u")]),
            5,
            "has no row for name t, partition_indexes 0;",
        ),
        (request("DescribeGroups", groups=["g"]), response("DescribeGroups"), 5, "has no row for groups g;"),
    ],
)
def test_what_has_no_row_is_false(asked: Struct, answer: Struct, version: int, what: str) -> None:
    with pytest.raises(StatementFalse) as found:
        must_be_answered_once(exchange(asked, answer, version))
    assert what in found.value.sentence


def test_rows_without_a_name_of_their_own_may_be_about_anything() -> None:
    asked = request("DescribeClientQuotas")
    value = {"key": "producer_byte_rate", "value": 1.0}
    entries = [
        {"entity": [{"entity_type": "user", "entity_name": name}], "values": [value]} for name in ("alice", "bob")
    ]
    must_be_answered_once(exchange(asked, response("DescribeClientQuotas", entries=entries), 1))


def test_an_empty_name_is_no_name() -> None:
    answer = response("DescribeGroups", groups=[{"group_id": "", "error_code": 24}])
    must_be_answered_once(exchange(request("DescribeGroups", groups=[""]), answer, 5))


def test_what_is_refused_as_a_whole_has_no_rows() -> None:
    must_be_answered_once(exchange(offsets(0), response("OffsetFetch", error_code=16), 5))


def test_without_an_answer_there_is_nothing_to_say() -> None:
    unanswered = exchange(offsets(0), response("OffsetFetch"), 5)
    unanswered.answer = None
    must_be_answered_once(unanswered)


def test_what_cases_beside_this_one_make_is_for_them_to_judge() -> None:
    """Metadata of all topics names theirs; what a request names is looked at, whoever made it."""
    partition = {"partition_index": 0, "replica_nodes": [1, 1]}
    answer = response("Metadata", topics=[{"name": "run-theirs", "partitions": [partition]}])
    everything = exchange(request("Metadata", topics=None), answer, 12)
    must_be_answered_once(everything, lambda name: name == "run-theirs")
    named = exchange(request("Metadata", topics=[{"name": "run-theirs"}]), answer, 12)
    for one, others in ((everything, lambda name: False), (named, lambda name: name == "run-theirs")):
        with pytest.raises(StatementFalse, match="two rows"):
            must_be_answered_once(one, others)
