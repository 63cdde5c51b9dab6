"""OffsetFetch without topics: all that a group has committed, in each version."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case

ALL_SINCE = 2


@case(
    "commits/all-of-a-group-in-every-version",
    guarantees=["cmt-016", "cmt-003"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2},
    needs=["partitions"],
    detects=["P20", edit_answer("groups[].topics[].partitions[].committed_offset", add=1, api="OffsetFetch")],
)
def all_that_a_group_committed_is_listed(wire, topic_of, group):
    """OffsetFetch without topics MUST list exactly what the group has committed, in each version from v2 on; a group
    that has committed nothing MUST be answered with none.
    """
    topic, other = topic_of(partitions=3), topic_of(what="other")
    wanted = {(topic, 0): 5, (topic, 2): 7, (other, 0): 9}
    wire.commit_all(group, wanted).must_succeed()
    empty = wire.name("empty")
    for version in wire.versions("OffsetFetch"):
        if version < ALL_SINCE:
            continue
        names = {name: str(wire.topic_id(name)) if version >= 10 else name for name in (topic, other)}
        due = {(names[name], index): offset for (name, index), offset in wanted.items()}
        with wire.part(f"v{version}"):
            answer = wire.committed_all(group, version=version)
            answer.must(answer.offsets == due, f"the offsets are {answer.offsets}; they must be {due}")
            none = wire.committed_all(empty, version=version)
            none.must(not none.offsets, f"the offsets are {none.offsets}; nothing was committed")
