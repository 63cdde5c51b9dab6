"""Jepsen's definitions word by word, as loops over a list of operations and arrays that are as long as the log."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tests.checkers.oracle.facts import Facts

JepsenRow = dict[str, Any]
Pair = tuple[int | None, Any]


class Rules(NamedTuple):
    """What is assumed of every client."""

    durable: bool = True
    idempotent: bool = True
    committed_only: bool = True
    subscribes: bool = False


class JepsenOp(NamedTuple):
    """One completed operation: what it sent and polled of each key, as (offset, value) pairs in its order."""

    op: int
    process: str
    type: str
    f: str
    sends: dict[str, list[Pair]]
    reads: dict[str, list[Pair]]
    keys: frozenset[str] = frozenset()
    rebalanced: frozenset[str] = frozenset()


class JepsenHistory:
    """A history with the few notions that all definitions use."""

    def __init__(self, ops: Sequence[JepsenOp], rules: Rules) -> None:
        self.ops = sorted(ops)
        self.rules = rules
        self.keys = sorted({key for op in ops for key in (*op.sends, *op.reads)})
        self.read_ok = {key: self._values(key, "reads", "ok") for key in self.keys}
        self.failed = {key: self._values(key, "sends", "fail") for key in self.keys}
        self.logs = {key: self._log(key) for key in self.keys}
        self.dense = {key: sorted(self.logs[key]) for key in self.keys}
        self.order = {key: [min(self.logs[key][offset]) for offset in self.dense[key]] for key in self.keys}

    def _values(self, key: str, side: str, outcome: str) -> set[Any]:
        return {value for op in self.ops if op.type == outcome for _, value in getattr(op, side).get(key, ())}

    def committed(self, op: JepsenOp) -> bool:
        """Acknowledged, or unknown with a value of its own that a successful poll showed."""
        own = [(key, value) for key, pairs in op.sends.items() for _, value in pairs]
        return op.type == "ok" or (op.type == "info" and any(value in self.read_ok[key] for key, value in own))

    def _log(self, key: str) -> dict[int, set[Any]]:
        log: dict[int, set[Any]] = {}
        for op in self.ops:
            pairs = list(op.reads.get(key, ())) + (list(op.sends.get(key, ())) if self.committed(op) else [])
            for offset, value in pairs:
                if offset is not None:
                    log.setdefault(offset, set()).add(value)
        return log

    def claims(self, key: str, offset: int, value: Any) -> list[JepsenOp]:
        """Who says that the value is at the offset."""
        return [
            op
            for op in self.ops
            if (offset, value) in op.reads.get(key, ())
            or (self.committed(op) and (offset, value) in op.sends.get(key, ()))
        ]

    def binding(self, key: str, offset: int, value: Any) -> bool:
        """Whether a poll says so, or an acknowledgement that must last."""
        return self.rules.durable or any((offset, value) in op.reads.get(key, ()) for op in self.ops)

    def index(self, key: str, value: Any) -> int | None:
        """The highest place of a value in the version order."""
        places = [place for place, chosen in enumerate(self.order[key]) if chosen == value]
        return max(places, default=None)

    def delta(self, key: str, one: Any, other: Any) -> int:
        """How far apart, and 1 where it is not known."""
        a, b = self.index(key, one), self.index(key, other)
        return 1 if a is None or b is None else b - a

    def between(self, key: str, one: Any, other: Any) -> JepsenRow:
        """What lies between two values."""
        a, b = self.index(key, one), self.index(key, other)
        assert a is not None and b is not None
        offsets, values = self.dense[key][a + 1 : b], self.order[key][a + 1 : b]
        ops = [op.op for value in self.logs[key][offsets[0]] for op in self.claims(key, offsets[0], value)]
        held = any(self.binding(key, *pair) for pair in zip(offsets, values, strict=True))
        return {"offsets": offsets, "listed_values": values, "teller": min(ops), "held": held}

    def senders(self, key: str, value: Any) -> list[JepsenOp]:
        """Who tried to send a value."""
        return [op for op in self.ops if any(each == value for _, each in op.sends.get(key, ()))]

    def readers(self, key: str, value: Any, outcome: str = "") -> list[JepsenOp]:
        """Who polled a value."""
        polled = [op for op in self.ops if any(each == value for _, each in op.reads.get(key, ()))]
        return [op for op in polled if outcome in ("", op.type)]


def duplicate(history: JepsenHistory) -> Iterator[JepsenRow]:
    """A value at two or more offsets of the raw log."""
    for key, log in history.logs.items():
        for value in set().union(*log.values()):
            offsets = sorted(offset for offset in log if value in log[offset])
            sends = sum(each == value for op in history.ops if op.type != "fail" for _, each in op.sends.get(key, ()))
            if len(offsets) > 1:
                ops = [min(op.op for op in history.claims(key, at, value)) for at in (offsets[0], offsets[-1])]
                legal = len(offsets) <= sends or (sends and not history.rules.idempotent)
                yield _row(key, offsets=offsets, value_a=value, ops=ops, judged=not legal)


def inconsistent_offsets(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Two or more values at an offset of the raw log."""
    for key, log in history.logs.items():
        for offset, values in log.items():
            if len(values) > 1:
                ops = [min(op.op for op in history.claims(key, offset, each)) for each in (min(values), max(values))]
                held = sum(history.binding(key, offset, value) for value in values) > 1
                yield _row(key, offset_a=offset, listed_values=values, ops=ops, judged=held)


