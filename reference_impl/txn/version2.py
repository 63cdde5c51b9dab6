"""transaction.version 2 (KIP-890): each EndTxn raises the epoch, so nothing late can join the next transaction.

The producer is told its new epoch with the answer. A retry is recognised by the epoch that it was sent under: one
below the present one, whoever raised that. When epochs run out, the transaction completes into a new producer id,
epoch 0. Where the coordinator has fenced the last epoch, no epoch is left to tell: the end is refused, and the producer
begins anew.

    EndTxn(epoch 4) -> PrepareCommit(5) -> CompleteCommit(5)      the answer says 5
    EndTxn(epoch 4) again, the answer was lost                    0, and says 5
    EndTxn(epoch 5, abort): nothing was begun                     legal: an empty transaction may be aborted
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.txn.state import LAST_EPOCH, NONE, Transaction, TransactionState, Transition
from brokertrial.wire import errors

_VERSION = 2


def end(t: Transaction, producer_id: int, epoch: int, commit: bool, now: int, new_id: Callable[[], int]) -> Transition:
    """The producer's decision, with a new epoch for its next transaction."""
    overflowed = t.previous_producer_id == producer_id and epoch == LAST_EPOCH and t.epoch == 0
    bumped = t.epoch == epoch + 1 and (epoch == t.last_epoch or not bugs.on("B118"))
    if t.producer_id != producer_id and not overflowed:
        return Transition(t, errors.INVALID_PRODUCER_ID_MAPPING)
    fenced_in_the_last = t.epoch > LAST_EPOCH and t.next_producer_id == NONE and not bugs.on("K16")
    in_the_classic_protocol = t.client_version < _VERSION and t.epoch == epoch  # which leaves the epoch as it was
    if fenced_in_the_last or not (
        bumped or in_the_classic_protocol if t.ending else t.epoch == epoch or (_complete(t) and (bumped or overflowed))
    ):
        return Transition(t, errors.PRODUCER_FENCED)
    if t.state is TransactionState.ONGOING:
        return Transition(_prepared(t, commit, now, new_id))
    if t.ending:
        same = commit == (t.state is TransactionState.PREPARE_COMMIT)
        return Transition(t, errors.CONCURRENT_TRANSACTIONS if same else errors.INVALID_TXN_STATE)
    if bumped or overflowed:
        same = commit == (t.state is TransactionState.COMPLETE_COMMIT)
        return Transition(t, errors.NONE if same else errors.INVALID_TXN_STATE)
    if t.state is TransactionState.EMPTY and commit and bugs.on("J13"):
        return Transition(t)
    if commit or (t.state is TransactionState.EMPTY and bugs.on("Z10")):
        return Transition(t, errors.INVALID_TXN_STATE)
    if _complete(t) and bugs.on("Z58"):
        return Transition(t)
    return Transition(replace(_prepared(t, commit, now, new_id), started_ms=now))


def next_incarnation(t: Transaction) -> tuple[int, int]:
    """The id and epoch of this producer's next transaction, as EndTxn tells it."""
    used_up = t.next_producer_id != NONE and not bugs.on("Z49")
    return (t.next_producer_id, 0) if used_up else (t.producer_id, t.epoch)


def _prepared(t: Transaction, commit: bool, now: int, new_id: Callable[[], int]) -> Transaction:
    return replace(
        t,
        state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        epoch=t.epoch + 1,
        last_epoch=t.epoch,
        next_producer_id=new_id() if t.exhausted else NONE,
        updated_ms=now,
        client_version=_VERSION,
    )


def _complete(t: Transaction) -> bool:
    return t.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
