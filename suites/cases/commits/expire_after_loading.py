"""Offsets that expire at a coordinator that had a long log to read when it first looked for them (KIP-211)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._expiring import ALONE, NEVER, SHORT_MS, WITHIN_S, ExpiringGroup
from brokertrial.suites.cases.commits._long_log import PARTITIONS, commit_much

CHECKS, OFTEN_MS = "offsets.retention.check.interval.ms", "50"
GROUPS = 8


@case(
    "commits/expire-after-a-long-log-was-read",
    guarantees=["cmt-013", "cmt-002"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, "ListGroups": 0},
    needs=["chosen-settings", "started", "partitions", "kill", "terminate", "restart"],
    detects=["B329"],
)
def the_coordinator_goes_on_looking(wire, topic_of, rng, nodes):
    """An offset that a client committed for a time MUST be removed some time after it also where the brokers looked for
    what has expired while they were still reading the log of its coordinator; others MUST stay.

    Brokers that look twenty times a second; a group that has committed the offsets of 300 partitions 240 times; eight
    groups that commit before its coordinator was stopped or killed, and after it.
    """
    much = wire.name("much")
    large, used, left = topic_of(partitions=PARTITIONS, replicas=1), topic_of(partitions=2), topic_of(partitions=2)
    nodes.start_with({CHECKS: OFTEN_MS})
    for topic in (large, used, left):
        wire.await_topic(topic)
    commit_much(wire, much, large)
    groups = [ExpiringGroup(wire, ALONE, used, left, rng) for _ in range(GROUPS)]
    _commit_some(groups, rng)
    rng.choice((nodes.crash, nodes.stop_and_start))(nodes.of_group(much))
    for topic in (large, used, left):
        wire.await_topic(topic)
    _must_be_so(wire, groups)
    _commit_some(groups, rng)
    _must_be_so(wire, groups)


def _commit_some(groups, rng):
    """Of each group one offset that stays, and one or two that expire soon."""
    for group in groups:
        stays, *others = rng.sample(group.places, rng.randint(2, 3))
        group.commit(stays, NEVER, rng.randint(2, 4))
        for place in others:
            group.commit(place, SHORT_MS, rng.randint(2, 4))


def _must_be_so(wire, groups):
    for group in groups:
        group.settle()
        wire.eventually(group.must_be_so, within=WITHIN_S)
