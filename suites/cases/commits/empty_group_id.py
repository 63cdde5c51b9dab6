"""Offsets under the empty group id, which clients of any age may have (KIP-289, KAFKA-6773)."""

from brokertrial.suites.case import case

ROW = "groups[0]"


@case(
    "commits/under-the-empty-group-id",
    guarantees=["cmt-018", "cmt-001", "cmt-012"],
    apis={"OffsetCommit": 2, "OffsetFetch": 1, "DescribeGroups": 0},
    needs=["started", "partitions"],
    detects=["Z47"],
)
def the_empty_group_id_has_offsets(wire, topic_of):
    """Offsets MUST be committed and fetched under the empty group id in every version, also several at once and all
    that there are; a group with that id MUST be described as empty, with its offsets, and MUST be deleted when asked.

    Only on a cluster that the suite started: elsewhere this group could be somebody's.
    """
    topic = topic_of(partitions=3)
    places = [(topic, index) for index in range(3)]
    latest = {}
    for turn, version in enumerate([one for one in wire.versions("OffsetCommit") if one >= 2]):
        with wire.part(f"OffsetCommit v{version}"):
            latest = {place: 10 * turn + index for index, place in enumerate(places)}
            wire.commit_all("", latest, version=version).must_succeed()
            for _, index in places:
                wire.committed("", topic, index).must_be(latest[topic, index])
    for version in wire.versions("OffsetFetch"):
        if version >= 1:
            with wire.part(f"OffsetFetch v{version}"):
                asked = [places] if version < 2 else [places, None]
                for each in asked:
                    answer = wire.committed_all("", each, version=version).must_succeed()
                    rows = answer.at("groups[0].topics" if version >= 8 else "topics")
                    found = [part.committed_offset for row in rows if _is(wire, row, topic) for part in row.partitions]
                    wanted = list(latest.values())
                    answer.must(sorted(found) == wanted, f"the offsets are {found}; they must be {wanted}", "topics")
    wire.describe_group("").must_succeed().must_have(f"{ROW}.group_state", "Empty")
    wire.delete_groups("").must_succeed()
    wire.committed("", topic).must_be(-1)


def _is(wire, row, topic):
    return topic == row.name or wire.topic_id(topic) == getattr(row, "topic_id", None)
