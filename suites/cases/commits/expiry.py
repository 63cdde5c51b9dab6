"""Offsets that expire, and the groups that go with them (KIP-211): brokers that look for them twice a second."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._expiring import (
    ALONE,
    CLASSIC,
    LONG_MS,
    LOOKS_MS,
    MODERN,
    NEVER,
    OTHER,
    SHORT_MS,
    WITHIN_S,
    ExpiringGroup,
)
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write

CHECKS, MINUTES = "offsets.retention.check.interval.ms", "offsets.retention.minutes"
OFTEN = {
    CHECKS: str(LOOKS_MS),
    "group.consumer.session.timeout.ms": "50000",
    "group.consumer.max.session.timeout.ms": "60000",
    "transaction.max.timeout.ms": "900000",
}
APIS = {"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 2, "TxnOffsetCommit": 0, "ListGroups": 0}
OVERDUE_MS = SHORT_MS + 3 * LOOKS_MS
MINUTE_MS, SELDOM_MS = 60_000, "3600000"
AWAY_MS, EARLY_MS = 30_000, 45_000
"""Since the commits: when a member goes, and until when nothing may be gone."""


@case(
    "commits/expire-unless-in-use",
    guarantees=["cmt-013", "txn-012", "cmt-002"],
    apis=APIS,
    needs=["chosen-settings", "started", "partitions", "kill", "terminate", "restart"],
    detects=["V60", "V61", "V63", "W17", "Z15"],
)
def offsets_go_when_their_time_is_over_and_no_member_uses_them(wire, topic_of, rng, nodes):
    """An offset that a client committed for a time (OffsetCommit v2 to v4) MUST be removed some time after it, over a
    restart too, and not before it, nor while a member of its group is subscribed to its topic or its group rebalances.
    A group MUST stay as long as it has a member, an offset or one that a transaction has staged, and be removed when it
    has none.

    Groups without members, of classic members, of another type and of KIP-848 members; all drawn, in six rounds.
    """
    if max(wire.versions("OffsetCommit")) < 2 or min(wire.versions("OffsetCommit")) > 4:
        wire.not_applicable("no version of OffsetCommit says how long an offset is kept")
    modern = wire.features.get("group.version", 0) >= 1
    used, left = topic_of(partitions=2), topic_of(partitions=2, what="left")
    kinds = [ALONE] * 4 + [CLASSIC] * 2 + [OTHER] + [MODERN] * (2 if modern else 0)
    groups = [ExpiringGroup(wire, kind, used, left, rng) for kind in kinds]
    for group in groups:
        group.commit_some()
    nodes.start_with(OFTEN)
    for topic in (used, left):
        wire.await_topic(topic)
    _must_all_be_so(wire, groups)

    for group in groups:
        group.commit((left, 0), SHORT_MS, 3)
        group.join()
        group.commit_some()
    groups.append(ExpiringGroup(wire, ALONE, used, left, rng))
    groups[-1].begin()
    groups[-1].stage((left, 1))
    _must_all_be_so(wire, groups)

    for group in groups:
        group.commit_some()
    nodes.crash(rng.choice(wire.nodes))
    for topic in (used, left):
        wire.await_topic(topic)
    _must_all_be_so(wire, groups)

    for group in groups:
        group.begin_rebalance()
    _must_all_be_so(wire, groups)
    for group in groups:
        group.end_rebalance()
    _must_all_be_so(wire, groups)

    for group in groups:
        if group.kind != ALONE or rng.random() < 0.3:
            group.leave()
        group.end(commit=True)
    _must_all_be_so(wire, groups)
    for group in rng.sample(groups, 4):
        group.commit_some()
    _must_all_be_so(wire, groups)

    nodes.start_with({**OFTEN, CHECKS: SELDOM_MS})  # what has expired stays so without another look
    for topic in (used, left):
        wire.await_topic(topic)
    for group in groups:
        make_coordinator_write(wire, group.name)
        wire.eventually(group.must_be_so, within=WITHIN_S)


def _must_all_be_so(wire, groups):
    """Once what has expired must have been looked for; members of KIP-848 give a sign of life meanwhile."""
    since_ms = wire.now_ms()

    def is_over():
        for group in groups:
            group.beat()
        return wire.now_ms() > since_ms + OVERDUE_MS

    wire.until(is_over, within=WITHIN_S, what="the brokers have looked for what has expired")
    for group in groups:
        group.settle()
        wire.eventually(group.must_be_so, within=WITHIN_S)


@case(
    "commits/staged-over-what-expires",
    guarantees=["cmt-013", "txn-012", "cmt-002"],
    apis=APIS,
    needs=["chosen-settings", "started", "partitions", "terminate", "restart"],
    since="4.0 (KIP-848)",
    detects=["V62"],
)
def what_a_transaction_may_replace_stays_until_it_ends(wire, topic_of, rng, nodes):
    """While a transaction has an offset staged, the one that it would replace MUST stay, though its time is over; it
    MUST go some time after the transaction was aborted. What the transaction commits stays.

    Four groups; in two of them the transaction commits. The coordinators before KIP-848 let go what is staged over.
    """
    used, left = topic_of(partitions=2), topic_of(partitions=2, what="left")
    nodes.start_with(OFTEN)
    for topic in (used, left):
        wire.await_topic(topic)
    groups = [ExpiringGroup(wire, ALONE, used, left, rng) for _ in range(4)]
    for group in groups:
        staged, *others = rng.sample(group.places, 3)
        group.begin()
        for place in others:  # first: its coordinator may have a long log to read
            group.commit(place, rng.choice((SHORT_MS, LONG_MS)), rng.randint(2, 4))
        begun_ms = wire.now_ms()
        group.commit(staged, SHORT_MS, rng.randint(2, 4))
        group.stage(staged)
        if wire.now_ms() > begun_ms + SHORT_MS:
            wire.unclear("the offset may have expired before the transaction had another staged", "slow-target")
    _must_all_be_so(wire, groups)
    for number, group in enumerate(groups):
        group.end(commit=number < 2)
    _must_all_be_so(wire, groups)


@case(
    "commits/expire-by-the-age-of-the-group",
    guarantees=["cmt-013", "cmt-002"],
    apis=APIS,
    needs=["chosen-settings", "started", "partitions", "terminate", "restart"],
    detects=["V64", "W12", "Z56"],
)
def offsets_are_as_old_as_their_group_is_empty(wire, topic_of, rng, nodes):
    """With offsets.retention.minutes=1 an offset MUST be kept for a minute after its commit, or, where its group had
    members, for a minute after the last of them left, also where its coordinator was restarted since, and MUST be
    removed some time after it. Offsets of subscribed topics stay.

    A group without members, two whose members go after half a minute, before the restart and after it, and one whose
    member stays.
    """
    used, left = topic_of(partitions=2), topic_of(partitions=2, what="left")
    nodes.start_with({**OFTEN, MINUTES: "1"})
    for topic in (used, left):
        wire.await_topic(topic)
    kinds = (ALONE, CLASSIC, CLASSIC, CLASSIC)
    alone, goes, follows, stays = groups = [ExpiringGroup(wire, kind, used, left, rng) for kind in kinds]
    for group in (goes, follows, stays):
        group.join()
    begun_ms = wire.now_ms()
    for group in groups:
        for place in group.places:
            group.commit(place, NEVER, 2)
    committed_ms = wire.now_ms()

    _wait_until(wire, begun_ms + AWAY_MS)
    goes.leave()
    emptied_ms = wire.now_ms()
    nodes.stop_and_start(nodes.of_group(goes.name))
    follows.leave()
    followed_ms = wire.now_ms()
    _wait_until(wire, begun_ms + EARLY_MS)
    _must_have(wire, groups, before_ms=begun_ms + MINUTE_MS)

    _wait_until(wire, committed_ms + MINUTE_MS + OVERDUE_MS)
    alone.offsets = {}
    stays.offsets = {place: kept for place, kept in stays.offsets.items() if place[0] == used}
    for group in (alone, stays):
        wire.eventually(group.must_be_so, within=WITHIN_S)
    _must_have(wire, (goes, follows), before_ms=emptied_ms - OVERDUE_MS + MINUTE_MS)
    _wait_until(wire, followed_ms + MINUTE_MS + OVERDUE_MS)
    goes.offsets = follows.offsets = {}
    for group in groups:
        wire.eventually(group.must_be_so, within=WITHIN_S)


def _wait_until(wire, time_ms):
    wire.until(lambda: wire.now_ms() > time_ms, within=MINUTE_MS / 1000 + WITHIN_S, what="the time has come")


def _must_have(wire, groups, before_ms):
    """Everything is there, if it was asked for in time."""
    for group in groups:
        try:
            group.must_be_so()
        finally:
            if wire.now_ms() > before_ms:
                wire.unclear("the offsets may have expired before they were asked for", "slow-target")
