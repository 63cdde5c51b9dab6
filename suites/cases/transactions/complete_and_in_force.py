"""Offsets of many groups in transactions that end at the same moment: what is in force once they are complete."""

from itertools import count, islice

from brokertrial.suites.case import case
from brokertrial.suites.probe.at_once import at_once
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.wire.messages import request

PRODUCERS, GROUPS, PARTITIONS, TURNS, LOOKS, NAMES = 8, 24, 100, 4, 20, 1_000
NONE, PATIENT_MS, WITHIN_S = -1, 60_000, 20
OFFSETS = {"AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 8, "DescribeTransactions": 0}


@case(
    "transactions/in-force-when-complete",
    guarantees=["txn-012", "txn-013"],
    apis=OFFSETS,
    needs=["partitions"],
    detects=["B209"],
)
def offsets_are_in_force_when_their_transaction_is_complete(wire, topic_of, rng):
    """Once a transaction is complete, as DescribeTransactions shows, OffsetFetch MUST give the offsets that it
    committed, and those before where it was aborted, however many transactions end at that moment.

    Four times eight producers send a hundred offsets of 24 groups each, and end at once. Right behind the end each is
    asked for twenty times, and behind each answer its groups, on the same connection: it is served in order.
    """
    topic = topic_of(partitions=PARTITIONS, replicas=1)
    names = islice((wire.name("g") for _ in count()), NAMES)
    copiers = [Copier(wire, topic, rng, number, names) for number in range(PRODUCERS)]
    for turn in range(TURNS):
        for answer in at_once(wire, [ask for one in copiers for ask in one.staged(turn)]):
            answer.must_succeed()
        kept = [turn == 0 or rng.random() < 0.7 for _ in copiers]
        with wire.together():
            ends = [one.end(commit) for one, commit in zip(copiers, kept, strict=True)]
            looks = [(one, one.look()) for _ in range(LOOKS) for one in copiers]
        for one, commit, answer in zip(copiers, kept, ends, strict=True):
            one.ended(answer, turn if commit else one.force)
        for one, seen in looks:
            one.must_be_in_force(*seen)
        for one in copiers:
            wire.until(
                lambda one=one: one.must_be_in_force(*one.look()), within=WITHIN_S, what="the transaction is complete"
            )


class Copier:
    """A producer, groups that its coordinator coordinates too, and the offset that is in force in them."""

    def __init__(self, wire, topic, rng, number, names):
        self.wire, self.topic, self.rng, self.force = wire, topic, rng, NONE
        self.producer = wire.producer(wire.name("x"), timeout_ms=PATIENT_MS, via=f"copier {number}")
        self.node = wire.coordinator(self.producer.transactional_id, 1)
        self.groups = list(islice((name for name in names if wire.coordinator(name) == self.node), GROUPS))
        if len(self.groups) < GROUPS:
            wire.not_applicable(f"of {NAMES} groups too few are coordinated by node {self.node}, as its transactions")

    def staged(self, offset):
        """The requests that add this offset of each partition, for each group, to its transaction."""
        offsets = {(self.topic, partition): offset for partition in range(PARTITIONS)}
        return [self.producer.prepared_offsets(group, offsets) for group in self.groups]

    def end(self, commit):
        return self.producer.commit(wait=False) if commit else self.producer.abort(wait=False)

    def ended(self, answer, force):
        answer.must_succeed()
        self.producer.ended(answer)
        self.force = force

    def look(self):
        """The state of the transaction, and right behind it two offsets of each of its groups."""
        how = {"to": self.node, "via": self.producer.via, "wait": False}
        named = [{"name": self.topic, "partition_indexes": sorted(self.rng.sample(range(PARTITIONS), 2))}]
        transaction = request("DescribeTransactions", transactional_ids=[self.producer.transactional_id])
        offsets = request("OffsetFetch", groups=[{"group_id": group, "topics": named} for group in self.groups])
        described = self.wire.ask(transaction, **how)
        return described, self.wire.ask(offsets, version=min(9, self.wire.versions("OffsetFetch")[-1]), **how)

    def must_be_in_force(self, described, found):
        """Whether the transaction was complete: then the offsets behind must be those in force."""
        if any(answer.error in COORDINATOR_BUSY for answer in (described, found)):
            return False
        state = described.must_succeed().struct.transaction_states[0].transaction_state
        if not state.startswith("Complete"):
            return False
        offsets = [
            part.committed_offset
            for group in found.must_succeed().struct.groups
            for row in group.topics
            for part in row.partitions
        ]
        other = [offset for offset in offsets if offset != self.force]
        held = f"the transaction is {state}, and {len(other)} of {len(offsets)} offsets are {sorted(set(other))}"
        found.must(not other and offsets, f"{held}; {self.force} must be in force", "groups")
        return True
