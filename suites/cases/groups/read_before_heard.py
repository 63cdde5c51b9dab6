"""KIP-848 groups whose coordinator has begun anew, before a member is heard of: they read what they read before."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITHIN_S, TIMEOUT_MS = 40, 120_000
CODE = "topics[0].partitions[0].error_code"


@case(
    "groups/consumer-topics-before-it-is-heard",
    guarantees=["cmt-014", "g848-016", "grp-016"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, "OffsetDelete": 0, "OffsetCommit": 9},
    features={"group.version": 1},
    needs=["started", "partitions", "terminate", "kill", "restart"],
    detects=["B75"],
)
def what_a_group_reads_is_known_at_once(wire, topic_of, nodes, rng):
    """Once a coordinator has begun anew, offsets of a topic that a member subscribes to MUST NOT be deleted (86), and
    offsets of another topic MUST be, also before a member sends its first heartbeat. A member names the topic, or a
    pattern matches it.

    The node of a coordinator is stopped, and killed, for groups that do either.
    """
    if len(wire.nodes) > 1:
        wire.not_applicable("another node coordinates meanwhile, and the session of a member passes", "no-such-layout")
    read, other = topic_of(partitions=2), topic_of(what="other")
    wishes = [{}, {"topics": None, "regex": read}]
    for act in rng.sample([nodes.stop_and_start, nodes.crash], 2):
        for wish in rng.sample(wishes, 2):
            member = _settled(wire, read, wish)
            for topic in (read, other):
                commits = {"offset": 1, "member_id": member.id, "generation": member.epoch}
                wire.commit(member.group, topic, **commits).must_succeed()
            act(wire.coordinator(member.group))
            wire.await_topic(read)
            wire.forget_coordinator(member.group)
            wire.eventually(lambda of=member.group: wire.committed(of, read).must_be(1), within=WITHIN_S)
            kept, gone = (_deleted(wire, member.group, topic) for topic in (read, other))
            if member.id not in _members(wire, member.group):
                wire.unclear("the session of the member passed before its coordinator was asked", "slow-target")
            kept.must_have(CODE, errors.GROUP_SUBSCRIBED_TO_TOPIC)
            gone.must_have(CODE, errors.NONE)
            wire.committed(member.group, read).must_be(1)


def _settled(wire, topic, wish):
    member = ConsumerGroupMember(wire, wire.name("g"), topic, timeout_ms=TIMEOUT_MS, **wish)

    def owns():
        member.beat().must_succeed()
        return member.indexes == [0, 1]

    wire.until(owns, within=WITHIN_S, what="the member owns what it reads")
    return member


def _deleted(wire, group, topic):
    rows = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    answer = wire.ask(request("OffsetDelete", group_id=group, topics=rows), to=wire.coordinator(group))
    answer.examined = True  # once it is known that the member was still there
    return answer


def _members(wire, group):
    answer = wire.ask(request("ConsumerGroupDescribe", group_ids=[group]), to=wire.coordinator(group)).must_succeed()
    return {row.member_id for row in answer.struct.groups[0].members}
