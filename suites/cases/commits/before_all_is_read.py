"""Coordinators that are asked as soon as they are back, with much to be read before they know the answer."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._much_committed import PARTITIONS, MuchCommitted
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.coordinated import TRANSACTION
from brokertrial.suites.probe.core import COORDINATOR_BUSY

TIMES, MORE, IDS = 40, 10, 24
LONG_MS, WITHIN_S = 300_000, 30


@case(
    "commits/asked-before-all-is-read",
    guarantees=["cmt-002", "grp-016", "txn-007"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0, "InitProducerId": 0},
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["Y45"],
)
def no_client_is_answered_from_half_of_a_log(wire, topic_of, rng, nodes):
    """A coordinator that has much to read when it starts MUST refuse requests until it has read that (14-16), or answer
    as before: with the offsets that were committed last, to members in their generation, and with the next epoch of a
    transactional id.

    Six groups of 48 partitions, each committed 40 times and 10 times more after each start; one more has a member. All
    are asked at once, in a drawn order, after a stop, a kill and another stop.
    """
    committed, others = MuchCommitted(wire, topic_of(partitions=PARTITIONS)), Others(wire)
    committed.commit(TIMES)
    for act in rng.sample([nodes.stop_and_start, nodes.crash, nodes.stop_and_start], 3):
        act(nodes.of_group(others.member.group))
        asked = [partial(committed.must_be_returned, group) for group in committed.times]
        asked += [partial(others.must_be_next, name) for name in others.ids]
        asked.append(partial(others.must_have_their_member))
        for look in rng.sample(asked, len(asked)):
            look()
        committed.commit(MORE)


class Others:
    """What else coordinators know: the epochs of transactional ids, and one member of a group."""

    def __init__(self, wire):
        self.wire = wire
        self.ids = {name: wire.init_producer_id(name) for name in (wire.name(f"x{n}") for n in range(IDS))}
        self.member = wire.member(
            wire.name("members"),
            "a",
            session_timeout_ms=LONG_MS,
            rebalance_timeout_ms=LONG_MS,
            protocols=[("p", b"")],
        )
        rebalance(self.member, assignments=[b"its own"])

    def must_have_their_member(self):
        self.member.heartbeat().must_succeed()

    def must_be_next(self, name):
        """What is refused for a moment may have been written all the same, so that the epoch rises once more."""
        before, asked = self.ids[name], []

        def served():
            self.wire.forget_coordinator(name, TRANSACTION)
            asked.append(self.wire.init_producer_id(name, retry=False))
            return asked[-1].error not in COORDINATOR_BUSY

        self.wire.until(served, within=WITHIN_S, what="the coordinator has read what it must")
        now = asked[-1].must_succeed()
        now.must_have("producer_id", before.producer_id)
        risen = now.epoch - before.epoch
        said = f"its epoch is {now.epoch}, asked for {len(asked)} times; it was {before.epoch}"
        now.must(1 <= risen <= len(asked), said, "producer_epoch")
        self.ids[name] = now
