"""What members of a KIP-848 group are given that read different topics, by the uniform assignor."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember

WITHIN_S, MANY, FEW = 40, 8, 4
APIS, SINCE = {"ConsumerGroupHeartbeat": 0}, {"group.version": 1}


@case(
    "groups/consumer-shares-of-what-it-reads",
    guarantee="g848-017",
    apis=APIS,
    features=SINCE,
    needs=["partitions"],
    detects=["B64"],
)
def who_comes_last_has_its_share(wire, topic_of, group):
    """A member of a group with the uniform assignor SHOULD be given its share of a topic that another member reads too,
    whatever else others have: also where the one with the most partitions reads other topics alone.

    KIP-848 gives the assignor its name and no figures; by Apache Kafka's UniformHeterogeneousAssignmentBuilder the
    members' numbers of partitions should not differ by more than one where one of them could take another. One reads a
    topic of eight partitions; two come, one after the other, that read another topic of four. That each partition is
    owned by one member, whatever others read, is decided by groups/consumers-whatever-comes-next.
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
        wire.must(found == shares, f"the members own {found} partitions; they should own {shares}")

    wire.eventually(check, within=WITHIN_S)
