"""Members of a KIP-848 group that ask for different assignors."""

from collections import Counter

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire.messages import request

WITHIN_S, PARTITIONS, TURNS, MOST = 40, 12, 9, 5
ASSIGNORS = ("range", "uniform")


@case(
    "groups/consumer-assignor-of-most",
    guarantees=["g848-009"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["Y42"],
)
def the_assignor_that_most_ask_for_is_taken(wire, topic_of, group, rng):
    """Where the members of a KIP-848 group ask for different server assignors, the group MUST use the one that most of
    them ask for, whichever member joined first; a member that asks for none does not count.

    Up to five members come and go: one that asks for one assignor, two that ask for the other, then drawn ones.
    """
    topic = topic_of(partitions=PARTITIONS)
    one, other = rng.sample(ASSIGNORS, 2)
    members: list[tuple[ConsumerGroupMember, str | None]] = []
    for wish in (other, one, one):
        _comes(wire, group, topic, members, wish)
        _must_be_of_most(wire, group, members)
    for _ in range(TURNS):
        if len(members) == MOST or (len(members) > 1 and rng.random() < 0.4):
            gone, _ = members.pop(rng.randrange(len(members)))
            gone.leave().must_succeed()
        else:
            _comes(wire, group, topic, members, rng.choice((*ASSIGNORS, *ASSIGNORS, None)))
        _must_be_of_most(wire, group, members)


def _comes(wire, group, topic, members, wish):
    member = ConsumerGroupMember(wire, group, topic, **({"assignor": wish} if wish else {}))
    member.beat().must_succeed()
    members.append((member, wish))


def _must_be_of_most(wire, group, members):
    """Nothing is said where as many ask for each."""
    present = [member for member, _ in members]
    reconcile(*present, partitions=PARTITIONS)
    votes = Counter(wish for _, wish in members if wish)
    most = [name for name, count in votes.items() if count == max(votes.values())]
    if len(most) != 1:
        return
    asked = ", ".join(f"{count} for {name}" for name, count in votes.items())
    wire.eventually(lambda: _must_be_described(wire, group, most[0], asked), within=WITHIN_S)


def _must_be_described(wire, group, name, asked):
    asking = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asking, to=wire.coordinator(group)).must_succeed()
    used = answer.struct.groups[0].assignor_name
    answer.must(used == name, f"the assignor is {used}; the members ask {asked}", "groups[0].assignor_name")
