"""What members of a KIP-848 group may say next, and who must be refused: steps of cases that draw them."""

from brokertrial.suites.cases.groups._consumers import AWAY, LONG_MS, ConsumerModel
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

MOST = 4


def steps_of(one):
    """While a member is away its partitions must not move."""
    return [*steps_of_members(one), *([] if any(each.away for each in one.members) else [grows, made_again])]


def steps_of_members(one):
    """Those that leave the topics as they are."""
    calm = [says_all, says_all, says_nothing, begins_anew, goes_a_while, deletes_offsets]
    if any(each.away for each in one.members):
        return [*calm, comes_back, comes_back, comes_back]
    moves = [
        *[several_at_once] * 3,
        *[comes] * 3,
        *[goes] * 2,
        *[says_some] * 3,
        *[unsubscribes] * 2,
        all_change_the_assignor,
    ]
    return [*calm, *moves]


def some(one):
    return [topic for topic in one.counts if one.rng.random() < 0.7] or list(one.counts)[:1]


# -- steps


def comes(one, *, static=None):
    if len(one.members) < MOST:
        taken = [each.instance for each in one.members]
        free = [name for name in ("i1", "i2", "i3") if name not in taken]
        static = one.rng.random() < 0.6 if static is None else static
        instance = one.rng.choice(free) if free and static else None
        member = ConsumerModel(one.wire.name("m"), instance, some(one))
        member.said |= {"assignor": one.rng.choice((None, one.assignor)), "rack": one.rng.choice((None, "r1"))}
        one.members.append(member)
        one.beat(member)


@breaks("g848-005")
def goes(one):
    """For good, a static member also without saying that it is one."""
    if len(one.members) > 1:
        member = one.rng.choice(one.present)
        instance = member.instance if one.rng.random() < 0.6 else None
        one.ask(member, -1, instance=instance).must_succeed().must_have("member_epoch", -1)
        one.members.remove(member)
        one.gone.append(member)


@breaks("g848-005")
def makes_room(one):
    if len(one.members) == MOST:
        member = one.rng.choice(one.present)
        one.ask(member, -1, instance=member.instance).must_succeed()
        one.members.remove(member)
        one.gone.append(member)


@breaks("g848-007")
def goes_a_while(one):
    if static := [each for each in one.present if each.instance]:
        member = one.rng.choice(static)
        one.ask(member, AWAY, instance=member.instance).must_succeed().must_have("member_epoch", AWAY)
        member.epoch, member.held = AWAY, member.owned


def several_at_once(one):
    """One after the other, before anybody who must give something up has done so."""
    for _ in range(one.rng.randint(2, 3)):
        one.rng.choice([comes, comes, goes, says_some, unsubscribes, is_replaced])(one)
        one.must_stand()


@breaks("g848-007")
def is_replaced(one):
    """A static member goes and is back at once, whatever it was about to give up or to be given."""
    if static := [each for each in one.present if each.instance]:
        member = one.rng.choice(static)
        one.ask(member, AWAY, instance=member.instance).must_succeed().must_have("member_epoch", AWAY)
        member.held = member.owned
        begins_as_another(one, member)


@breaks("g848-007")
def comes_back(one):
    """Under a new id, with what it had."""
    member = one.rng.choice([each for each in one.members if each.away])
    had = member.owned
    answer = begins_as_another(one, member)
    answer.must(member.owned == had, f"it is assigned {member.owned}; before it was away it owned {had}", "assignment")


@breaks("g848-007")
def comes_back_otherwise(one):
    """While it was away nothing else changed; it reads a topic more or less than before, which another reads too."""
    all_come_back(one)
    if not any(each.instance for each in one.members):
        makes_room(one)
        comes(one, static=True)
    while len(one.members) < 2:
        comes(one)
    member = one.rng.choice([each for each in one.members if each.instance])
    one.beat(next(each for each in one.members if each is not member), names=list(one.counts), regex="")
    one.settle()
    one.ask(member, AWAY, instance=member.instance).must_succeed().must_have("member_epoch", AWAY)
    member.epoch, member.held = AWAY, member.owned
    one.settle()
    begins_as_another(one, member, names=sorted({*member.said["names"]} ^ {one.rng.choice(list(one.counts))}))


