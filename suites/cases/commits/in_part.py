"""Commits, fetches and deletions of several partitions at once, in every version, some of them refused."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors
from brokertrial.wire.messages import request

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2}
BY_NAME = 9  # the newest version that names topics instead of giving their ids
OFFSET = "groups[].topics[].partitions[].committed_offset"
TAKEN = edit_answer("topics[].partitions[].error_code", set=0, api=("OffsetCommit", "OffsetDelete"))


@case(
    "commits/the-same-in-every-version",
    guarantees=["cmt-001", "cmt-003", "cmt-009"],
    apis=COMMITS,
    needs=["partitions"],
    detects=["M28", edit_answer("topics[].partitions[].committed_offset", add=1, api="OffsetFetch")],
)
def every_version_commits_and_fetches_the_same(wire, topic_of, group):
    """OffsetCommit and OffsetFetch MUST mean the same in every version: three partitions of two topics are committed in
    one and read in each other, each with its offset and metadata, and one without a commit as -1 without error.
    """
    topic, other = topic_of(partitions=3), topic_of(what="other")
    places = [(topic, 0), (topic, 2), (other, 0)]
    fetches = [version for version in wire.versions("OffsetFetch") if version <= BY_NAME]
    for version in wire.versions("OffsetCommit"):
        if version > BY_NAME:
            continue
        wanted = {place: 1000 * version + number for number, place in enumerate(places)}
        with wire.part(f"OffsetCommit v{version}"):
            wire.commit_all(group, wanted, metadata=f"v{version}", version=version).must_succeed()
        for asked in fetches if version == BY_NAME else fetches[version % 3 :: 3]:
            with wire.part(f"OffsetFetch v{asked} after OffsetCommit v{version}"):
                answer = wire.committed_all(group, [*places, (topic, 1)], version=asked)
                must = {**wanted, (topic, 1): -1}
                answer.must(answer.offsets == must, f"the offsets are {answer.offsets}; they must be {must}")
                wire.committed(group, topic, 2, version=asked).must_be(wanted[topic, 2], metadata=f"v{version}")


@case("commits/refused-in-every-version", guarantees=["cmt-009", "cmt-012"], apis=COMMITS, detects=["P15", TAKEN])
def every_version_refuses_the_same(wire, topic, group):
    """In every version of OffsetCommit a partition that does not exist MUST be refused alone (3), between two that are
    taken, and a member that the group does not have MUST be refused (25) for each, changing nothing.
    """
    beyond = len(wire.known_partitions(topic))
    absent = wire.name("absent")
    for version in wire.versions("OffsetCommit"):
        if version > BY_NAME:
            continue
        with wire.part(f"v{version}"):
            sent = {(absent, 0): 1, (topic, 0): version, (topic, beyond): 1}
            answer = wire.commit_all(group, sent, version=version)
            unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
            _must_have_codes(answer, {(absent, 0): unknown, (topic, 0): 0, (topic, beyond): unknown})
            stranger = wire.commit(group, topic, offset=99, version=version, member_id="stranger", generation=1)
            _must_have_codes(stranger, {(topic, 0): errors.UNKNOWN_MEMBER_ID})
            wire.committed(group, topic).must_be(version)


@case(
    "commits/deleted-in-part",
    guarantee="cmt-014",
    apis={**COMMITS, "OffsetDelete": 0},
    needs=["partitions"],
    detects=["Q05", TAKEN],
)
def each_partition_of_a_deletion_has_its_own_fate(wire, topic_of, group):
    """OffsetDelete MUST delete exactly the offsets of the partitions that it names: one that does not exist is refused
    alone (3), one without a commit is no error, the others of the same topic stay; and MUST refuse a group that there
    is not (69).
    """
    topic, other = topic_of(partitions=4), topic_of(what="other")
    wire.commit_all(group, {(topic, 0): 1, (topic, 1): 2, (topic, 2): 3, (other, 0): 4}).must_succeed()
    answer = wire.delete_offsets(group, [(topic, 0), (topic, 9), (topic, 2), (topic, 3)])
    _must_have_codes(
        answer, {(topic, 0): 0, (topic, 9): errors.UNKNOWN_TOPIC_OR_PARTITION, (topic, 2): 0, (topic, 3): 0}
    )
    left = wire.committed_all(group, version=min(BY_NAME, max(wire.versions("OffsetFetch"))))
    wanted = {(topic, 1): 2, (other, 0): 4}
    left.must(left.offsets == wanted, f"the offsets left are {left.offsets}; they must be {wanted}")
    wire.delete_offsets(wire.name("absent"), [(topic, 0)]).must_be_refused(errors.GROUP_ID_NOT_FOUND)


@case(
    "commits/three-groups-in-one-fetch",
    guarantees=["cmt-016", "cmt-003"],
    apis={"OffsetCommit": 2, "OffsetFetch": 8},
    needs=["partitions"],
    detects=["N68", "P21", edit_answer("groups[1].topics[].partitions[].committed_offset", set=1, api="OffsetFetch")],
)
def each_group_of_a_fetch_is_answered_for_itself(wire, topic_of, group):
    """One OffsetFetch MUST answer for each group separately: with the named partitions, all (null), or none (empty);
    also where two groups have committed for the same partition, and one has nothing.
    """
    topic, other = topic_of(partitions=2), topic_of(what="other")
    node = wire.coordinator(group)
    names = [name for name in (wire.name(f"g{n}") for n in range(60)) if wire.coordinator(name) == node]
    if len(names) < 3:
        wire.unclear(f"no 3 of 60 groups have the coordinator of {group}")
    second, third, nothing = names[:3]
    for number, name in enumerate((group, second, third)):
        wire.commit_all(name, {(topic, 0): 10 + number, (topic, 1): 20 + number, (other, 0): 30 + number})
    one = [{"name": topic, "partition_indexes": [1]}]
    rows = [
        {"group_id": group, "topics": one},
        {"group_id": second, "topics": None},
        {"group_id": third, "topics": []},
        {"group_id": nothing, "topics": one},
    ]
    version = min(BY_NAME, max(wire.versions("OffsetFetch")))
    answer = wire.ask(request("OffsetFetch", groups=rows), to=node, version=version).must_succeed()
    fetched = {
        row.group_id: {(t.name, p.partition_index): p.committed_offset for t in row.topics for p in t.partitions}
        for row in answer.struct.groups
    }
    wanted = {
        group: {(topic, 1): 20},
        second: {(topic, 0): 11, (topic, 1): 21, (other, 0): 31},
        third: {},
        nothing: {(topic, 1): -1},
    }
    answer.must(fetched == wanted, f"the offsets are {fetched}; they must be {wanted}", "groups")


@case(
    "commits/named-wrongly",
    guarantees=["cmt-012", "grp-009"],
    apis={**COMMITS, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0},
    needs=["partitions"],
    detects=["P14", "M23", TAKEN],
)
def a_commit_needs_member_and_generation(wire, topic_of, group):
    """A commit for a group with members MUST be refused for all its partitions without the member's id, without its
    generation, with that of the rebalance before, and with a member of another group; and MUST change nothing.
    """
    topic = topic_of(partitions=2)
    member, comes = wire.member(group, "member"), wire.member(group, "comes")
    elsewhere = wire.member(wire.name("elsewhere"), "elsewhere")
    rebalance(elsewhere)
    rebalance(member)
    before = member.generation
    rebalance(member, comes)
    offsets = {(topic, 0): 5, (topic, 1): 6}
    wire.commit_all(group, offsets, member_id=member.id, generation=member.generation).must_succeed()
    unknown, stale = errors.UNKNOWN_MEMBER_ID, errors.ILLEGAL_GENERATION
    for name, member_id, generation, code in (
        ("no member", "", member.generation, unknown),
        ("no generation", member.id, -1, stale),
        ("the generation before", member.id, before, stale),
        ("the next generation", member.id, member.generation + 1, stale),
        ("a member of another group", elsewhere.id, member.generation, unknown),
        ("neither", "", -1, unknown),
    ):
        with wire.part(name):
            late = wire.commit_all(group, {(topic, 0): 9, (topic, 1): 9}, member_id=member_id, generation=generation)
            codes = [part.error_code for row in late.struct.topics for part in row.partitions]
            late.must(codes == [code, code], f"the error codes are {codes}; they must be {code} for both", "topics")
    for (name, partition), offset in offsets.items():
        wire.committed(group, name, partition).must_be(offset)
    wire.committed(elsewhere.group, topic).must_be(-1)


def _must_have_codes(answer, wanted):
    codes = {
        (row.name, part.partition_index): part.error_code for row in answer.struct.topics for part in row.partitions
    }
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics")
