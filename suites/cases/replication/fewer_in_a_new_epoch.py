"""The leader epoch where a replica is taken away from a partition, and its leader leads on."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed, reassign
from brokertrial.suites.probe import batch

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/fewer-in-a-new-epoch",
    guarantee="repl-007",
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"AlterPartitionReassignments": 0, "OffsetForLeaderEpoch": 2},
    level="should",
    detects=["D67"],
)
def who_loses_a_replica_leads_in_a_new_epoch(wire, rng):
    """When a reassignment has taken a replica away, the partition SHOULD be led in a higher leader epoch than before,
    also where the same node leads on: what the former replica still asks for or answers is of an epoch that is over.
    What is written then MUST be of that epoch, and the epoch before MUST end where it begins.

    Three replicas become two, and two become one, or one is exchanged for another (PartitionChangeBuilder,
    triggerLeaderEpochBumpForReplicaReassignmentIfNeeded).
    """
    leads, stays, goes = rng.sample(list(wire.nodes), 3)
    for what, before, after in (
        ("fewer", [leads, stays, goes], [leads, stays]),
        ("alone", [leads, stays], [leads]),
        ("exchanged", [leads, goes], [leads, stays]),
    ):
        with wire.part(what):
            topic = placed(wire, what, before, **ALONE)
            all_in_sync(wire, topic)
            wire.produce(topic, batch("a")).must_be_at(0)
            old = partition(wire, topic).leader_epoch
            reassign(wire, {topic: after}, wire.controller)
            wire.until(
                lambda at=topic, on=after: [*partition(wire, at).replica_nodes] == on,
                within=WITHIN_S,
                what=f"{topic} is on {after}",
            )
            new = partition(wire, topic).leader_epoch
            wire.must(
                new > old,
                f"it went from {before} to {after}, and is led in epoch {new}; before that it was {old}, and each "
                "replica that goes ends an epoch",
            )
            wire.eventually(lambda at=topic, since=old: _must_be_of_a_later_epoch(wire, at, since), within=WITHIN_S)


def _must_be_of_a_later_epoch(wire, topic, old):
    """Another record; each epoch ends where the next begins."""
    at = wire.produce(topic, batch("b")).must_succeed().offset
    log = wire.read_all(topic)
    epochs = {part.header.base_offset: part.header.leader_epoch for part in log.batches}
    log.must(epochs[at] > old, f"the record at {at} is of epoch {epochs[at]}, and {old} was over before it was written")
    first = min(offset for offset, epoch in epochs.items() if epoch > old)
    answer = wire.offset_for_leader_epoch(topic, epoch=old).must_succeed()
    row = answer.struct.topics[0].partitions[0]
    answer.must(
        (row.leader_epoch, row.end_offset) == (old, first), f"epoch {old} ends at {row.end_offset}, not {first}"
    )
