"""KIP-848 members that give up what they have to when they like, while others come and go and nothing settles."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile

COUNTS, MOST, STEPS = (3, 4), 4, 120
PARTITIONS = sum(COUNTS)
WORDS = (*["beats"] * 4, *["gives up"] * 3, *["comes"] * 3, *["goes"] * 3)
PATIENT_MS, WITHIN_S = 300_000, 30


@case(
    "groups/consumers-give-up-when-they-like",
    guarantees=["g848-002", "grp-001", "g848-003"],
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["M24b", "Z16"],
)
def what_is_not_given_up_is_not_given_away(wire, topic_of, group, rng):
    """Whichever members join and leave before others have revoked what they were asked to, a partition MUST NOT be
    assigned to a member while another owns it and has not revoked it, nor while it is assigned again to the member that
    has just revoked it; the group MUST settle once each member follows its assignment.

    First one member leaves before another has revoked what it was to receive; then up to four members and seven
    partitions of two topics, 120 drawn steps. Members of every version; what one is to revoke it
    revokes at once or a part at a time.
    """
    topics = [topic_of(partitions=count, what=what) for what, count in zip("tu", COUNTS, strict=True)]
    members: list[ConsumerGroupMember] = []
    _given_back(wire, group, topics, members)
    for _ in range(STEPS):
        word, one = rng.choice(WORDS), rng.choice(members)
        if word == "comes" and len(members) < MOST:
            _come(wire, group, topics, members)
        elif word == "goes" and len(members) > 1:
            one.leave().must_succeed()
            members.remove(one)
        else:
            if word == "gives up":
                one.held = frozenset(rng.sample(sorted(one.held), rng.randint(0, max(0, len(one.held) - 1))))
            _beat(one, members)
        wire.fetch(topics[0], max_wait_ms=30, min_bytes=1)  # assignments may be made once in a while alone
    for one in members:
        one.held = frozenset()
    reconcile(*members, partitions=PARTITIONS)


def _given_back(wire, group, topics, members):
    """Of two members the first has all again, and has given up nothing of it, when a third one comes."""
    for _ in range(2):
        _come(wire, group, topics, members)
    one, two = members
    wire.until(lambda: _beat(one, members).held, within=WITHIN_S, what="the first member is to give something up")
    members.remove(two)
    two.leave().must_succeed()
    one.held = frozenset()
    wire.until(lambda: len(_beat(one, members).owned) == PARTITIONS, within=WITHIN_S, what="it has all again")
    _come(wire, group, topics, members)


def _come(wire, group, topics, members):
    versions = list(wire.versions("ConsumerGroupHeartbeat"))
    version = versions[len(members) % len(versions)]
    members.append(ConsumerGroupMember(wire, group, *topics, timeout_ms=PATIENT_MS, version=version))
    _beat(members[-1], members)


def _beat(one, members):
    """One heartbeat; what its member loses by the answer it keeps until it gives it up."""
    before = one.owned
    answer = one.beat().must_succeed()
    one.held = (one.held | before) - one.owned
    for other in members:
        both = sorted((one.owned - before) & (other.owned | other.held)) if other is not one else ()
        said = f"{both} are given to a member while another owns them and has not given them up"
        answer.must(not both, said, "assignment")
    return one
