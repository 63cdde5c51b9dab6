"""KIP-848 groups on brokers that have racks: what brokers are there is no change of what a group reads (KIP-1101)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire.messages import request

RACK = "broker.rack"
BEATS = 6


@case(
    "groups/consumer-epoch-while-nodes-come-and-go",
    guarantees=["g848-013", "g848-005"],
    apis={"ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["three-nodes", "leaders", "partitions", "chosen-settings", "terminate", "kill", "restart"],
    detects=["B72"],
)
def the_epoch_stays_though_replicas_fall_out(wire, nodes, group, rng):
    """The epoch of a group MUST stay as it is when a node dies and comes back that holds replicas of what the group
    reads and does not coordinate it, also where brokers have racks: no partition is to be assigned otherwise.

    Two members, three topics, a replica of each partition on each of three nodes.
    """
    for node in wire.nodes:
        nodes.start_with({RACK: f"rack {node}"}, only=[node])
    topics = [placed(wire, f"read-{number}", rng.sample(list(wire.nodes), 3)) for number in range(3)]
    for topic in topics:
        all_in_sync(wire, topic)
    lengthen_sessions(wire, group)  # a node may take longer to start than a session lasts
    members = [ConsumerGroupMember(wire, group, *topics) for _ in range(2)]

    def settled():
        for member in members:
            member.beat().must_succeed()
        owned = [place for member in members for place in member.owned]
        whole = sorted(owned) == sorted((topic, 0) for topic in topics) and all(member.owned for member in members)
        return whole and {member.epoch for member in members} == {_described(wire, group)[1]}

    wire.until(settled, within=WITHIN_S, what="both members own what they read, in the epoch of the group")
    epoch = members[0].epoch
    _must_stay(wire, group, members, epoch, "nothing happened")
    dead = rng.choice([node for node in wire.nodes if node != wire.coordinator(group)])
    nodes.kill(dead)
    for topic in topics:
        wire.until(lambda at=topic: dead not in partition(wire, at).isr_nodes, within=WITHIN_S, what=f"{dead} is out")
    _must_stay(wire, group, members, epoch, f"node {dead} died")
    nodes.start(dead)
    for topic in topics:
        all_in_sync(wire, topic)
    _must_stay(wire, group, members, epoch, f"node {dead} came back")


def _must_stay(wire, group, members, epoch, why):
    for _ in range(BEATS):
        for member in members:
            answer = member.beat().must_succeed()
            answer.must(
                member.epoch == epoch, f"{why}, and the epoch goes from {epoch} to {member.epoch}", "member_epoch"
            )
    answer, found = _described(wire, group)
    answer.must(found == epoch, f"{why}, and the group epoch goes from {epoch} to {found}", "groups[0].group_epoch")


def _described(wire, group):
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=wire.coordinator(group)).must_succeed()
    return answer, answer.struct.groups[0].group_epoch
