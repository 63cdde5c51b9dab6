"""A KIP-848 group whose members come, go and read other topics as is drawn: who owns what is followed."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITHIN_S = 40
STEPS = ("comes", "comes", "goes", "reads others", "grows", "says it again", "outsiders")
MOST = 4


class Reader:
    """A member and what it reads."""

    def __init__(self, member, reads):
        self.member, self.reads = member, reads


@case(
    "groups/consumers-whatever-comes-next",
    guarantees=["grp-001", "g848-002", "g848-003", "g848-005", "g848-013", "g848-015"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["M24b"],
)
def each_partition_has_one_owner_that_reads_it(wire, topic_of, rng):
    """Whichever members join, leave or read other topics, and whichever topic grows, no partition MUST be assigned to
    two members at a time, and epochs MUST only rise. The group MUST settle with each subscribed partition at one member
    that subscribes to it, as evenly as possible where all read the same, all members in the epoch of the group, and be
    described so.

    Up to four members, three topics, 7 drawn steps with each of the two assignors.
    """
    for assignor in ("uniform", "range"):
        with wire.part(assignor):
            _follow(wire, topic_of, wire.name(assignor), rng, assignor)


def _follow(wire, topic_of, group, rng, assignor):
    counts = {topic_of(partitions=2): 2, topic_of(partitions=3, what="u"): 3, topic_of(what="v"): 1}
    readers, gone = [_comes(wire, group, list(counts), counts, assignor)], []
    for _ in range(7):
        step, one = rng.choice(STEPS), rng.choice(readers)
        if step == "comes" and len(readers) < MOST:
            readers.append(_comes(wire, group, _drawn(rng, counts), counts, assignor))
        elif step == "goes" and len(readers) > 1:
            readers.remove(one)
            one.member.leave().must_succeed()
            gone.append(one.member)
        elif step == "reads others":
            one.reads = _drawn(rng, counts)
            one.member.beat(topics=one.reads).must_succeed()
        elif step == "grows":
            topic = rng.choice(list(counts))
            counts[topic] += 1
            wire.create_partitions(topic, counts[topic]).must_succeed()
            wire.await_topic(topic)
        elif step == "says it again":
            one.member.beat(topics=one.reads, rebalance_timeout_ms=60_000).must_succeed()
        elif step == "outsiders":
            for each in gone:
                each.beat(epoch=max(1, one.member.epoch)).must_be_refused(errors.UNKNOWN_MEMBER_ID)
        _settles(wire, readers, counts, even=assignor == "uniform")
        _must_be_described(wire, group, readers)


def _drawn(rng, counts):
    return [topic for topic in counts if rng.random() < 0.7] or list(counts)[:1]


def _comes(wire, group, reads, counts, assignor):
    member = ConsumerGroupMember(wire, group, *reads, assignor=assignor)
    member.topics = tuple(counts)
    member.beat().must_succeed().must(member.epoch > 0, f"its epoch is {member.epoch}", "member_epoch")
    return Reader(member, reads)


def _settles(wire, readers, counts, *, even):
    wanted = {(topic, n) for topic, count in counts.items() for n in range(count) if _is_read(topic, readers)}

    def settled():
        before = [(one.member.epoch, one.member.owned) for one in readers]
        for one in readers:
            epoch = one.member.epoch
            answer = one.member.beat(topics=one.reads).must_succeed()
            answer.must(one.member.epoch >= epoch, f"its epoch fell from {epoch} to {one.member.epoch}", "member_epoch")
            owned = [place for each in readers for place in each.member.owned]
            answer.must(len(owned) == len(set(owned)), f"a partition is assigned to two: {sorted(owned)}", "assignment")
        still = before == [(one.member.epoch, one.member.owned) for one in readers]
        one_epoch = len({one.member.epoch for one in readers}) == 1
        sizes = [len(one.member.owned) for one in readers]
        fair = not even or len({tuple(one.reads) for one in readers}) > 1 or max(sizes) - min(sizes) <= 1
        return still and fair and one_epoch and {place for one in readers for place in one.member.owned} == wanted

    what = f"the {len(wanted)} partitions that are read are owned, {'evenly, ' if even else ''}in one epoch"
    wire.until(settled, within=WITHIN_S, what=what)
    for one in readers:
        others = sorted(place for place in one.member.owned if place[0] not in one.reads)
        wire.must(not others, f"a member that reads {one.reads} owns {others}", one.member.beat())


def _is_read(topic, readers):
    return any(topic in one.reads for one in readers)


def _must_be_described(wire, group, readers):
    """The description names each member with what it reads and owns, in the epoch of all."""

    def check():
        for one in readers:
            one.member.beat(topics=one.reads).must_succeed()
        asked = request("ConsumerGroupDescribe", group_ids=[group])
        answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
        row = answer.struct.groups[0]
        found = {
            each.member_id: (
                each.member_epoch,
                sorted(each.subscribed_topic_names),
                sorted((part.topic_name, n) for part in each.assignment.topic_partitions for n in part.partitions),
            )
            for each in row.members
        }
        wanted = {one.member.id: (one.member.epoch, sorted(one.reads), sorted(one.member.owned)) for one in readers}
        answer.must(
            (row.group_state, row.group_epoch) == ("Stable", readers[0].member.epoch),
            f"the group is {row.group_state} in epoch {row.group_epoch}; it must be Stable as its members are",
            "groups[0].group_state",
        )
        answer.must(found == wanted, f"its members are {found}; they must be {wanted}", "groups[0].members")

    wire.eventually(check, within=WITHIN_S)
