"""Puts exactly one anomaly into a legal history, at random, and says what must be found and where.

Each function is one anomaly. It changes, drops or adds a few rows and returns its name, topic, partition and the
columns of the row that the check must return (checkers/check.py).
"""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from brokertrial.histories.rows import Batch, Client, Event, Operation, Record
from tests.checkers.group_injections import GROUPS
from tests.checkers.transaction_injections import TRANSACTIONS, committed
from tests.checkers.wounds import SECOND, Expected, Wound

Injection = Callable[[Wound], Expected]
INJECTIONS: dict[str, Injection] = {}


def injection(work: Injection) -> Injection:
    """Registers an anomaly under the function's name."""
    INJECTIONS[work.__name__.replace("_", "-")] = work
    return work


def plain(row: Any) -> bool:
    return row.txn is None and row.derived_from is None


@injection
def duplicate(w: Wound) -> Expected:
    one, end = w.sent(where=plain), 10**6
    w.see(one, offset=end)
    return w.told("duplicate", one, offset_a=one.offset, offset_b=end)


@injection
def inconsistent_offsets(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.see(one, value=w.sent(where=lambda row: row.value != one.value and plain(row)).value)
    return w.told("inconsistent-offsets", one, offset_a=one.offset)


@injection
def offset_reuse(w: Wound) -> Expected:
    one = w.sent(where=plain)
    other = w.sent(where=lambda row: row.partition == one.partition and row.offset != one.offset and plain(row))
    w.change(other, offset=one.offset)
    return w.told("offset-reuse", one, offset_a=one.offset)


@injection
def lost_write(w: Wound) -> Expected:
    one = w.sent(where=plain)
    reach = w.hide(one, "rc")
    return w.told("lost-write", one, offset_a=one.offset, offset_b=reach)


@injection
def unseen(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.hide(one, "rc")
    w.change(one, offset=None)
    return w.told("unseen", one, value_a=one.value)


@injection
def phantom(w: Wound) -> Expected:
    one = w.sent()
    w.see(one, offset=10**6, value=10**12)
    return w.told("phantom", one, offset_a=10**6)


@injection
def poll_skip(w: Wound) -> Expected:
    one = w.sent(where=plain)
    reach = w.hide(one, w.rng.choice("rc"))
    after = next(row for row in w.added if isinstance(row, Record))
    before = w.legal.at(after.stream, (after.position or 0) - 1)
    name = "int-poll-skip" if before.op == after.op else "poll-skip"
    return w.told("poll-skip", one, name, offset_a=one.offset, offset_b=reach)


@injection
def nonmonotonic_poll(w: Wound) -> Expected:
    last = w.one(Record, lambda row: row.offset > 9, side="seen", client="r", topic="t")
    w.see(last, offset=last.offset - 3, value=None, prev=last.offset, position=5)
    return w.told("nonmonotonic-poll", last, offset_a=last.offset, offset_b=last.offset - 3)


@injection
def int_nonmonotonic_poll(w: Wound) -> Expected:
    one = w.sent(where=plain)
    first, back = w.see(one), one.offset - 3
    w.add(structs.replace(first, offset=back, value=None, prev_offset=one.offset, position=1))
    return w.told("nonmonotonic-poll", one, "int-nonmonotonic-poll", offset_b=back, op_a=first.op, op_b=first.op)


@injection
def nonmonotonic_send(w: Wound) -> Expected:
    acked = w.all(Record, side="sent", client="p1", topic="t", outcome="ok")
    told = {(row.partition, row.position): row for row in acked}
    one = w.sent(where=lambda row: plain(row) and (row.partition, row.position + 1) in told, client="p1")
    other = told[one.partition, one.position + 1]
    w.change(one, position=other.position)
    w.change(other, position=one.position)
    return w.told("nonmonotonic-send", one, offset_a=other.offset, offset_b=one.offset)


@injection
def wrong_ack_offset(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.change(one, offset=10**6)
    return w.told("wrong-ack-offset", one, offset_a=10**6, offset_b=one.offset)


@injection
def aborted_read(w: Wound) -> Expected:
    one = w.sent(where=lambda row: row.txn is not None and w.state(row) == "aborted")
    w.see(one, client="c")
    return w.told("aborted-read", one, offset_a=one.offset)


@injection
def precommitted_read(w: Wound) -> Expected:
    one = committed(w)
    at = w.operation(one).call_ns
    w.see(one, client="c", call_ns=at, return_ns=at)
    return w.told("precommitted-read", one, offset_a=one.offset)


@injection
def torn_transaction(w: Wound) -> Expected:
    one = committed(w)
    w.hide(one, "c")
    return w.told("torn-transaction", one, offset_a=one.offset)


def older_answer(w: Wound, *, higher: bool) -> tuple[Any, Any]:
    """An answer that names a commit which others had replaced: of a higher offset than theirs, or of a lower."""
    answers = w.all(Operation, kind="committed")
    pairs = []
    for number, late in enumerate(answers[1:], start=1):
        before = 0 if number == 1 else w.rng.randrange(max(0, number - 4), number)
        old, since = answers[before], [row.committed_offset for row in answers[before + 1 : number + 1]]
        if (higher and old.committed_offset > max(since)) or (not higher and old.committed_offset < min(since)):
            pairs.append((late, old))
    late, old = w.rng.choice(pairs)
    return w.change(late, committed_offset=old.committed_offset, commit_id=old.commit_id), old


@injection
def commit_changed(w: Wound) -> Expected:
    told, old = older_answer(w, higher=True)
    return w.told("commit-changed", told, offset_a=old.committed_offset, op_a=told.op)


@injection
def commit_regression(w: Wound) -> Expected:
    told, old = older_answer(w, higher=False)
    return w.told("commit-changed", told, "commit-regression", offset_a=old.committed_offset, op_a=told.op)


@injection
def commit_order(w: Wound) -> Expected:
    told, _ = older_answer(w, higher=True)
    return w.told("commit-order", told)


PASSED_BEFORE_SENT = "append-order read-from-future"
"""The proof is whichever call told of the furthest end: an append or a read."""


@injection
def append_order(w: Wound) -> Expected:
    one = w.sent(where=plain)
    call = w.operation(one)
    w.change(call, call_ns=w.end, return_ns=w.end + 1)
    return w.told("log-order", one, PASSED_BEFORE_SENT, offset_b=one.offset)


@injection
def read_from_future(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.see(one, call_ns=-2, return_ns=-1)
    return w.told("log-order", one, "read-from-future", offset_b=one.offset, op_b=one.op)


@injection
def torn_batch(w: Wound) -> Expected:
    one = w.sent(where=plain)
    end, place = w.length("t", one.partition), {"topic": "t", "partition": one.partition}
    batch = w.op(kind="send", client=one.client, base_offset=end, count=3, **place)
    asked = w.op(kind="list_offsets", high_watermark=end + 2, **place)
    return w.told("log-order", one, "torn-batch", offset_a=end + 3, offset_b=end + 2, op_a=batch.op, op_b=asked.op)


def shortened(w: Wound) -> Any:
    one = w.one(Operation, lambda row: row.high_watermark > 9, kind="list_offsets", topic="t")
    return w.change(one, high_watermark=3)


@injection
def stale_read(w: Wound) -> Expected:
    one = shortened(w)
    return w.told("stale-read", one, "stale-read end-regression", offset_b=3, op_b=one.op)


@injection
def log_recency(w: Wound) -> Expected:
    one = shortened(w)
    return w.told("log-recency", one, "stale-read end-regression", offset_b=3, op_b=one.op)


@injection
def divergence(w: Wound) -> Expected:
    one = w.sent()
    w.add(structs.replace(w.batch(one), producer_id=99, node=2))
    return w.told("divergence", one, offset_a=one.offset, offset_b=one.offset)


def chained(w: Wound) -> tuple[Batch, Batch]:
    """Two batches of one producer that follow each other in a partition."""
    one = w.sent(where=plain)
    batch = w.batch(one)
    mine = [row for row in w.all(Batch, topic=batch.topic, partition=batch.partition, seen_at="final", control=None)
            if row.producer_id == batch.producer_id and row.base_offset > batch.base_offset]  # fmt: skip
    return batch, min(mine, key=lambda row: row.base_offset)


@injection
def sequence_gap(w: Wound) -> Expected:
    before, after = chained(w)
    w.change(after, base_sequence=after.base_sequence + 5)
    return w.told("sequence-order", after, "sequence-gap", offset_a=before.base_offset, offset_b=after.base_offset)


@injection
def sequence_repeat(w: Wound) -> Expected:
    before, after = chained(w)
    w.change(after, base_sequence=before.base_sequence)
    return w.told("sequence-order", after, "sequence-repeat", offset_a=before.base_offset, offset_b=after.base_offset)


@injection
def zombie_append(w: Wound) -> Expected:
    before, after = chained(w)
    w.change(before, producer_epoch=1, base_sequence=0)
    return w.told("sequence-order", after, "zombie-append", offset_a=before.base_offset, offset_b=after.base_offset)


@injection
def dedup_ack(w: Wound) -> Expected:
    one = w.one(Batch, seen_at="produce", error=0, topic="t")
    w.add(structs.replace(one, base_offset=10**6, last_offset=10**6))
    return w.told("dedup-ack", one, offset_a=one.base_offset, offset_b=10**6)


def asked(w: Wound, **fields: int) -> Any:
    """A late answer about a partition, changed."""
    one = w.one(Operation, lambda row: row.high_watermark > 20, kind="fetch", client="asker", topic="t")
    return w.change(one, **fields)


@injection
def high_watermark_regression(w: Wound) -> Expected:
    one = asked(w, high_watermark=1, last_stable=1)
    return w.told("high-watermark-regression", one, offset_b=1, op_b=one.op)


@injection
def lso_regression(w: Wound) -> Expected:
    one = asked(w, last_stable=1)
    return w.told("lso-regression", one, offset_b=1, op_b=one.op)


@injection
def lso_above_high_watermark(w: Wound) -> Expected:
    one = asked(w, last_stable=10**6)
    return w.told("lso-regression", one, "lso-above-high-watermark", offset_a=10**6)


@injection
def log_start_regression(w: Wound) -> Expected:
    partition = w.rng.randrange(4)
    later = w.all(Operation, kind="fetch", client="asker", topic="t", partition=partition)
    one, after = later[-3], later[-1]
    w.change(one, log_start=2)
    return w.told("log-start-regression", after, offset_a=2, offset_b=0, op_a=one.op, op_b=after.op)


@injection
def leader_epoch_regression(w: Wound) -> Expected:
    one = w.sent()
    w.change(w.batch(one), leader_epoch=0)
    return w.told("leader-epoch-regression", one, offset_b=one.offset)


@injection
def coordinator_epoch_regression(w: Wound) -> Expected:
    marks = [row for row in w.all(Batch, topic="t", seen_at="final") if row.control is not None]
    first = {row.partition: row.base_offset for row in reversed(marks)}
    one = w.rng.choice([row for row in marks if row.base_offset > first[row.partition]])
    w.change(one, coordinator_epoch=1)
    return w.told("coordinator-epoch-regression", one, offset_b=one.base_offset)


for work in (*GROUPS, *TRANSACTIONS):
    injection(work)


@injection
def lost_copy(w: Wound) -> Expected:
    copy = w.sent("out")
    w.hide(copy, "rc")
    source = w.all(Record, side="sent", value=copy.derived_from)[0]
    return w.told("exactly-once", source, "lost-copy", offset_a=source.offset)


@injection
def doubled_copy(w: Wound) -> Expected:
    copy = w.sent("out")
    other = w.sent("out", where=lambda row: row.value != copy.value)
    w.change(other, derived_from=copy.derived_from)
    source = w.all(Record, side="sent", value=copy.derived_from)[0]
    return w.told("exactly-once", source, "doubled-copy", offset_a=source.offset)


@injection
def at_least_once(w: Wound) -> Expected:
    copy = w.sent("to")
    w.hide(copy, "rc")
    source = w.all(Record, side="sent", value=copy.derived_from)[0]
    return w.told("at-least-once", source, offset_a=source.offset)


@injection
def early_deletion(w: Wound) -> Expected:
    one = w.sent("d", where=lambda row: row.offset > w.legal.cut)
    at = w.operation(one).return_ns or 0
    w.op(kind="list_offsets", topic="d", partition=0, log_start=one.offset + 1, call_ns=at, return_ns=at + 1)
    return w.told("early-deletion", one, offset_b=one.offset + 1)


@injection
def lost_latest(w: Wound) -> Expected:
    one = w.sent("k", where=lambda row: ("k", 0, row.offset) in w.legal.latest)
    w.hide(one, "r")
    return w.told("lost-latest", one, offset_a=one.offset)


@injection
def cleaned_early(w: Wound) -> Expected:
    one = w.sent("k", where=lambda row: row.offset + 1 < w.length("k", 0))
    after = next(row for row in w.all(Record, side="sent", topic="k") if row.offset == one.offset + 1)
    at = w.operation(one).call_ns
    w.see(after, prev=one.offset - 1, call_ns=at, return_ns=at + 9)
    return w.told("cleaned-early", one, offset_a=one.offset)


@injection
def moved_record(w: Wound) -> Expected:
    one = w.sent("k", where=lambda row: ("k", 0, row.offset) in w.legal.latest)
    w.see(one, offset=10**6)
    return w.told("moved-record", one, offset_a=one.offset, offset_b=10**6)


@injection
def no_progress(w: Wound) -> Expected:
    w.add(Event(kind="window-begin", at_ns=1, window="w1"))
    w.add(Event(kind="window-healed", at_ns=w.end - 1, window="w1"))
    w.add(Client(client="fresh", library="wire", acks=-1))
    partition = w.rng.randrange(4)
    late = {"return_ns": w.end + 61 * SECOND, "outcome": "info"}
    one = w.op(kind="send", client="fresh", topic="t", partition=partition, **late)
    return w.told("no-progress", one, op_a=one.op)
