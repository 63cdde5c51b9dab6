"""Offsets of many groups in transactions that end at the same moment: what is in force once they are complete."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.at_once import at_once
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.wire.messages import request

PRODUCERS, GROUPS, PARTITIONS, TURNS, LOOKS = 8, 24, 100, 4, 20
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
    producers = [wire.producer(wire.name("x"), timeout_ms=PATIENT_MS, via=f"copier {n}") for n in range(PRODUCERS)]
    groups = [_coordinated_with(wire, one) for one in producers]
    force = [NONE] * PRODUCERS
    for turn in range(TURNS):
        offsets, asks = {(topic, part): turn for part in range(PARTITIONS)}, []
        for one, own in zip(producers, groups, strict=True):
            asks += [one.prepared_offsets(group, offsets) for group in own]
        for answer in at_once(wire, asks):
            answer.must_succeed()
        commits = [turn == 0 or rng.random() < 0.7 for _ in producers]
        with wire.together():
            ends = [
                one.commit(wait=False) if kept else one.abort(wait=False)
                for one, kept in zip(producers, commits, strict=True)
            ]
            looks = [
                (number, *_look(wire, one, groups[number], topic, rng))
                for _ in range(LOOKS)
                for number, one in enumerate(producers)
            ]
        for number, (one, answer) in enumerate(zip(producers, ends, strict=True)):
            answer.must_succeed()
            one.ended(answer)
            force[number] = turn if commits[number] else force[number]
        for number, *answers in looks:
            _must_be_in_force(*answers, force[number])  # type: ignore[call-arg]
        for number, one in enumerate(producers):
            wire.until(
                lambda one=one, number=number: _must_be_in_force(  # type: ignore[call-arg]
                    *_look(wire, one, groups[number], topic, rng), force[number]
                ),
                within=WITHIN_S,
                what="the transaction is complete",
            )


def _coordinated_with(wire, producer):
    """Groups that the coordinator of the producer coordinates too."""
    node, found = wire.coordinator(producer.transactional_id, 1), []  # type: ignore[var-annotated]
    while len(found) < GROUPS:
        group = wire.name("g")
        if wire.coordinator(group) == node:
            found.append(group)
    return found


def _look(wire, producer, groups, topic, rng):
    """The state of the transaction, and right behind it two offsets of each of its groups."""
    how = {"to": wire.coordinator(producer.transactional_id, 1), "via": producer.via, "wait": False}
    named = [{"name": topic, "partition_indexes": sorted(rng.sample(range(PARTITIONS), 2))}]
    described = wire.ask(request("DescribeTransactions", transactional_ids=[producer.transactional_id]), **how)
    found = wire.ask(
        request("OffsetFetch", groups=[{"group_id": group, "topics": named} for group in groups]),
        version=min(9, wire.versions("OffsetFetch")[-1]),
        **how,
    )
    return described, found


def _must_be_in_force(described, found, wanted):
    """Whether the transaction was complete: then the offsets behind must be these."""
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
    other = [offset for offset in offsets if offset != wanted]
    held = f"the transaction is {state}, and {len(other)} of {len(offsets)} offsets are {sorted(set(other))}"
    found.must(not other and offsets, f"{held}; {wanted} must be in force", "groups")
    return True
