"""How who sends offsets is answered while their group has a coordinator and their transaction has none (KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors

GROUP, TRANSACTION, NAMES = 0, 1, 60
ADDED_FIRST = 4  # the last TxnOffsetCommit that adds no offsets by itself
AGAIN = (
    errors.COORDINATOR_NOT_AVAILABLE,
    errors.COORDINATOR_LOAD_IN_PROGRESS,
    errors.NOT_COORDINATOR,
    errors.UNKNOWN_TOPIC_OR_PARTITION,
    errors.REQUEST_TIMED_OUT,
)
"""Clients of every age send again on these, and end on what else they do not expect (KAFKA-15987)."""
MOVED = (errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR)


@case(
    "transactions/offsets-without-a-coordinator",
    guarantees=["err-003", "txn-020", "txn-012"],
    apis={"AddOffsetsToTxn": 0, "EndTxn": 0, "TxnOffsetCommit": 0, "OffsetFetch": 1},
    needs=["three-nodes", "leaders", "kill", "restart"],
    since="3.6 (KIP-890)",
    detects=["B268"],
)
def offsets_that_cannot_be_verified_are_sent_again(wire, nodes, topic, transactional_id):
    """While the coordinator of a transaction is dead, TxnOffsetCommit in each version MUST be accepted, or refused with
    a code on which clients of every age send again: 14, 15, 16, 3 or 7, and 51 where offsets join by themselves. Once
    there is another coordinator it MUST be accepted, and the offsets MUST be in force when the transaction has ended.

    One group for each version; other nodes coordinate them.
    """
    await_leaders(wire)  # after other cases one node may lead all partitions of the offsets topic
    producer = wire.producer(transactional_id)
    ids = (producer.transactional_id, producer.id, producer.epoch)
    killed = wire.coordinator(transactional_id, TRANSACTION)
    newest = ADDED_FIRST if wire.transaction_version < 2 else max(wire.versions("TxnOffsetCommit"))
    versions = [version for version in wire.versions("TxnOffsetCommit") if version <= newest]
    groups = {version: _coordinated_elsewhere(wire, killed) for version in versions}
    wire.topic_id(topic)
    for version, group in groups.items():
        if version <= ADDED_FIRST:
            wire.add_offsets(*ids, group).must_succeed()
    nodes.kill(killed)
    left = dict(groups)

    def taken():
        for version, group in list(left.items()):
            with wire.part(f"v{version}"):
                answer = wire.txn_offset_commit(*ids, group, {(topic, 0): version}, version=version, retry=False)
                if answer.error == errors.NONE:
                    del left[version]
                    continue
                joins = () if version <= ADDED_FIRST else (errors.CONCURRENT_TRANSACTIONS,)
                answer.must_be_refused(*AGAIN, *joins)
                if answer.error in MOVED:
                    wire.forget_coordinator(group, GROUP)
        return not left

    wire.until(taken, within=WITHIN_S, what="the offsets are taken in every version")
    wire.forget_coordinator(transactional_id, TRANSACTION)
    producer.commit().must_succeed()
    for version, group in groups.items():
        wire.eventually(lambda of=group, offset=version: wire.committed(of, topic).must_be(offset), within=WITHIN_S)
    nodes.start(killed)


def _coordinated_elsewhere(wire, node):
    """A group that another node coordinates."""
    for _ in range(NAMES):
        name = wire.name("group")
        if wire.coordinator(name, GROUP) != node:
            return name
    return wire.unclear(f"node {node} coordinates every group")
