"""A KIP-848 group whose members say some of what there is to say, in any order and version, as is drawn."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._consumers import Consumers
from brokertrial.suites.cases.groups._consumers_steps import (
    changes_its_rack,
    comes,
    comes_back_otherwise,
    commits,
    keeps_its_assignor,
    made_again_alike,
    refused,
    steps_of,
)
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions

STEPS = 60
RARE = (comes_back_otherwise, made_again_alike, changes_its_rack, keeps_its_assignor)
"""Each at a drawn turn."""


@case(
    "groups/consumers-say-whatever",
    guarantees=["g848-002", "g848-003", "g848-004", "g848-005", "g848-007", "g848-013", "g848-015"],
    apis={
        "ConsumerGroupHeartbeat": 1,
        "ConsumerGroupDescribe": 0,
        "ListGroups": 5,
        "OffsetCommit": 9,
        "OffsetFetch": 9,
    },
    features={"group.version": 1},
    needs=["partitions"],
    detects=["G11", "G12", "G13", "U27", "V12", "V13"],
)
def what_a_member_leaves_out_stays_and_nothing_is_nothing(wire, topic_of, group, rng):
    """What a member of a group leaves out of a heartbeat (null) MUST stay as it was, and what it sends MUST take
    effect, an empty list of topics included: then it owns nothing. A static member that was away (-2) MUST get its own
    partitions back under its new id, or those of the topics that it reads then. A heartbeat or commit under an old id,
    of an instance that is held (111), of an unknown member (25) or in another epoch (110, for commits 113) MUST be
    refused. The epoch of the group MUST rise where a member reads other topics; it MUST settle, and be described as it
    is.

    Up to four members, static ones among them, three topics, 60 drawn steps.
    """
    counts = {topic_of(partitions=2): 2, topic_of(partitions=3, what="u"): 3, topic_of(what="v"): 1}
    one = Consumers(wire, group, counts, rng)
    lengthen_sessions(wire, group)
    comes(one)
    rare = dict(zip(rng.sample(range(STEPS), len(RARE)), RARE, strict=True))
    for turn in range(STEPS):
        rare.get(turn, rng.choice(steps_of(one)))(one)
        one.settle()
        refused(one)
        commits(one, turn)
