"""Commits, deletions and transactions of several groups, what each step does is drawn: all offsets are followed."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

OFFSETS = {"OffsetCommit": 6, "OffsetFetch": 7, "OffsetDelete": 0, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0}
WITHIN_S, LONG_MS = 10, 600_000
STEPS = (*["commit"] * 3, *["several"] * 2, *["delete"] * 2, *["stage"] * 3, *["end"] * 2, "refused")
LOOKED_AT = "error codes, offsets, leader epochs and metadata"
NO_GROUP = (errors.GROUP_ID_NOT_FOUND, errors.ILLEGAL_GENERATION)
"""The code for a member of a group that does not exist, from OffsetCommit v9 on and before."""


@case(
    "commits/whatever-comes-next",
    guarantees=["cmt-001", "cmt-008", "cmt-014", "cmt-016", "txn-012"],
    apis=OFFSETS,
    needs=["partitions"],
    detects=["M19a", "M19c", "Q05", "V03", "W01"],
)
def all_offsets_of_all_groups_are_followed(wire, topic_of, rng):
    """Whatever is committed, deleted, staged, committed or aborted in transactions, in whatever order, each group MUST
    have exactly the offsets, leader epochs and metadata that are in force, in each version, in an answer for all
    partitions and in one for some, of one group and of both. Where only stable offsets are asked for, what a
    transaction may still change MUST be refused (88), whichever way it is asked for, and nothing else.

    Two groups, three partitions, two producers; 100 drawn steps.
    """
    topic, other = topic_of(partitions=2), topic_of(what="other")
    places = [(topic, 0), (topic, 1), (other, 0)]
    groups = _coordinated_together(wire)
    producers = [wire.producer(wire.name(what), timeout_ms=LONG_MS) for what in ("x1", "x2")]
    staged: list[dict[tuple[str, tuple[str, int]], tuple[int, int, str]]] = [{}, {}]
    force: dict[str, dict[tuple[str, int], tuple[int, int, str]]] = {group: {} for group in groups}
    for turn in range(100):
        group, place, offset = rng.choice(groups), rng.choice(places), rng.randrange(100)
        number = rng.randrange(2)
        mine, others = staged[number], staged[1 - number]
        step = rng.choice(STEPS)
        free = (group, place) not in mine and (group, place) not in others
        if step == "commit" and free:
            epoch, metadata = rng.choice((-1, 0, 7)), rng.choice((None, "", f"m{turn}"))
            sent = wire.commit(group, *place, offset=offset, leader_epoch=epoch, metadata=metadata)
            sent.must_succeed()
            force[group][place] = (offset, epoch, metadata or "")
        elif step == "several" and not any((group, each) in {**mine, **others} for each in places):
            several = {each: offset + n for n, each in enumerate(places)}
            wire.commit_all(group, several, metadata=f"s{turn}").must_succeed()
            force[group] = {each: (found, -1, f"s{turn}") for each, found in several.items()}
        elif step == "delete" and force[group]:
            asked = rng.sample(places, rng.choice((1, 1, 2, 3)))
            gone = [each for each in asked if (group, each) not in {**mine, **others}]
            wire.delete_offsets(group, gone).must_succeed()
            force[group] = {each: found for each, found in force[group].items() if each not in gone}
        elif step == "stage" and (group, place) not in others:
            metadata = rng.choice((None, "", f"x{turn}"))
            producers[number].send_offsets(group, {place: offset}, metadata=metadata).must_succeed()
            mine[group, place] = (offset, -1, metadata or "")
        elif step == "end" and mine:
            _ended(wire, producers[number], mine, force, rng.random() < 0.5)
        elif step == "refused":
            sent = wire.commit(group, *place, offset=999, member_id="stranger", generation=1)
            sent.must_be_refused(errors.UNKNOWN_MEMBER_ID, *(() if force[group] else NO_GROUP))
        _must_be(wire, groups, places, force, rng)
        _must_be_stable(wire, groups, places, force, {*mine, *others}, rng)
    for number, producer in enumerate(producers):
        if staged[number]:
            _ended(wire, producer, staged[number], force, number == 0)
    _must_be(wire, groups, places, force, rng)


def _coordinated_together(wire):
    """Two groups that one request may ask for."""
    first = wire.name("g1")
    node = wire.coordinator(first)
    others = (wire.name(f"g{number}") for number in range(2, 60))
    second = next((name for name in others if wire.coordinator(name) == node), None)
    return [first, second or wire.unclear("no other group has the coordinator of the first")]


def _ended(wire, producer, staged, force, commit):
    """A transaction ends, and what it staged is in force or is not."""
    (producer.commit() if commit else producer.abort()).must_succeed()
    for (group, place), put in staged.items():
        wire.until(
            lambda group=group, place=place: (
                wire.committed(group, *place, require_stable=True).error != errors.UNSTABLE_OFFSET_COMMIT
            ),
            within=WITHIN_S,
            what="the offset is stable",
        )
        if commit:
            force[group][place] = put
    staged.clear()


def _must_be(wire, groups, places, force, rng):
    """The answer to OffsetFetch, in a drawn version: all of a group, and some by name."""
    offered = [each for each in wire.versions("OffsetFetch") if 2 <= each <= 9]
    for group in groups:
        for asked in (None, places[1:]):
            answer = wire.committed_all(group, asked, version=rng.choice(offered))
            answer.must_succeed()
            found = as_returned(answer.struct.groups[0] if answer.version >= 8 else answer.struct, answer.version)
            wanted = {
                place: (0, *_as_expected(force[group].get(place), answer.version))
                for place in (force[group] if asked is None else asked)
            }
            answer.must(found == wanted, f"{LOOKED_AT} of {group} are {found}; they must be {wanted}")


def _must_be_stable(wire, groups, places, force, staged, rng):
    """The answer to OffsetFetch for stable offsets, in a drawn version: of each group all, or some by name."""
    version = rng.choice([each for each in wire.versions("OffsetFetch") if 7 <= each <= 9])
    asked = {group: rng.choice((None, places, rng.sample(places, 1))) for group in groups}
    by_name = {group: _by_topic(chosen) for group, chosen in asked.items()}
    if version >= 8:
        rows = [{"group_id": group, "topics": topics} for group, topics in by_name.items()]
        questions = [(groups, request("OffsetFetch", groups=rows, require_stable=True))]
    else:
        questions = [
            ([group], request("OffsetFetch", group_id=group, topics=topics, require_stable=True))
            for group, topics in by_name.items()
        ]
    for named, question in questions:
        answer = wire.ask(question, to=lambda: wire.coordinator(groups[0]), version=version)
        by_group = {row.group_id: row for row in answer.struct.groups} if version >= 8 else {named[0]: answer.struct}
        answer.must(by_group.keys() == set(named), f"it answers for {sorted(by_group)}; it must for {sorted(named)}")
        for group, row in by_group.items():
            found = as_returned(row, version)
            wanted = {
                place: (errors.UNSTABLE_OFFSET_COMMIT, -1, -1, "")
                if (group, place) in staged
                else (0, *_as_expected(force[group].get(place), version))
                for place in (force[group] if asked[group] is None else asked[group])
            }
            what = f"of {group} {'all' if asked[group] is None else 'some'}"
            answer.must(found == wanted, f"{what}: {LOOKED_AT} are {found}; they must be {wanted}")


def as_returned(row, version, names=None):
    """(topic, partition) -> error code, offset, leader epoch (from v5 on; else -1), metadata.

    From v10 on topics have ids alone: `names` says whose they are.
    """
    return {
        (names.get(str(topic.topic_id)) if names else topic.name, part.partition_index): (
            part.error_code,
            part.committed_offset,
            part.committed_leader_epoch if version >= 5 else -1,
            part.metadata,
        )
        for topic in row.topics
        for part in topic.partitions
    }


def _as_expected(put, version):
    """A committed offset as a version returns it; without one: -1, without metadata."""
    offset, epoch, metadata = put or (-1, -1, "")
    return offset, epoch if version >= 5 else -1, metadata


def _by_topic(places):
    if places is None:
        return None
    names = dict.fromkeys(topic for topic, _ in places)
    return [{"name": name, "partition_indexes": [n for topic, n in places if topic == name]} for name in names]


@case(
    "commits/three-lives-of-a-group",
    guarantees=["cmt-001", "cmt-012", "grp-021"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, "DeleteGroups": 0, "JoinGroup": 0, "SyncGroup": 0, "LeaveGroup": 0},
    detects=["M23", "N03"],
)
def nothing_of_a_group_passes_to_the_next_of_its_name(wire, topic_of, group):
    """Nothing of a deleted group MUST pass to the next of its name: neither offsets nor members; and the commits of its
    former members are refused (25) whether the new one is without members or has others.
    """
    topic, other = topic_of(), topic_of(what="other")
    before = []  # type: ignore[var-annotated]
    for life in range(3):
        for place in (topic, other):
            wire.committed(group, place).must_be(-1)
        member = wire.member(group, f"of {life}")
        member.join().must_succeed()
        member.sync({member.id: b"%d" % life}).must_bring(b"%d" % life)
        member.commit(topic, offset=10 + life, metadata=f"{life}").must_succeed()
        for old in before:
            old.commit(topic, offset=99).must_be_refused(errors.UNKNOWN_MEMBER_ID)
            old.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
        wire.committed(group, topic).must_be(10 + life, metadata=f"{life}")
        if life != 1:
            member.commit(other, offset=20 + life).must_succeed()
        wire.committed(group, other).must_be(20 + life if life != 1 else -1)
        wire.delete_groups(group).must_be_refused(errors.NON_EMPTY_GROUP)
        member.leave().must_succeed()
        member.commit(topic, offset=99).must_be_refused(errors.UNKNOWN_MEMBER_ID)
        wire.delete_groups(group).must_succeed()
        before.append(member)
    wire.committed(group, topic).must_be(-1)
    wire.commit(group, topic, offset=5).must_succeed()
    for old in before:
        old.commit(topic, offset=99).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    wire.committed(group, topic).must_be(5)


@case(
    "commits/topic-made-again",
    guarantees=["cmt-015", "cmt-001"],
    level="should",
    apis={"OffsetCommit": 2, "OffsetFetch": 7, "CreateTopics": 0, "DeleteTopics": 0},
    detects=["P17"],
)
def offsets_of_other_topics_stay(wire, topic_of, group):
    """When a topic is deleted the offsets that groups have committed for it SHOULD be removed, those for other topics
    and for topics with a similar name stay; and a topic created again under its name has only the offsets committed for
    it since.
    """
    topic = topic_of()
    longer, other = f"{topic}x", topic_of(what="other")
    wire.create_topic(longer).must_succeed()
    wire.await_topic(longer)
    second = wire.name("g2")
    for number, name in enumerate((group, second)):
        wire.commit_all(name, {(topic, 0): 1 + number, (longer, 0): 3 + number, (other, 0): 5 + number}).must_succeed()
    wire.delete_topic(topic).must_succeed()
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(topic, to=node).must_have("topics[0].error_code", unknown), within=20
        )
    wire.create_topic(topic).must_succeed()
    wire.await_topic(topic)
    for name in (group, second):
        wire.eventually(lambda name=name: wire.committed(name, topic).must_be(-1), within=WITHIN_S)
    wire.commit(second, topic, offset=9).must_succeed()
    for number, name in enumerate((group, second)):
        wanted = {(longer, 0): 3 + number, (other, 0): 5 + number} | ({(topic, 0): 9} if number else {})
        answer = wire.committed_all(name, version=min(9, max(wire.versions("OffsetFetch"))))
        answer.must(answer.offsets == wanted, f"the offsets are {answer.offsets}; they must be {wanted}")