def aborted_read(history: JepsenHistory) -> Iterator[JepsenRow]:
    """A successful poll of what surely failed, and was sent by nobody else."""
    for key in history.keys:
        for value in history.failed[key] & history.read_ok[key]:
            writers, readers = history.senders(key, value), history.readers(key, value, "ok")
            offsets = [at for op in readers for at, each in op.reads[key] if each == value and at is not None]
            if all(op.type == "fail" for op in writers):
                held = history.rules.committed_only or any(op.f == "send" for op in writers)
                ops = [min(op.op for op in writers), min(op.op for op in readers)]
                yield _row(key, offset_a=min(offsets, default=None), value_a=value, ops=ops, judged=held)


def precommitted_read(history: JepsenHistory) -> Iterator[JepsenRow]:
    """An operation polled what it sent."""
    for op in history.ops:
        for key, reads in op.reads.items():
            own = {value for _, value in op.sends.get(key, ())}
            both = [pair for pair in reads if pair[1] in own]
            if both:
                offset = min((at for at, _ in both if at is not None), default=None)
                value = min(value for _, value in both)
                yield _row(key, offset_a=offset, value_a=value, ops=[op.op], judged=history.rules.committed_only)


def lost_write(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Last index at or below the highest first index read; not read; its writer committed."""
    for key, log in history.logs.items():
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        for place, offset in enumerate(history.dense[key]):
            for value in log[offset]:
                first.setdefault(value, place)
                last[value] = place
        bound = max((first[value] for value in history.read_ok[key] if value in first), default=-1)
        for value in last:
            writers = [op for op in history.senders(key, value) if history.committed(op)]
            if last[value] <= bound and value not in history.read_ok[key] and writers:
                tops = [each for each in first if first[each] == bound and each in history.read_ok[key]]
                reader = min(op.op for each in tops for op in history.readers(key, each, "ok"))
                offsets = [history.dense[key][first[value]], history.dense[key][bound]]
                ops = [min(op.op for op in writers), reader]
                places = dict(zip(("offset_a", "offset_b"), offsets, strict=True))
                yield _row(key, **places, value_a=value, ops=ops, judged=history.rules.durable)


def unseen(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Acknowledged, and in no successful poll."""
    for key in history.keys:
        sent = [(op, pair) for op in history.ops if op.type == "ok" for pair in op.sends.get(key, ())]
        for value in {pair[1] for _, pair in sent} - history.read_ok[key]:
            mine = [(op.op, pair[0]) for op, pair in sent if pair[1] == value]
            offset = min((at for _, at in mine if at is not None), default=None)
            yield _row(
                key, offset_a=offset, value_a=value, ops=[min(op for op, _ in mine)], judged=history.rules.durable
            )


def phantom(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Polled, and sent by nobody."""
    for key in history.keys:
        pairs = [(op.op, pair) for op in history.ops for pair in op.reads.get(key, ())]
        for value in {pair[1] for _, pair in pairs}:
            mine = [(op, at) for op, (at, each) in pairs if each == value]
            if not history.senders(key, value):
                offset = min((at for _, at in mine if at is not None), default=None)
                yield _row(key, offset_a=offset, value_a=value, ops=[min(op for op, _ in mine)])


def _steps(history: JepsenHistory, side: str) -> Iterator[tuple[JepsenOp, str, Pair, Pair, int]]:
    for op in history.ops:
        for key, pairs in getattr(op, side).items():
            for one, other in pairwise(pairs):
                yield op, key, one, other, history.delta(key, one[1], other[1])


def int_poll_skip(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Two reads in a row with more than one step between them."""
    for op, key, one, other, delta in _steps(history, "reads"):
        if delta > 1 and key not in op.rebalanced:
            yield _skip(key, history.between(key, one[1], other[1]), [op.op])


def int_nonmonotonic_poll(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Two reads in a row without a step forward."""
    for op, key, one, other, delta in _steps(history, "reads"):
        if delta < 1 and key not in op.rebalanced:
            yield _pair(key, one[0], other[0], one[1], other[1], [op.op])


def int_send_skip(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Two sends in a row with more than one step between them: never judged."""
    for op, key, one, other, delta in _steps(history, "sends"):
        if delta > 1:
            yield _skip(key, history.between(key, one[1], other[1]), [op.op]) | {"judged": 0}


def int_nonmonotonic_send(history: JepsenHistory) -> Iterator[JepsenRow]:
    """Two sends in a row without a step forward."""
    for op, key, one, other, delta in _steps(history, "sends"):
        if delta < 1:
            yield _placed(history, key, one[1], other[1], [op.op])


def _polls(history: JepsenHistory) -> Iterator[tuple[JepsenOp, JepsenOp, str, Pair, Pair, int]]:
    for process in sorted({op.process for op in history.ops}):
        last: dict[str, JepsenOp] = {}
        for op in history.ops:
            if op.process != process:
                continue
            if op.f in ("assign", "subscribe"):
                last = last if op.type == "fail" else {key: each for key, each in last.items() if key in op.keys}
                continue
            for key, pairs in op.reads.items():
                if pairs and key in last:
                    one, other = last[key].reads[key][-1], pairs[0]
                    yield last[key], op, key, one, other, history.delta(key, one[1], other[1])
                if pairs and op.type == "ok":
                    last = last | {key: op}


def poll_skip(history: JepsenHistory) -> Iterator[JepsenRow]:
    """From the last value of a process's last successful poll to the first of its next, past something."""
    for before, op, key, one, other, delta in _polls(history):
        if delta > 1:
            row = _skip(key, history.between(key, one[1], other[1]), [before.op, op.op])
            yield row | {"judged": int(bool(row["judged"]) and not history.rules.subscribes)}


def nonmonotonic_poll(history: JepsenHistory) -> Iterator[JepsenRow]:
    """The same, without a step forward."""
    for before, op, key, one, other, delta in _polls(history):
        if delta < 1:
            row = _pair(key, one[0], other[0], one[1], other[1], [before.op, op.op])
            yield row | {"judged": int(not history.rules.subscribes)}


def nonmonotonic_send(history: JepsenHistory) -> Iterator[JepsenRow]:
    """From the last value that a process sent to the first one of its next send, without a step forward."""
    for process in sorted({op.process for op in history.ops}):
        last: dict[str, JepsenOp] = {}
        for op in (op for op in history.ops if op.process == process and op.type != "fail"):
            if op.f in ("assign", "subscribe"):
                last = {key: each for key, each in last.items() if key in op.keys}
            for key, pairs in op.sends.items():
                if key in last and history.delta(key, last[key].sends[key][-1][1], pairs[0][1]) < 1:
                    yield _placed(history, key, last[key].sends[key][-1][1], pairs[0][1], [last[key].op, op.op])
                last = last | {key: op}


def _row(key: str, *, ops: Sequence[int], judged: bool = True, **more: Any) -> JepsenRow:
    return {"topic": key, "partition": 0, **dict(zip(("op_a", "op_b", "op_c"), ops, strict=False)), **more} | {
        "judged": int(judged)
    }


def _skip(key: str, between: JepsenRow, ops: list[int]) -> JepsenRow:
    listed = {name: between[name] for name in ("offsets", "listed_values")}
    return _row(key, ops=[*ops, between["teller"]], judged=between["held"], **listed)


def _pair(
    key: str, offset_a: int | None, offset_b: int | None, value_a: Any, value_b: Any, ops: list[int]
) -> JepsenRow:
    return _row(key, ops=ops, offset_a=offset_a, offset_b=offset_b, value_a=value_a, value_b=value_b)


def _placed(history: JepsenHistory, key: str, one: Any, other: Any, ops: list[int]) -> JepsenRow:
    places = [history.dense[key][history.index(key, value) or 0] for value in (one, other)]
    row = _pair(key, places[0], places[1], one, other, ops)
    return row | {"judged": int(history.rules.idempotent)}


DEFINITIONS: dict[str, Callable[[JepsenHistory], Iterator[JepsenRow]]] = {
    "G1a": aborted_read,
    "duplicate": duplicate,
    "inconsistent-offsets": inconsistent_offsets,
    "int-nonmonotonic-poll": int_nonmonotonic_poll,
    "int-nonmonotonic-send": int_nonmonotonic_send,
    "int-poll-skip": int_poll_skip,
    "int-send-skip": int_send_skip,
    "lost-write": lost_write,
    "nonmonotonic-poll": nonmonotonic_poll,
    "nonmonotonic-send": nonmonotonic_send,
    "phantom": phantom,
    "poll-skip": poll_skip,
    "precommitted-read": precommitted_read,
    "unseen": unseen,
}


def jepsen_history(facts: Facts) -> JepsenHistory:
    """The operations of an imported history again, from its rows."""
    sides: dict[tuple[int, str], dict[str, list[Pair]]] = {}
    for row in sorted(facts.sent + facts.shown, key=lambda row: row.position or 0):
        sides.setdefault((row.op, row.side), {}).setdefault(row.topic, []).append((row.offset, row.value))
    ops: dict[int, JepsenOp] = {}
    for call in facts.operations:
        moved = [
            event.topic or ""
            for event in facts.events
            if event.kind == "rebalance" and event.client == call.client and event.at_ns == call.return_ns
        ]
        named = frozenset(each.topic for each in facts.operations if each.op == call.op and each.topic is not None)
        sends, reads = (sides.get((call.op, side), {}) for side in ("sent", "seen"))
        ops[call.op] = JepsenOp(call.op, call.client, call.outcome, call.kind, sends, reads, named, frozenset(moved))
    some = next(iter(facts.clients), "")
    rules = Rules(
        durable=facts.durable(some),
        idempotent=facts.idempotent(some),
        committed_only=facts.committed_only(some),
        subscribes=facts.clients[some].mode == "subscribe",
    )
    return JepsenHistory(list(ops.values()), rules)
