"""Members of a KIP-848 group whose sessions end at the same moment."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import set_session
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

PARTITIONS, SILENT, SESSION_MS, WITHIN_S = 6, 3, 6_000, 40


@case(
    "groups/consumer-sessions-end-together",
    guarantees=["g848-012", "g848-011"],
    since="4.0 (KIP-848)",
    apis={"ConsumerGroupHeartbeat": 1, "IncrementalAlterConfigs": 1, "DescribeConfigs": 1},
    features={"group.version": 1},
    needs=["partitions", "kill", "restart"],
    detects=["B286"],
)
def all_who_died_are_expelled(wire, topic_of, group, nodes):
    """Members that died with their coordinator, whose sessions begin anew at one moment when it is back and so end at
    one, MUST all be expelled: a member that comes then MUST be assigned all partitions.

    Three members share six partitions; their coordinator is killed and started, and none of them is heard of again. The
    session is 6 s.
    """
    topic = topic_of(partitions=PARTITIONS)
    set_session(wire, group, SESSION_MS)
    members = [ConsumerGroupMember(wire, group, topic) for _ in range(SILENT)]
    for member in members:
        member.beat().must_succeed()
    reconcile(*members, partitions=PARTITIONS)
    nodes.crash(nodes.of_group(group))
    wire.await_topic(topic)
    new = ConsumerGroupMember(wire, group, topic)

    def owns_all():
        new.beat().must_succeed()
        return len(new.owned) == PARTITIONS

    wire.until(owns_all, within=WITHIN_S, what=f"who came after {SILENT} members had died owns all partitions")
