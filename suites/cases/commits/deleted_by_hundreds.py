"""A group that is deleted with the offsets of hundreds of partitions."""

from brokertrial.suites.case import case

PARTITIONS, LATER = 620, (0, 619)


@case(
    "commits/hundreds-deleted-for-good",
    guarantees=["grp-021", "cmt-002"],
    apis={"DeleteGroups": 0, "OffsetFetch": 2},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B285"],
)
def none_of_them_comes_back(wire, topic_of, group, nodes, rng):
    """A group that was deleted MUST have none of its offsets again, however many they were, after its coordinator was
    stopped or killed too; one that is made again under its name has what it commits, and nothing else.

    Offsets of 620 partitions.
    """
    topic = topic_of(partitions=PARTITIONS, replicas=1)
    wire.commit_all(group, {(topic, partition): 7 for partition in range(PARTITIONS)}).must_succeed()
    wire.delete_groups(group).must_succeed()
    rng.choice((nodes.stop_and_start, nodes.crash))(nodes.of_group(group))
    _must_have(wire, group, {})
    wire.commit_all(group, {(topic, partition): 1 for partition in LATER}).must_succeed()
    _must_have(wire, group, dict.fromkeys(LATER, 1))


def _must_have(wire, group, due):
    """By partition; an answer may name the topic by its id."""
    read = wire.committed_all(group, None)
    found = {partition: offset for (_, partition), offset in read.offsets.items() if offset >= 0}
    others = sorted(set(found.items()) ^ set(due.items()))
    where = ", ".join(f"partition {partition}" for partition, _ in others[:2])
    wire.must(
        not others, f"offsets of {len(found)} partitions are committed, not of {len(due)}; they differ in {where}"
    )
