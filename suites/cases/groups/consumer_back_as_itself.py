"""Static KIP-848 members that were away and come back under the member id that they had, as Java consumers do."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.wire.messages import request

AWAY, WITHIN_S = -2, 40
MEMBERS = "groups[0].members"


@case(
    "groups/consumer-back-as-itself",
    guarantees=["g848-007", "g848-011", "g848-015"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B117"],
)
def who_comes_back_is_there_after_a_restart_too(wire, topic_of, group, rng, nodes):
    """A static member of a KIP-848 group that was away (-2) and came back MUST be in its group as before, under a new
    member id and under the one that it had, also once its coordinator has been stopped or killed: it goes on in its
    epoch with its partitions, and ConsumerGroupDescribe returns it with its instance, its subscription, what it owns
    and what it should own.

    Two static members, each of which reads a topic of its own by its name or by a pattern, and one that stays; one
    comes back as itself and the other under a new id, in turn. Of two restarts one may come while they are away.
    """
    topics = [topic_of(partitions=2, what=what) for what in ("t", "u", "v")]
    lengthen_sessions(wire, group)
    by_pattern = rng.sample([True, False], 2)
    members = [
        ConsumerGroupMember(
            wire, group, topic, instance_id=f"i{number}", **({"topics": None, "regex": topic} if pattern else {})
        )
        for number, (topic, pattern) in enumerate(zip(topics, by_pattern, strict=False))
    ]
    stays = ConsumerGroupMember(wire, group, topics[2])
    everybody = [*members, stays]
    wire.until(lambda: _own_their_topics(everybody), within=WITHIN_S, what="each member owns what it reads")
    for number, act in enumerate(rng.sample([nodes.stop_and_start, nodes.crash], 2)):
        for each in rng.sample(members, 2):
            each.leave(AWAY).must_succeed().must_have("member_epoch", AWAY)
        if rng.random() < 0.5:
            _goes_down(wire, group, nodes, rng.choice([nodes.stop_and_start, nodes.crash]))
        for each in rng.sample(members, 2):
            _comes_back(each, as_itself=each is members[number])
        wire.until(lambda: _own_their_topics(everybody), within=WITHIN_S, what="each member owns what it reads")
        before = _described(wire, group)
        _goes_down(wire, group, nodes, act)
        wire.eventually(lambda before=before: _must_be_described(wire, group, before), within=WITHIN_S)
        for each in everybody:
            epoch, owned = each.epoch, each.owned
            answer = each.beat().must_succeed()
            answer.must(each.epoch >= epoch, f"its epoch is {each.epoch}; it was {epoch}", "member_epoch")
            answer.must(
                each.owned == owned, f"it is assigned {sorted(each.owned)}; it had {sorted(owned)}", "assignment"
            )


def _own_their_topics(members):
    """All heartbeat; whether each has all of its own topic, and all are in one epoch."""
    for each in members:
        each.beat().must_succeed()
    whole = all(each.owned == {(each.topics[0], 0), (each.topics[0], 1)} for each in members)
    return whole and len({each.epoch for each in members}) == 1


def _comes_back(member, *, as_itself):
    """It begins anew, and owns nothing until it is given it."""
    if not as_itself:
        member.id = member.wire.name("m")
    member.owned = frozenset()
    member.beat(epoch=0).must_succeed()


def _goes_down(wire, group, nodes, act):
    act(nodes.of_group(group))
    make_coordinator_write(wire, group)
    wire.until(lambda: _described(wire, group), within=WITHIN_S, what="the coordinator has read its log")


def _must_be_described(wire, group, before):
    found = _described(wire, group)
    wire.must(found == before, f"after a restart the members are {found}; they were {before}")


def _described(wire, group):
    """What is known of each member, but its epoch, which may rise; None while the coordinator reads its log."""
    answer = wire.ask(request("ConsumerGroupDescribe", group_ids=[group]), to=lambda: wire.coordinator(group))
    if answer.error in COORDINATOR_BUSY:
        wire.forget_coordinator(group)
        return None
    return {row.member_id: _all_of(row) for row in answer.must_succeed().at(MEMBERS)}


def _all_of(row):
    reads = (sorted(row.subscribed_topic_names), row.subscribed_topic_regex or "")
    return row.instance_id, reads, _parts(row.assignment), _parts(row.target_assignment)


def _parts(assignment):
    return sorted((str(row.topic_id), n) for row in assignment.topic_partitions for n in row.partitions)
