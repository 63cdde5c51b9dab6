"""Sessions of KIP-848 members: as long as the group's setting says, which changes, and for those who are away too."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import set_session as _set
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

APIS = {"ConsumerGroupHeartbeat": 1, "IncrementalAlterConfigs": 1, "DescribeConfigs": 1}
ON = {"group.version": 1}
SHORT_MS, LONG_MS, LATE_MS = 2_000, 30_000, 4_000


@case(
    "groups/consumer-session-changes",
    guarantees=["g848-012"],
    since="4.0 (KIP-848)",
    apis=APIS,
    features=ON,
    needs=["partitions"],
    detects=["E05"],
)
def a_member_is_expelled_by_the_newest_session_timeout(wire, topic_of, group):
    """A member MUST be expelled when it is silent for the session timeout that the group has now, not for one that it
    had when its members came: the timeout is made short, long, and short again under two members that stay.
    """
    topic = topic_of(partitions=2)
    stays, silent = ConsumerGroupMember(wire, group, topic), ConsumerGroupMember(wire, group, topic)
    _set(wire, group, LONG_MS)
    stays.beat()
    silent.beat()
    reconcile(stays, silent, partitions=2)
    _set(wire, group, SHORT_MS)
    _expelled(wire, stays, _both_beat(wire, stays, silent))
    silent.beat().must_be_refused(errors.UNKNOWN_MEMBER_ID)

    silent.beat(epoch=0).must_succeed()
    reconcile(stays, silent, partitions=2)
    _set(wire, group, LONG_MS)
    since_ms = _both_beat(wire, stays, silent)

    def silent_for_long():
        stays.beat().must_succeed()
        return wire.now_ms() > since_ms + 2 * SHORT_MS

    wire.until(silent_for_long, within=LONG_MS / 1000, what="twice the short timeout has passed")
    silent.beat().must_succeed()
    _set(wire, group, SHORT_MS)
    _expelled(wire, stays, _both_beat(wire, stays, silent))
    silent.beat().must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/consumer-away-for-good",
    guarantees=["g848-007", "g848-012"],
    since="4.0 (KIP-848)",
    apis=APIS,
    features=ON,
    needs=["partitions"],
    detects=["E06"],
)
def who_is_away_for_longer_than_a_session_is_expelled(wire, topic_of, group):
    """A static member that leaves for a while (-2) MUST keep its partitions for its session, and MUST be expelled when
    it has not come back by then: others get them, and it comes back as a new member.
    """
    topic = topic_of(partitions=2)
    _set(wire, group, SHORT_MS)
    stays, away = ConsumerGroupMember(wire, group, topic), ConsumerGroupMember(wire, group, topic, instance_id="i1")
    stays.beat()
    away.beat()
    reconcile(stays, away, partitions=2)
    since_ms = wire.now_ms()
    away.leave(-2).must_have("member_epoch", -2)
    _expelled(wire, stays, since_ms)
    again = ConsumerGroupMember(wire, group, topic, instance_id="i1")
    again.beat().must_succeed()
    reconcile(stays, again, partitions=2)


def _both_beat(wire, stays, silent):
    """From now on the new timeout counts for both; the time before the last heartbeat of the one that goes silent."""
    stays.beat().must_succeed()
    since_ms = wire.now_ms()
    silent.beat().must_succeed()
    return since_ms


def _expelled(wire, stays, since_ms):
    """Who is silent since then: when the short timeout is over, and not before, the other gets what it had."""
    early_ms = since_ms + SHORT_MS * 9 // 10

    def has_all():
        stays.beat().must_succeed()
        return len(stays.owned) == 2

    wire.until(has_all, within=LONG_MS / 1000 - 5, what="the partitions of the silent member are given to the other")
    now_ms = wire.now_ms()
    wire.must(now_ms >= early_ms, f"it was expelled after {now_ms - since_ms} ms of {SHORT_MS}")
    if now_ms > since_ms + SHORT_MS + LATE_MS + wire.slack_s * 1000:
        wire.too_late(f"it was expelled after {now_ms - since_ms} ms; its session lasts {SHORT_MS}")
