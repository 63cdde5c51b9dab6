"""What members of a KIP-848 group are given that read different topics, by the uniform assignor."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember

WITHIN_S, MANY, FEW = 40, 8, 4


@case(
    "groups/consumer-shares-of-what-it-reads",
    guarantees=["g848-005", "g848-017"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B64"],
)
def who_comes_last_has_its_share(wire, topic_of, group):
    """A member of a group MUST be given its share of a topic that another member reads too, whatever else others have:
    also where the one with the most partitions reads other topics alone.

    One reads a topic of eight partitions; two come, one after the other, that read another topic of four.
    """
    many, few = topic_of(partitions=MANY), topic_of(partitions=FEW, what="few")
    members = [ConsumerGroupMember(wire, group, many, assignor="uniform")]
    _must_have(wire, members, [MANY])
    for shares in ([MANY, FEW], [MANY, FEW // 2, FEW // 2]):
        members.append(ConsumerGroupMember(wire, group, few, assignor="uniform"))
        _must_have(wire, members, shares)


def _must_have(wire, members, shares):
    def check():
        for member in members:
            member.beat().must_succeed()
        found = [len(member.owned) for member in members]
        wire.must(found == shares, f"the members own {found} partitions; they must own {shares}")

    wire.eventually(check, within=WITHIN_S)
