"""Produce and DeleteRecords of several partitions, one of which has a follower that stands still."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, frozen, placed, thawed
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LIMIT_MS = 1_000
"""Less than it takes until a node that stands still is no broker any more."""


@case(
    "replication/timed-out-in-part",
    guarantees=["prod-010", "repl-010", "adm-011"],
    needs=["three-nodes", "leaders", "pause", "topic-settings"],
    apis={"DeleteRecords": 0},
    detects=["D94"],
)
def each_partition_is_answered_for_itself(wire, nodes, rng):
    """When the time of a Produce with acks=all is over, each partition that its in-sync replicas have MUST be
    acknowledged with its offset, and each that they have not be answered with REQUEST_TIMED_OUT (7). For DeleteRecords
    the same MUST hold of the partitions in which each live replica has deleted.

    One leader; of its partitions one is on it alone, one on a node that lives, one on a node that is paused.
    """
    leader, lives, stops = rng.sample(nodes.ids, 3)
    on = {"alone": [leader], "quick": [leader, lives], "slow": [leader, stops]}
    topics = {name: placed(wire, name, replicas, **{"min.insync.replicas": "1"}) for name, replicas in on.items()}
    for topic in topics.values():
        all_in_sync(wire, topic)
        wire.produce(topic, batch("first")).must_be_at(0)
    slow = topics["slow"]
    for act in (_produced, _deleted):
        all_in_sync(wire, slow)
        frozen(nodes, [stops])
        act(wire, rng.sample(list(topics.values()), 3), slow, leader, stops)
        thawed(wire, nodes, slow, [stops])
    for topic in topics.values():
        wire.read_all(topic).must_hold(*(["on its way"] if topic == slow else []), "second")


def _produced(wire, topics, slow, leader, stops):
    wire.produce(slow, batch("on its way"), acks=1, to=leader).must_be_at(1)
    asked = {(topic, 0): batch("second") for topic in topics}
    answer = wire.produce_all(asked, timeout_ms=LIMIT_MS, to=leader)
    _must_still_be_a_broker(wire, leader, stops, answer.of(slow).error)
    answer.of(slow).must_be_refused(errors.REQUEST_TIMED_OUT)
    for topic in topics:
        if topic != slow:
            answer.of(topic).must_be_at(1)


def _deleted(wire, topics, slow, leader, stops):
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 1}]} for topic in topics]
    answer = wire.ask(request("DeleteRecords", timeout_ms=LIMIT_MS, topics=rows), to=leader, may_take_s=LIMIT_MS / 1000)
    found = {row.name: row.partitions[0].error_code for row in answer.struct.topics}
    _must_still_be_a_broker(wire, leader, stops, found.get(slow, 0))
    wanted = {topic: errors.REQUEST_TIMED_OUT if topic == slow else errors.NONE for topic in topics}
    answer.must(found == wanted, f"the error codes are {found}; they must be {wanted}", "topics")


def _must_still_be_a_broker(wire, leader, stops, code):
    """Who is fenced is waited for no more."""
    if not code and stops not in [row.node_id for row in wire.metadata(to=leader).struct.brokers]:
        wire.not_applicable(f"a node that stood still for {LIMIT_MS} ms is a broker no more")
