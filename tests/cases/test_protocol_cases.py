"""What a correct broker may also do: the protocol cases let it pass. Beside each, what is near to it and wrong."""

from uuid import UUID

import pytest

from brokertrial.suites.cases.protocol import api_versions, metadata, order, versions
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.wire.codec import decode, encode
from brokertrial.wire.messages import response
from tests.suites import scripted
from tests.suites.scripted import TOPIC, produced, wire_to


def listed(answer_offset):
    def answer(asked):
        return response(
            "ListOffsets",
            topics=[
                {"name": row.name, "partitions": [{"partition_index": 0, "offset": answer_offset, "timestamp": -1}]}
                for row in asked.topics
            ],
        )

    return answer


def topic_with(*partitions, brokers=(1, 2)):
    """A Metadata answer about five partitions, of which some are as given."""
    whole = {"leader_id": 1, "replica_nodes": [1, 2], "isr_nodes": [1]}
    rows = [{"partition_index": at, **whole} for at in range(5)]
    for row in partitions:
        rows[row["partition_index"]] |= row

    def answer(asked):
        return response(
            "Metadata",
            brokers=[{"node_id": node, "host": "h", "port": 9} for node in brokers],
            controller_id=1,
            cluster_id="c",
            topics=[{"name": TOPIC, "topic_id": UUID(int=7), "partitions": rows}],
        )

    return answer


def test_a_replica_that_is_down_is_no_contradiction():
    wire, _ = wire_to(Metadata=topic_with({"partition_index": 3, "replica_nodes": [1, 2, 3]}))
    metadata.every_node_that_is_named_is_listed(wire, lambda **wanted: TOPIC)


@pytest.mark.parametrize("row", [{"leader_id": 3}, {"isr_nodes": [3], "replica_nodes": [1, 3]}, {"isr_nodes": [4]}])
def test_a_leader_or_in_sync_replica_that_is_not_listed_is_one(row):
    wire, _ = wire_to(Metadata=topic_with({"partition_index": 2, **row}))
    with pytest.raises(StatementFalse, match=f"{TOPIC}-2 has leader"):
        metadata.every_node_that_is_named_is_listed(wire, lambda **wanted: TOPIC)


@pytest.mark.parametrize("fate", [None, "close"])
def test_a_produce_without_acknowledgement_that_fails_may_close_or_say_nothing(fate):
    wire, _ = wire_to(Produce=lambda asked: fate, ListOffsets=listed(0))
    order.a_failed_produce_without_acknowledgement_is_not_answered(wire, TOPIC)


def test_but_it_must_not_be_answered():
    wire, _ = wire_to(Produce=produced(error=3), ListOffsets=listed(0))
    with pytest.raises(StatementFalse, match="is answered: correlation id 77"):
        order.a_failed_produce_without_acknowledgement_is_not_answered(wire, TOPIC)


def test_a_tag_that_nobody_knows_is_no_tag_of_a_later_version():
    newer = response("Fetch", _unknown_tags=((4_000, b"x"),))
    early = response("Fetch", _unknown_tags=((0, b"\x01\x00"),))
    read = [decode("Fetch", "response", 13, encode(answer, 13)) for answer in (newer, early)]
    assert versions._tags_of_later_versions(read[0], 13) == []
    assert versions._tags_of_later_versions(read[1], 13) == ["node_endpoints"]


def test_a_broker_may_list_an_api_of_its_own():
    def with_one_more(asked):
        answer = scripted.api_versions(asked)
        answer.api_keys.append(type(answer.api_keys[0])(api_key=10_001, min_version=3, max_version=3))
        return answer

    wire, _ = wire_to(ApiVersions=with_one_more)
    api_versions.every_api_once_with_a_range(wire)
