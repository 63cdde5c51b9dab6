"""Static KIP-848 members under the range assignor: their order is that of their instance ids, whatever their ids."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember

AWAY, WITHIN_S = -2, 40
PARTITIONS, LATER = 5, 7


@case(
    "groups/consumer-ranges-by-instance",
    guarantees=["g848-009", "g848-007"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B63"],
)
def a_restart_under_another_id_changes_no_range(wire, topic_of, group, rng):
    """The range assignor SHOULD give static members their ranges in the order of their instance ids, so that those who
    come back under other member ids have the same places when it assigns anew (RangeAssignor, KIP-345).

    Three members come in a drawn order; later all are away once, come back under other ids, and the topic grows.
    """
    topic = topic_of(partitions=PARTITIONS)
    instances = ["i1", "i2", "i3"]
    members = {
        instance: ConsumerGroupMember(wire, group, topic, assignor="range", instance_id=instance)
        for instance in rng.sample(instances, len(instances))
    }
    _must_have(wire, members, {"i1": [0, 1], "i2": [2, 3], "i3": [4]})
    for instance in rng.sample(instances, len(instances)):
        members[instance].leave(AWAY).must_succeed()
    for instance in rng.sample(instances, len(instances)):
        members[instance].id, members[instance].epoch = wire.name("m"), 0
        members[instance].beat().must_succeed()
    wire.create_partitions(topic, LATER).must_succeed()
    wire.await_topic(topic)
    _must_have(wire, members, {"i1": [0, 1, 2], "i2": [3, 4], "i3": [5, 6]})


def _must_have(wire, members, wanted):
    """In time: Kafka 4.4 computes what each should own in the background."""

    def check():
        for member in members.values():
            member.beat().must_succeed()
        found = {instance: members[instance].indexes for instance in sorted(members)}
        wire.must(found == wanted, f"by instance id they own {found}; it must be {wanted}")

    wire.eventually(check, within=WITHIN_S)
