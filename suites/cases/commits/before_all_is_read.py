"""Coordinators that are asked as soon as they are back, with much to be read before they know the answer."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write

GROUPS, PARTITIONS, TIMES, MORE, IDS = 6, 48, 40, 10, 24
LONG_MS = 60_000


@case(
    "commits/asked-before-all-is-read",
    guarantees=["cmt-002", "grp-016", "txn-007"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0, "InitProducerId": 0},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["Y45"],
)
def nobody_is_answered_from_half_of_a_log(wire, topic_of, rng, nodes):
    """A coordinator that has much to read when it starts MUST refuse what it is asked until it has read that (14-16),
    or answer as before: with the offsets that were committed last, to members in their generation, and with the next
    epoch of a transactional id.

    Six groups of 48 partitions, each committed 40 times and 10 times more after each start; one more has a member. All
    are asked at once, in a drawn order, after a stop, a kill and another stop.
    """
    one = MuchCommitted(wire, topic_of(partitions=PARTITIONS))
    one.commit(TIMES)
    for act in rng.sample([nodes.stop_and_start, nodes.crash, nodes.stop_and_start], 3):
        act(nodes.of_group(one.member.group))
        asked = [*one.groups, *one.ids, one.member]
        for each in rng.sample(asked, len(asked)):
            one.must_be_known(each)
        one.commit(MORE)


class MuchCommitted:
    """What a coordinator must know: how often each group committed, the epoch of each id, and one member."""

    def __init__(self, wire, topic):
        self.wire, self.topic = wire, topic
        self.ids = {name: wire.init_producer_id(name) for name in (wire.name(f"x{n}") for n in range(IDS))}
        self.groups = {wire.name(f"g{number}"): 0 for number in range(GROUPS)}
        self.member = wire.member(
            wire.name("members"),
            "a",
            session_timeout_ms=LONG_MS,
            rebalance_timeout_ms=LONG_MS,
            protocols=[("p", b"")],
        )
        rebalance(self.member, assignments=[b"its own"])

    def commit(self, times):
        for _ in range(times):
            for group in self.groups:
                self.groups[group] += 1
                self.wire.commit_all(group, self._offsets(group)).must_succeed()

    def must_be_known(self, each):
        if each is self.member:
            self.member.heartbeat().must_succeed()
        elif each in self.ids:
            self._must_be_next(each)
        else:
            self._must_be_told(each)

    def _offsets(self, group):
        return {(self.topic, index): 1_000 * self.groups[group] + index for index in range(PARTITIONS)}

    def _must_be_told(self, group):
        make_coordinator_write(self.wire, group)
        told = self.wire.committed_all(group, [(self.topic, index) for index in range(PARTITIONS)]).must_succeed()
        found = {index: offset for (_, index), offset in told.offsets.items()}
        due = {index: offset for (_, index), offset in self._offsets(group).items()}
        wrong = [index for index, offset in due.items() if found.get(index) != offset]
        one = next(iter(wrong), 0)
        told.must(
            not wrong,
            f"{len(wrong)} partitions have another offset than was committed last: "
            f"partition {one} has {found.get(one)}; it must have {due[one]}",
        )

    def _must_be_next(self, name):
        before, now = self.ids[name].struct, self.wire.init_producer_id(name).must_succeed()
        now.must_have("producer_id", before.producer_id)
        now.must_have("producer_epoch", before.producer_epoch + 1)
        self.ids[name] = now
