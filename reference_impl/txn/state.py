"""One transactional id as a value: what a request makes of it. No clock, no log, no sockets (KIP-98, KIP-360).

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                  \\-> PrepareAbort  -> CompleteAbort  ->

Each function returns a `PathStep`. If its transaction is another than the one given, that one must be in the log before
anyone is answered: Prepare in the log is the point of no return. A transaction in a Prepare state then needs its
markers sent, once more after every restart, until `complete`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.wire import errors

if TYPE_CHECKING:
    from brokertrial.reference_impl.control.image import TopicImage
    from brokertrial.reference_impl.settings.config import BrokerConfig

LAST_EPOCH = 32_766
"""A producer id whose epoch is this high is used up: epoch 32,767 is kept for the last fencing."""

NONE = -1
TopicPartition = tuple[str, int]


class TransactionState(enum.IntEnum):
    """The states, numbered as in Kafka's transaction log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5

    @property
    def shown(self) -> str:
        """The name in ListTransactions and DescribeTransactions."""
        return "".join(word.capitalize() for word in self.name.split("_"))


@dataclass(frozen=True, slots=True)
class Transaction:
    """All that the coordinator knows of a transactional id."""

    transactional_id: str
    producer_id: int
    timeout_ms: int
    epoch: int = NONE
    last_epoch: int = NONE
    previous_producer_id: int = NONE
    next_producer_id: int = NONE
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = NONE
    updated_ms: int = NONE
    client_version: int = 0
    """The transaction.version that the last EndTxn spoke: 2 means that the epoch rises with every transaction."""
    being_written: bool = False
    """Whether a change of it is on its way to the log; only a planted bug is ever asked meanwhile."""

    @property
    def ending(self) -> bool:
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def exhausted(self) -> bool:
        return self.epoch >= LAST_EPOCH - 256 * bugs.on("C12")


@dataclass(frozen=True, slots=True)
class Transition:
    """What became of a request: the transaction as it is now, and the code to answer."""

    transaction: Transaction
    error: int = errors.NONE


def _first_epoch() -> int:
    return 2 * bugs.on("C13")


def init_producer(
    t: Transaction, timeout_ms: int, expected: tuple[int, int] | None, now: int, new_id: Callable[[], int]
) -> Transition:
    """Fences earlier producers of this id by raising the epoch; an open transaction is aborted first (51: try again).

    `expected` is the id and epoch that a producer wants to go on from (KIP-360): a stale belief is refused.
    """
    if expected is not None and not _continues(t, *expected):
        return Transition(t, errors.PRODUCER_FENCED)
    ending = t.ending and not (expected and bugs.on("B303"))
    if ending or (expected and expected[1] == t.epoch and t.state is TransactionState.ONGOING and bugs.on("B179")):
        return Transition(t, errors.CONCURRENT_TRANSACTIONS)
    if t.state is TransactionState.ONGOING:
        return Transition(fenced(t, now), errors.CONCURRENT_TRANSACTIONS)
    kept_ms = t.timeout_ms if bugs.on("C05") else timeout_ms
    fresh = replace(
        t, timeout_ms=kept_ms, state=TransactionState.EMPTY, partitions=frozenset(), started_ms=NONE, updated_ms=now,
        client_version=0, previous_producer_id=t.producer_id,
    )  # fmt: skip
    if t.exhausted and (expected is None or expected[1] == t.epoch or _fenced_last(t, expected[1])):
        last = expected[1] if expected is not None else NONE
        return Transition(replace(fresh, producer_id=new_id(), epoch=_first_epoch(), last_epoch=last))
    if expected is None:
        return Transition(replace(fresh, epoch=t.epoch + 1, last_epoch=NONE))
    if t.epoch == NONE or expected[1] == t.epoch:
        return Transition(replace(fresh, epoch=t.epoch + 1, last_epoch=t.epoch))
    if expected[1] == t.last_epoch:
        return Transition(replace(fresh, epoch=t.epoch + 1) if bugs.on("Q03") else fresh)
    return Transition(t, errors.PRODUCER_FENCED)


def add_partitions(
    t: Transaction, producer_id: int, epoch: int, partitions: Collection[TopicPartition], now: int
) -> Transition:
    """Takes partitions into the transaction, which begins with the first of them."""
    if refusal := _refusal(t, producer_id, epoch):
        return Transition(t, refusal)
    if t.ending and not (t.client_version >= 2 and bugs.on("B159")):
        return Transition(t, errors.CONCURRENT_TRANSACTIONS)
    if t.state is TransactionState.ONGOING and t.partitions.issuperset(partitions):
        return Transition(t)
    started = t.started_ms if t.state is TransactionState.ONGOING and not bugs.on("S12") else now
    if t.started_ms != NONE and bugs.on("C06"):
        started = t.started_ms
    together = t.partitions.union(partitions) if t.state is TransactionState.ONGOING else frozenset(partitions)
    return Transition(
        replace(t, state=TransactionState.ONGOING, partitions=together, started_ms=started, updated_ms=now)
    )


