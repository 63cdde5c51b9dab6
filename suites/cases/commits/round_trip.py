"""Committed offsets: what was committed is what is read back."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire.messages import request

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2}
COMMITTED_OFFSET = "groups[].topics[].partitions[].committed_offset"


@case("commits/round-trip", guarantees=["cmt-001", "cmt-003"], apis=COMMITS, smoke=True, detects=["M28", "M28b"])
def what_was_committed_comes_back(wire, topic, group):
    """OffsetFetch MUST return exactly what was committed: offset and metadata; and -1 without error before that."""
    wire.committed(group, topic).must_be(-1)
    for offset, metadata in ((0, "of the first"), (17, "ünïcode ✓"), (5, "lower is legal"), (2**40, "x" * 4096)):
        wire.commit(group, topic, offset=offset, metadata=metadata)
        wire.committed(group, topic).must_be(offset, metadata=metadata)


@case("commits/leader-epoch", guarantee="cmt-001", apis={"OffsetCommit": 6, "OffsetFetch": 5}, detects=["M28"])
def the_leader_epoch_comes_back(wire, topic, group):
    """The leader epoch that was committed with an offset MUST be returned with it, and -1 where none was."""
    wire.commit(group, topic, offset=7, leader_epoch=3)
    wire.committed(group, topic).must_be(7, leader_epoch=3)
    wire.commit(group, topic, offset=8)
    wire.committed(group, topic).must_be(8, leader_epoch=-1)


@case(
    "commits/nothing-committed",
    guarantee="cmt-003",
    apis=COMMITS,
    needs=["partitions"],
    detects=[edit_answer(COMMITTED_OFFSET, set=0, api="OffsetFetch")],
)
def a_partition_without_a_commit_has_none(wire, topic_of, group):
    """A partition for which a group has committed nothing MUST be answered with offset -1 and no error, whether or
    not the group exists or has committed others.
    """
    topic = topic_of(partitions=2)
    wire.committed(group, topic).must_be(-1)
    wire.commit(group, topic, 0, offset=5)
    wire.committed(group, topic, 1).must_be(-1)
    wire.committed(wire.name("absent"), topic, 1).must_be(-1)


@case(
    "commits/read-your-writes",
    guarantee="cmt-017",
    apis=COMMITS,
    detects=[edit_answer(COMMITTED_OFFSET, add=-1, api="OffsetFetch", every=5)],
)
def a_commit_is_read_at_once_by_everyone(wire, topic, group, rng):
    """Once a commit is acknowledged, every OffsetFetch that is sent later, on any connection, MUST return it."""
    for _ in range(8):
        offset = rng.randrange(1_000)
        wire.commit(group, topic, offset=offset, via="writer").must_succeed()
        readers = [wire.committed(group, topic, via=f"reader {number}", wait=False) for number in range(3)]
        for answer in readers:
            answer.must_be(offset)


@case(
    "commits/several-at-once",
    guarantee="cmt-016",
    apis={"OffsetCommit": 2, "OffsetFetch": 2},
    needs=["partitions"],
    detects=[edit_answer("groups[].topics[0].partitions[0]", drop=True, api="OffsetFetch")],
)
def all_offsets_of_a_group_are_listed_when_none_is_named(wire, topic_of, group):
    """OffsetFetch without topics MUST list exactly the partitions for which the group has committed."""
    topic, other = topic_of(partitions=3), topic_of(what="other")
    wanted = {(topic, 0): 5, (topic, 2): 7, (other, 0): 9}
    wire.commit_all(group, wanted).must_succeed()
    wire.commit(wire.name("g"), topic, 1, offset=1)

    answer = wire.committed_all(group, version=_by_name(wire))
    answer.must(answer.offsets == wanted, f"the offsets are {answer.offsets}; they must be {wanted}")


@case(
    "commits/several-groups",
    guarantee="cmt-016",
    apis={"OffsetCommit": 2, "OffsetFetch": 8},
    detects=[edit_answer("groups[0]", drop=True, api="OffsetFetch")],
)
def several_groups_are_answered_in_one_request(wire, topic, group):
    """OffsetFetch v8 and later MUST answer for each group that it is asked about, also one that does not exist."""
    absent = wire.name("absent")
    wire.commit(group, topic, offset=5)
    rows = [{"group_id": name, "topics": [{"name": topic, "partition_indexes": [0]}]} for name in (group, absent)]

    asked = request("OffsetFetch", groups=rows)
    answer = wire.ask(asked, to=wire.coordinator(group), version=_by_name(wire))
    fetched = {
        row.group_id: (row.error_code, [part.committed_offset for named in row.topics for part in named.partitions])
        for row in answer.struct.groups
    }
    answer.must(
        fetched.get(group) == (0, [5]), f"group {group} is answered {fetched.get(group)}; it must be 5", "groups"
    )
    answer.must(absent in fetched, f"group {absent} is not answered", "groups")


def _by_name(wire):
    """The newest version that names topics instead of giving their ids."""
    return min(9, max(wire.versions("OffsetFetch")))
