"""A KIP-848 member that must give up more as soon as it has given back what it was asked for (KIP-848)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._living import EARLY
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

PARTITIONS, OTHERS = 12, 3
TIMEOUT_MS, HOLDS_MS, BEATS_S, WITHIN_S = 6_000, 4_000, 0.5, 15


@case(
    "groups/consumer-time-for-each-revocation",
    guarantees=["g848-006", "g848-012"],
    since="4.0 (KIP-848)",
    apis={"ConsumerGroupHeartbeat": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B335"],
)
def each_revocation_has_the_whole_timeout(wire, topic_of):
    """A member MUST have its whole rebalance timeout each time that it is asked to give partitions up, also where it is
    asked for more in the answer to the heartbeat that gave the former back: it MUST NOT be expelled before.

    Three members come one after the other while the first holds on, for two thirds of its timeout each time.
    """
    topic, group = topic_of(partitions=PARTITIONS), wire.name("g")
    first = _Reluctant(wire, group, topic)
    first.comes()
    for _ in range(OTHERS - 1):
        first.another_comes()
        first.holds_on()
        first.gives_back()
    first.holds_on()
    first.member.held = frozenset()
    reconcile(first.member, *first.others, partitions=PARTITIONS)


class _Reluctant:
    """The first member of a group, which keeps what it is asked for as long as it may, and those that come after it."""

    def __init__(self, wire, group, topic):
        self.wire = wire
        self.others = []
        self.new = lambda: ConsumerGroupMember(wire, group, topic, timeout_ms=TIMEOUT_MS)
        self.member = self.new()
        self.asked_ms = 0

    def comes(self):
        self.member.beat().must_succeed()
        reconcile(self.member, partitions=PARTITIONS)
        self.another_comes()
        self._until_asked()

    def another_comes(self):
        self.others.append(self.new())
        self.others[-1].beat().must_succeed()

    def gives_back(self):
        self.member.held = frozenset()
        self._until_asked()

    def _until_asked(self):
        """Its heartbeats go on until one of them asks for partitions."""
        had = self.member.owned

        def is_asked():
            self.asked_ms = self.wire.now_ms()
            self.member.beat().must_succeed()
            return self.member.owned < had

        self.wire.until(is_asked, within=WITHIN_S, what="the first member is asked to give up partitions")
        self.member.held = had

    def holds_on(self):
        while self.wire.now_ms() < self.asked_ms + HOLDS_MS:
            self.wire.rest(BEATS_S)
            for other in self.others:
                other.beat().must_succeed()
            answer = self.member.beat()
            late_ms = self.wire.now_ms() - self.asked_ms
            if late_ms > TIMEOUT_MS * EARLY:
                self.wire.unclear(f"{late_ms} ms went by, which must be less than {TIMEOUT_MS}", "slow-target")
            said = f"{late_ms} ms after it was asked its heartbeat is answered {errors.name(answer.error)}"
            answer.must(not answer.error, said, "error_code")