def verify(
    t: Transaction, producer_id: int, epoch: int, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """Whether each partition belongs to the open transaction: asked by a leader before a first append (KIP-890)."""
    refusal = _refusal(t, producer_id, epoch)
    if not refusal and t.ending:
        refusal = errors.CONCURRENT_TRANSACTIONS
    if refusal:
        return dict.fromkeys(partitions, refusal)
    return {p: errors.NONE if p in t.partitions else errors.TRANSACTION_ABORTABLE for p in partitions}


def end(t: Transaction, producer_id: int, epoch: int, commit: bool, now: int) -> Transition:
    """The producer's decision in the classic protocol. Saying it again is harmless, saying the opposite is refused."""
    if refusal := _refusal(t, producer_id, epoch):
        return Transition(t, refusal)
    wanted = (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if commit
        else (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    )
    if t.state is TransactionState.ONGOING:
        return Transition(replace(t, state=wanted[0], updated_ms=now, client_version=0))
    if t.state not in wanted or (commit and not t.ending and bugs.on("Z50")):
        return Transition(t, errors.INVALID_TXN_STATE)
    return Transition(t, errors.CONCURRENT_TRANSACTIONS if t.ending else errors.NONE)


def fenced(t: Transaction, now: int) -> Transaction:
    """The coordinator aborts on its own: the epoch rises first, so that the old producer cannot go on."""
    last = t.last_epoch if bugs.on("Z09") else t.epoch
    return replace(
        t, state=TransactionState.PREPARE_ABORT, epoch=t.epoch + 1, last_epoch=last, updated_ms=now, client_version=0
    )


def overdue(t: Transaction, now: int) -> bool:
    """True for an open transaction that has lived longer than its producer allowed."""
    since = t.updated_ms if bugs.on("C08") else t.started_ms
    if bugs.on("Z23") and {topic for topic, _ in t.partitions} == {"__consumer_offsets"}:
        return False
    return t.state is TransactionState.ONGOING and since + t.timeout_ms < now and not bugs.on("M40g")


def unused(t: Transaction, now: int, config: BrokerConfig) -> bool:
    """True for an id that nothing has happened to for its time; never while it has a transaction."""
    keep_ms: int = config["transactional.id.expiration.ms"]
    if bugs.on("B145"):
        keep_ms = min(keep_ms, config["producer.id.expiration.ms"])
    rests = t.state not in (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    if bugs.on("D76"):
        keep_ms //= 2
    return rests and t.updated_ms <= now - keep_ms and not bugs.on("D68")


def has_none_to_lead(t: Transaction, topic_of: Callable[[str], TopicImage | None]) -> bool:
    """Whether one of its partitions has no leader, which keeps only a planted bug from aborting it."""
    topics = ((topic_of(name), index) for name, index in t.partitions)
    return any(topic is not None and topic.placements[index].leader < 0 for topic, index in topics)


def taken_over(found: dict[str, Transaction], now: int) -> dict[str, Transaction]:
    """What a coordinator has read of its log: as it is there, but for planted bugs."""
    if bugs.on("M18e"):
        return {}
    if bugs.on("B339"):
        return {
            name: t if t.state is TransactionState.ONGOING else replace(t, updated_ms=now) for name, t in found.items()
        }
    return found


def complete(t: Transaction, now: int) -> Transaction:
    """All markers are written: the id may begin its next transaction."""
    done = (
        TransactionState.COMPLETE_COMMIT
        if t.state is TransactionState.PREPARE_COMMIT
        else TransactionState.COMPLETE_ABORT
    )
    rotated = t.client_version >= 2 and t.next_producer_id != NONE
    return replace(
        t,
        state=done,
        partitions=t.partitions if bugs.on("Q01") else frozenset(),
        updated_ms=now,
        previous_producer_id=t.producer_id if t.client_version >= 2 else t.previous_producer_id,
        last_epoch=t.epoch if rotated else t.last_epoch,
        producer_id=t.next_producer_id if rotated else t.producer_id,
        epoch=_first_epoch() if rotated else t.epoch,
        next_producer_id=NONE,
        being_written=False,
    )


def unwritten(after: Transaction, known: Mapping[str, Transaction]) -> dict[str, Transaction]:
    """An id as it is known until a change of it is in the log, by its name."""
    name = after.transactional_id
    before = known.get(name) or Transaction(name, after.producer_id, after.timeout_ms)
    return {name: replace(before, being_written=True)}


def _refusal(t: Transaction, producer_id: int, epoch: int) -> int:
    if t.producer_id != producer_id:
        return errors.INVALID_PRODUCER_ID_MAPPING
    return errors.NONE if t.epoch == epoch else errors.PRODUCER_FENCED


def _fenced_last(t: Transaction, epoch: int) -> bool:
    """Whether its transaction was aborted in the last epoch: that made one more, which no producer may have."""
    return t.epoch > LAST_EPOCH and epoch == t.last_epoch


def _continues(t: Transaction, producer_id: int, epoch: int) -> bool:
    if (t.epoch == NONE and not bugs.on("D98")) or producer_id == t.producer_id:
        return True
    return producer_id == t.previous_producer_id and epoch >= LAST_EPOCH
