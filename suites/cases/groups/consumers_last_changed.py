"""KIP-848 groups of which one thing changed last before their coordinator went down: it is written like any other."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._consumers import WITHIN_S
from brokertrial.suites.cases.groups._consumers_kept import UNSETTLED, KeptConsumers, says_names
from brokertrial.suites.cases.groups._consumers_steps import (
    all_change_the_assignor,
    all_come_back,
    comes,
    goes,
    goes_a_while,
    is_replaced,
    makes_room,
    refused,
    unsubscribes,
)
from brokertrial.suites.cases.groups._group_settings import LONGEST_MS, lengthen_sessions
from brokertrial.suites.cases.groups._over import over
from brokertrial.suites.probe.same_draws import same_draws

CHANGES = (comes, goes, goes, goes_a_while, is_replaced, says_names, unsubscribes, all_change_the_assignor)
"""Of each group one; of two of them somebody goes for good."""
ALMOST_MS = LONGEST_MS * 4 // 5


class ConsumersInTurn(KeptConsumers):
    """A group whose members are silent while others have their turn."""

    heard_ms = 0


@case(
    "groups/consumers-last-changed-over-restarts",
    guarantees=["g848-011", "g848-005", "g848-015", "grp-016"],
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, "ListGroups": 5, "OffsetCommit": 9},
    features={"group.version": 1},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["B162"],
)
def what_changed_last_was_written(wire, topic_of, rng, nodes):
    """A KIP-848 group MUST be in the same epochs, with the same members and targets, at whoever reads its log, whatever
    changed last while others stayed: somebody came, left, is away or was replaced, or reads other topics, or another
    assignor was asked for. Who comes next MUST be in a later epoch and be given its share.

    A group for each of these, stopped and killed, in a drawn order; each is changed otherwise the second time.
    """
    counts = {topic_of(partitions=3, what="three"): 3, topic_of(partitions=2, what="two"): 2}
    groups = [ConsumersInTurn(wire, wire.name(f"g{number}"), dict(counts), rng) for number in range(len(CHANGES))]
    for one in groups:
        lengthen_sessions(wire, one.name)
        for static in (True, False, False):
            comes(one, static=static)
        one.heard_ms = wire.now_ms()
    for down in rng.sample([nodes.terminate, nodes.kill], 2):
        for one, change in zip(groups, rng.sample(CHANGES, len(CHANGES)), strict=True):
            _come_back(one)
            while len(one.members) < 3:
                comes(one)
            makes_room(one)
            one.settle()
            _changes(one, change)
        over(down, nodes, wire, rng.sample(groups, len(groups)), _goes_on)
        for one in groups:
            _goes_on(one)


def _changes(one, change):
    """And nothing else; what each should own follows."""
    change(one)
    one.wire.eventually(same_draws(one.rng, one.must_be_assigned), within=WITHIN_S)
    one.condition = UNSETTLED
    one.remember()
    one.heard_ms = one.wire.now_ms()


def _come_back(one):
    """Who is away; on a slow target the sessions of members may be over before their group has its turn again."""
    if one.wire.now_ms() > one.heard_ms + ALMOST_MS:
        one.wire.unclear("members that were not heard for so long may have been expelled", "slow-target")
    all_come_back(one)


def _goes_on(one):
    """Somebody comes, in an epoch after all that were."""
    _come_back(one)
    makes_room(one)
    one.settle()
    then = max(each.epoch for each in one.members)
    comes(one)
    one.settle()
    now = one.members[-1].epoch
    one.wire.must(now > then, f"who comes is in epoch {now}; the others were in {then}")
    refused(one)
    one.remember()
    one.heard_ms = one.wire.now_ms()
