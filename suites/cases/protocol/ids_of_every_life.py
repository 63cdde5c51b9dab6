"""Topics that are created repeatedly under one name, asked for by all the ids that they had (KIP-516)."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LIVES, WITHIN_S = 3, 20
UNKNOWN = (errors.UNKNOWN_TOPIC_ID, errors.INCONSISTENT_TOPIC_ID)
SINCE = {"Metadata": 12, "Produce": 13, "Fetch": 13, "OffsetCommit": 10, "OffsetFetch": 10}
"""From which version on an API names topics by ids alone."""


@case(
    "protocol/ids-of-every-life",
    guarantees=["prot-018", "adm-006"],
    apis={"Metadata": 12, "Fetch": 13, "DeleteTopics": 6, "CreateTopics": 2},
    detects=["V14"],
)
def an_id_means_the_topic_that_had_it(wire, topic, group, rng):
    """A request by the id of a deleted topic MUST be answered with UNKNOWN_TOPIC_ID (100), though an earlier request
    used that id and a topic has the name again; the topic of that name MUST stay as it is.

    Three topics in succession under one name; by each id, in each version that uses ids only, it is written, read,
    committed, asked for, and at last deleted, in a drawn order.
    """
    asks = [(api, version) for api in SINCE for version in wire.versions(api) if version >= SINCE[api]]
    ids: list[UUID] = []
    for life in range(LIVES):
        if ids:
            wire.delete_topic(topic).must_succeed()
            for node in wire.nodes:
                wire.eventually(lambda node=node: _must_be_unknown(wire, topic, node), within=WITHIN_S)
            wire.create_topic(topic).must_succeed()
            wire.await_topic(topic)
        ids.append(wire.topic_id(topic))
        wire.produce(topic, batch(f"life {life}")).must_be_at(0)
        ends = 1
        for id_ in rng.sample(ids, len(ids)):
            for api, version in rng.sample(asks, len(asks)):
                answer = _asked(wire, topic, group, id_, api, version)
                if id_ != ids[-1]:
                    answer.must_be_refused(*UNKNOWN)
                    continue
                answer.must_succeed()
                ends += api == "Produce"
        for old in ids[:-1]:
            answer = wire.ask(request("DeleteTopics", topics=[{"name": None, "topic_id": old}], timeout_ms=10_000))
            answer.must_be_refused(*UNKNOWN)
        read = wire.read_all(topic)
        read.must_hold(f"life {life}", *[f"by {ids[-1]}"] * (ends - 1))


def _asked(wire, topic, group, id_, api, version):
    """A question by an id, to who leads the topic or coordinates the group."""
    group_api = api.startswith("Offset")
    to = (lambda: wire.coordinator(group)) if group_api else wire.leader(topic)
    return wire.ask(request(api, **_fields(group, id_, api)), version=version, to=to)


def _fields(group, id_, api):
    if api == "Metadata":
        return {"topics": [{"name": None, "topic_id": id_}], "allow_auto_topic_creation": False}
    if api == "Produce":
        rows = [{"topic_id": id_, "partition_data": [{"index": 0, "records": batch(f"by {id_}")}]}]
        return {"acks": -1, "timeout_ms": 10_000, "topic_data": rows}
    if api == "Fetch":
        rows = [{"topic_id": id_, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}]
        return {"replica_id": -1, "max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1 << 20, "topics": rows}
    if api == "OffsetCommit":
        part = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
        topics = [{"topic_id": id_, "partitions": [part]}]
        return {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    rows = [{"topic_id": id_, "partition_indexes": [0]}]
    return {"groups": [{"group_id": group, "member_id": None, "member_epoch": -1, "topics": rows}]}


def _must_be_unknown(wire, topic, node):
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    return wire.metadata(topic, to=node).must_have("topics[0].error_code", unknown)