def all_come_back(one):
    while any(each.away for each in one.members):
        comes_back(one)


def begins_as_another(one, member, **says):
    one.fenced.append(ConsumerModel(member.id, member.instance, []))
    member.id, member.epoch = one.wire.name("m"), 0
    return one.beat(member, **says)


@breaks("g848-005")
def says_all(one):
    if one.present:
        member = one.rng.choice(one.present)
        had = member.owned
        answer = one.beat(member, full=True)
        answer.must(member.owned == had, f"it is sent {member.owned}; it owns {had}", "assignment")


@breaks("g848-005")
def says_nothing(one):
    """Neither wishes nor partitions: all stays."""
    for member in one.present:
        had = member.owned
        answer = one.beat(member, owned=False)
        answer.must(member.owned == had, f"it is sent {member.owned}; it owns {had}", "assignment")


def says_some(one):
    member = one.rng.choice(one.present)
    wishes = {
        "names": some(one),
        "regex": one.rng.choice(["", "|".join(some(one))]),
        "assignor": one.assignor,
        "rack": "r2" if member.said["rack"] == "r1" else "r1",
    }
    named = one.rng.sample(list(wishes), one.rng.randint(1, 2))
    one.beat(member, owned=one.rng.random() < 0.5, **{key: wishes[key] for key in named})


def changes_its_rack(one):
    all_come_back(one)
    member = one.rng.choice(one.present)
    for rack in ("r1", "r2"):
        one.beat(member, rack=rack)
        one.must_stand()


def all_change_the_assignor(one):
    """One after the other: where two assignors have as many votes 4.4.0 never settles (since KAFKA-20434)."""
    one.assignor = "range" if one.assignor == "uniform" else "uniform"
    for member in one.present:
        one.beat(member, assignor=one.assignor)


def keeps_its_assignor(one):
    """An assignor that is not the default stays, also where no member names it again."""
    all_come_back(one)
    one.assignor = "uniform"
    all_change_the_assignor(one)
    one.settle()


def unsubscribes(one):
    """It reads nothing any more, and stays."""
    one.beat(one.rng.choice(one.present), owned=one.rng.random() < 0.5, names=[], regex="")


@breaks("g848-003")
def begins_anew(one):
    """Epoch 0 again under the same id: a dynamic member has what it had, a static one that did not leave is refused."""
    if not one.present:
        return
    member = one.rng.choice(one.present)
    if member.instance:
        unreleased(one, member)
        return
    epoch, had, member.epoch = member.epoch, member.owned, 0
    answer = one.beat(member)
    same = (member.epoch, member.owned) == (epoch, had)
    answer.must(same, f"it is in {member.epoch} and owns {member.owned}; it was {epoch} and {had}", "member_epoch")


@breaks("cmt-014")
def deletes_offsets(one):
    """No offset of a topic that a member reads, by name or by pattern, away or not, can be deleted (86)."""
    if one.wire.versions("OffsetDelete"):
        read = set().union(*map(one.reads, one.members))
        rows = [{"name": topic, "partitions": [{"partition_index": 0}]} for topic in one.counts]
        answer = one.ask_coordinator(request("OffsetDelete", group_id=one.name, topics=rows), 0)
        found = {row.name: row.partitions[0].error_code for row in answer.struct.topics}
        wanted = {topic: errors.GROUP_SUBSCRIBED_TO_TOPIC if topic in read else errors.NONE for topic in one.counts}
        answer.must(found == wanted, f"OffsetDelete returns {found}; it must return {wanted}", "topics")
        one.offset = one.offset if next(iter(one.counts)) in read else -1


@breaks("adm-007")
def grows(one):
    topic, one.changed = one.rng.choice(list(one.counts)), True
    one.counts[topic] += 1
    one.wire.create_partitions(topic, one.counts[topic]).must_succeed()
    one.wire.await_topic(topic)


def made_again_alike(one):
    """A topic that a member reads is deleted and created again with as many partitions: only its id differs."""
    all_come_back(one)
    for each in one.present:
        one.beat(each, names=list(one.counts), regex="")
    one.settle()
    topic = one.rng.choice(list(one.counts))
    _made_again(one, topic, one.counts[topic])


