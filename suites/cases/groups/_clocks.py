"""A KIP-848 group in which one member is removed when its time is over, and no other is."""

from typing import Any

from brokertrial.suites.cases.groups._group_settings import set_session
from brokertrial.suites.cases.groups._living import EARLY, LATE_S
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {
    "ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0, "IncrementalAlterConfigs": 1, "DescribeConfigs": 1,
}  # fmt: skip
LONG_MS = 60_000
NEVER = None


class MemberClock:
    """A group in which one member is removed when its time is over, and no other is."""

    def __init__(self, wire, topic_of, what, session_ms=LONG_MS // 2, node=None):
        self.wire, self.what, self.topic = wire, what, topic_of(partitions=2)
        names = (wire.name("g") for _ in range(60))
        self.group: Any = next((name for name in names if node in (None, wire.coordinator(name))), None)
        if self.group is None:
            wire.unclear(f"none of 60 groups is coordinated by node {node}")
        set_session(wire, self.group, session_ms)
        self.session_ms, self.heard_ms = session_ms, wire.now_ms()
        self.goes_after_ms, self.since_ms, self.gone = NEVER, 0, False
        self.who: Any = None
        self.beats: list[Any] = []

    def member(self, timeout_ms=LONG_MS, instance=None):
        return ConsumerGroupMember(self.wire, self.group, self.topic, timeout_ms=timeout_ms, instance_id=instance)

    def comes(self, member):
        member.beat().must_succeed()
        return member

    def is_alone(self, timeout_ms=LONG_MS, instance=None):
        """A member that owns all."""
        member = self.comes(self.member(timeout_ms, instance))
        reconcile(member, partitions=2)
        self.beats.append(member)
        self.heard_ms = self.wire.now_ms()
        return member

    def runs(self, goes, after_ms):
        """From now on its time runs, or none does."""
        self.who, self.goes_after_ms, self.since_ms = goes, after_ms, self.wire.now_ms()

    def holds_on(self, member, after_ms):
        """Another comes, and the one that has all does not give any of it back, though it is asked to."""
        all_ = member.owned
        other = self.comes(self.member())
        self.beats.append(other)

        def asked_to_give_up():
            before_ms = self.wire.now_ms()
            member.beat(owned=all_).must_succeed()
            self.since_ms = before_ms
            return len(member.owned) < 2

        self.wire.until(asked_to_give_up, within=10, what="the member is asked to give up a partition")
        before_ms = self.since_ms
        member.held = all_
        self.runs(member, after_ms)
        self.since_ms = before_ms
        return other

    def must_be_in_time(self, since_ms, limit_ms):
        """Else what comes proves nothing."""
        late_ms = self.wire.now_ms() - since_ms
        if late_ms > limit_ms * EARLY:
            self.wire.unclear(f"{late_ms} ms went by, which must be less than {limit_ms}")

    def turn(self):
        """All that beat do; whether the one that must go has gone."""
        if self.beats:
            self.must_be_in_time(self.heard_ms, self.session_ms)
        self.heard_ms = self.wire.now_ms()
        for member in self.beats:
            if not (self.gone and member is self.who):
                answer = member.beat()
                expected = self.goes_after_ms is not NEVER and member is self.who
                allowed = (errors.NONE, errors.UNKNOWN_MEMBER_ID, errors.FENCED_MEMBER_EPOCH)
                wanted = allowed if expected else (errors.NONE,)
                answer.must(answer.error in wanted, f"{self.what}: it is answered {answer.error}", "error_code")
        if self.gone:
            return True
        asked = request("ConsumerGroupDescribe", group_ids=[self.group])
        described = self.wire.ask(
            asked,
            to=lambda: self.wire.coordinator(self.group),
            retry_on=(errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR),
            refresh=lambda: self.wire.forget_coordinator(self.group),
        ).must_succeed()
        self.gone = self.who.id not in [row.member_id for row in described.struct.groups[0].members]
        past_ms = self.wire.now_ms() - self.since_ms
        early = self.gone and (self.goes_after_ms is NEVER or past_ms < self.goes_after_ms * EARLY)
        described.must(not early, f"{self.what}: after {past_ms} ms it is expelled", "groups[0].members")
        return self.gone

    def must_end(self):
        """It has gone when its time was over; the others have what it had."""
        if self.goes_after_ms is NEVER:
            return
        left_s = max(0, self.goes_after_ms - (self.wire.now_ms() - self.since_ms)) / 1000
        self.wire.until(self.turn, within=left_s + LATE_S, what=f"{self.what}: the member is expelled")
        self.who.beat(epoch=max(1, self.who.epoch)).must_be_refused(errors.UNKNOWN_MEMBER_ID)
        stay = [member for member in self.beats if member is not self.who]
        if stay:
            reconcile(*stay, partitions=2)
