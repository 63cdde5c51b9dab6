"""Records that are deleted while a replica has them whose node is alive, and which is not in sync (KIP-107).

Partition.lowWatermarkIfLeader goes over all replicas whose brokers are alive, those in sync or not.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._replicas import NEEDS, lead_in_this_order, shown_by
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
SOON_MS, LONG_MS = 500, 90_000
LOOK_S, GLANCE_S = 2, 0.1
ROW = "topics[0].partitions[0]"


@case(
    "partition/deleted-where-a-replica-lags",
    guarantees=["adm-011", "repl-002"],
    needs=[*NEEDS, "partitions"],
    apis={"CreateTopics": 5, "DeleteRecords": 0, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B231"],
)
def deletion_waits_for_who_is_not_in_sync(wire, nodes, rng):
    """DeleteRecords MUST NOT be answered as done while a replica whose node is alive has the records still, also where
    that replica is not in sync, or was never so since it is being added; when its time is over it is refused. It MUST
    be answered with the new start once that replica begins there, which it does when it leads, too.

    That replica is one of two, one of three, or the one that a reassignment adds, and is cut off from other brokers.
    """
    leader, lags, third = rng.sample(wire.nodes, 3)
    on = {"of two": [leader, lags], "of three": rng.sample([leader, lags, third], 3), "added": [leader]}
    topics = {}
    for what, replicas in on.items():
        replicas.sort(key=lambda node: node != leader)
        topics[what] = topic = placed(wire, what, replicas, **ALONE)
        all_in_sync(wire, topic)
        for number in range(3):
            wire.produce(topic, batch(f"{number}")).must_be_at(number)
    waiting = []
    with apart(nodes, lags, "brokers"):
        reassign(wire, {topics["added"]: [leader, lags]}, to=wire.controller)
        for topic in topics.values():
            wire.produce(topic, batch("3"), acks=1).must_be_at(3)
        for what, topic in topics.items():
            wire.until(
                lambda at=topic: _is_known(wire, at, leader, lags), within=WITHIN_S, what=f"{lags} is out, {what}"
            )
            wire.until(lambda at=topic: wire.log_end(at) == 4, within=WITHIN_S, what="all is committed")
            front = rng.randint(1, 3)
            with wire.part(what):
                for version in wire.versions("DeleteRecords"):
                    _must_be_late(wire, leader, topic, front, version)
            version = rng.choice(wire.versions("DeleteRecords"))
            asked = _deletion(topic, front, LONG_MS)
            waiting.append((what, front, OpenRequest(wire, leader, asked, f"delete {what}", version)))
        for number, (what, front, one) in enumerate(waiting):
            one.await_answer(GLANCE_S if number else LOOK_S)
            with wire.part(what):
                wire.must(not one.over, f"it is {one.said}, and node {lags}, which is alive, has all below {front}")
    for what, front, one in waiting:
        one.await_answer(WITHIN_S)
        with wire.part(f"{what}, in the end"):
            wire.must(one.acknowledged, f"it is {one.said}; each replica begins at {front}, or can")
            one.response.must_have(f"{ROW}.low_watermark", front)
    for what, front, _ in waiting:
        all_in_sync(wire, topics[what])
        others = [node for node in on[what] if node != lags]
        lead_in_this_order(wire, topics[what], [lags, *others])
        wire.refresh_metadata(topics[what])
        wire.list_offsets(topics[what], at="earliest").must_name(offset=front)
        wire.read_all(topics[what], offset=front).must_hold(*(f"{number}" for number in range(front, 4)))


def _is_known(wire, topic, leader, lags):
    """The leader shows it as a replica that is not in sync."""
    row = shown_by(wire, topic, leader)
    return lags in row.replica_nodes and lags not in row.isr_nodes


def _deletion(topic, front, timeout_ms):
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": front}]}]
    return request("DeleteRecords", timeout_ms=timeout_ms, topics=rows)


def _must_be_late(wire, leader, topic, front, version):
    asked = _deletion(topic, front, SOON_MS)
    answer = wire.ask(asked, to=leader, version=version, may_take_s=SOON_MS / 1_000)
    code = answer.at(f"{ROW}.error_code")
    answer.must(
        code == errors.REQUEST_TIMED_OUT,
        f"a replica whose node is alive has records below {front} still, and it is answered with {errors.name(code)} "
        f"({code}); it must be REQUEST_TIMED_OUT (7)",
        f"{ROW}.error_code",
    )