def made_again(one):
    """A topic goes and comes again with other partitions; where a pattern matches it that may take long."""
    if not any(each.said["regex"] for each in one.members):
        _made_again(one, one.rng.choice(list(one.counts)), one.rng.randint(1, 4))


@breaks("adm-006")
def _made_again(one, topic, count):
    one.changed = True
    one.wire.delete_topic(topic).must_succeed()
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in one.wire.nodes:
        one.wire.eventually(
            lambda node=node: one.wire.metadata(topic, to=node).must_have("topics[0].error_code", unknown), within=20
        )
    one.counts[topic] = count
    one.wire.create_topic(topic, partitions=one.counts[topic]).must_succeed()
    one.wire.await_topic(topic)
    one.offset = -1 if topic == next(iter(one.counts)) else one.offset


# -- refused


@breaks("g848-003")
def refused(one):
    """Who is not in it, was replaced, claims what is held, or is in another epoch."""
    for gone in one.gone[-2:]:
        held = any(each.instance == gone.instance for each in one.members if gone.instance)
        for epoch in (1, -1):
            one.ask(gone, epoch).must_be_refused(errors.UNKNOWN_MEMBER_ID)
            with breaks("g848-007" if held else "g848-003"):
                answer = one.ask(gone, epoch, instance=gone.instance)
                answer.must_be_refused(errors.FENCED_INSTANCE_ID if held else errors.UNKNOWN_MEMBER_ID)
    for old in one.fenced[-2:]:
        held = any(each.instance == old.instance for each in one.members)
        for epoch in (1, -1, AWAY):
            with breaks("g848-007" if held else "g848-003"):
                answer = one.ask(old, epoch, instance=old.instance)
                answer.must_be_refused(errors.FENCED_INSTANCE_ID if held else errors.UNKNOWN_MEMBER_ID)
        one.ask(old, 1).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    for member in one.present[-2:]:
        wrong = one.rng.choice([member.epoch + 1, max(1, member.epoch - 1)])
        if wrong != member.epoch:
            answer = one.ask(
                member, wrong, instance=member.instance, **one.rng.choice(({}, {"subscribed_topic_names": []}))
            )
            answer.must_be_refused(errors.FENCED_MEMBER_EPOCH)
        if member.instance and one.rng.random() < 0.5:
            unreleased(one, ConsumerModel(one.wire.name("m"), member.instance, []))
    one.ask(ConsumerModel(one.wire.name("m"), None, []), 3).must_be_refused(errors.UNKNOWN_MEMBER_ID)


@breaks("g848-007")
def unreleased(one, claims):
    answer = one.ask(
        claims,
        0,
        instance=claims.instance,
        owned=frozenset(),
        rebalance_timeout_ms=LONG_MS,
        subscribed_topic_names=list(one.counts)[:1],
    )
    answer.must_be_refused(errors.UNRELEASED_INSTANCE_ID)


@breaks("g848-004")
def commits(one, turn):
    """A member commits and fetches offsets in its epoch; in another epoch, in an old version or without a member id it
    is refused.
    """
    if not one.present:
        return
    wire, topic, member = one.wire, next(iter(one.counts)), one.rng.choice(one.present)
    stale, unknown = errors.STALE_MEMBER_EPOCH, errors.UNKNOWN_MEMBER_ID
    others = [(member.id, member.epoch + 1, stale), ("", -1, unknown), (wire.name("m"), member.epoch, unknown)]
    others += [(each.id, member.epoch, unknown) for each in (one.gone + one.fenced)[-1:]]
    id_, epoch, error = one.rng.choice(others)
    wire.commit(one.name, topic, offset=999, member_id=id_, generation=epoch, version=9).must_be_refused(error)
    if one.rng.random() < 0.7:
        answer = wire.commit(one.name, topic, offset=turn, member_id=member.id, generation=member.epoch, version=9)
        answer.must_succeed()
        one.offset = turn
    wire.committed(one.name, topic).must_be(one.offset)
