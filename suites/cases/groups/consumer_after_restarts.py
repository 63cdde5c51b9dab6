"""KIP-848 members that their coordinator knows from its log alone: their sessions, and answers that never came."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import LONGEST_MS, lengthen_sessions, set_session
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ON = {"group.version": 1}
SHORT_MS, LATE_S, WITHIN_S, REBALANCE_MS = 3_000, 3, 30, 60_000


@case(
    "groups/consumer-answers-lost-in-a-restart",
    guarantees=["g848-011", "g848-003", "grp-016"],
    apis={"ConsumerGroupHeartbeat": 0},
    features=ON,
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["D78"],
)
def who_missed_an_epoch_is_brought_up_to_date(wire, topic_of, group, rng, nodes):
    """A member whose answer with a new epoch was lost, because its coordinator went down, MUST NOT be fenced when it
    asks again in the epoch before with what it owned then: it MUST be given the new epoch and all of its assignment. In
    the epoch before that it MUST be fenced (110).

    The coordinator is stopped and killed, in a drawn order; the change is another topic to read, or one less.
    """
    topics = [topic_of(partitions=2), topic_of(partitions=3, what="u")]
    lengthen_sessions(wire, group)
    member = ConsumerGroupMember(wire, group, *topics)
    member.beat(topics=topics[:1]).must_succeed()
    reconcile(member, partitions=2)
    older = member.epoch - 1
    for down, wanted in zip(rng.sample([nodes.stop_and_start, nodes.crash], 2), (topics, topics[:1]), strict=True):
        before = wire.until(lambda wanted=wanted: _raised(member, wanted), within=WITHIN_S, what="the epoch rises")
        lost = member.epoch
        down(nodes.of_group(group))
        make_coordinator_write(wire, group)
        if older > 0:
            member.beat(epoch=older, owned=before[1]).must_be_refused(errors.FENCED_MEMBER_EPOCH)
        older = before[0]
        member.epoch, member.owned = before
        again = member.beat(topics=wanted, rebalance_timeout_ms=REBALANCE_MS).must_succeed()  # all, as after a timeout
        again.must(member.epoch >= lost, f"it is given epoch {member.epoch}; it had been given {lost}", "member_epoch")
        reconcile(member, partitions=5 if wanted is topics else 2)


def _raised(member, wanted):
    """Asks for these topics; its epoch and what it owned before the answer that raised the epoch."""
    before = member.epoch, member.owned
    member.beat(topics=wanted).must_succeed()
    return before if member.epoch > before[0] else None


@case(
    "groups/consumer-sessions-over-restarts",
    guarantees=["g848-012", "grp-016"],
    since="4.0 (KIP-848)",
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, "IncrementalAlterConfigs": 1, "DescribeConfigs": 1},
    features=ON,
    needs=["kill", "restart"],
    detects=["D79"],
)
def each_group_keeps_its_own_session_timeout(wire, topic, nodes):
    """After its coordinator crashed a group MUST have its own session timeout: where it is short a silent member is
    expelled when it is over, where it is long it stays.
    """
    short, long = (ConsumerGroupMember(wire, wire.name(what), topic) for what in ("short", "long"))
    for member, timeout_ms in ((short, SHORT_MS), (long, LONGEST_MS)):
        set_session(wire, member.group, timeout_ms)
        member.beat().must_succeed()
    for node in sorted({nodes.of_group(member.group) for member in (short, long)}):
        nodes.crash(node)
    for member in (short, long):
        make_coordinator_write(wire, member.group)
    began_ms = wire.now_ms()
    within = SHORT_MS / 1000 + LATE_S
    wire.until(lambda: _members(wire, short.group) == [], within=within, what="who is silent is expelled")
    passed = 2 * (wire.consumer_session_ms or 0)
    if passed < LONGEST_MS / 2:
        wire.until(lambda: wire.now_ms() > began_ms + passed, within=WITHIN_S, what="as long as the brokers allow")
    found = wire.until(lambda: _members(wire, long.group), within=WITHIN_S, what="its members are described")
    wire.must(found == [long.id], f"the member whose session lasts {LONGEST_MS} ms is gone after {passed} ms")
    long.beat().must_succeed()


def _members(wire, group):
    """None while the coordinator reads its log."""
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=lambda: wire.coordinator(group))
    if answer.error in COORDINATOR_BUSY:
        wire.forget_coordinator(group)
        return None
    answer.must_succeed()
    return [row.member_id for row in answer.struct.groups[0].members]
