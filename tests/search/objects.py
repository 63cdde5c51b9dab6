"""Random small histories of the four objects, each as the fast path and as the search engines see it.

An order of operations is made up, each gets an interval around its place in it, and answers are told from it: legal.
Then, in half of them, a few answers or times are changed at random, which makes about half of those illegal. Times come
from few values, so that ties are common; some operations never return, and of some nothing is told.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from brokertrial.checkers.linearizability import log, registers
from brokertrial.checkers.linearizability.precedence import NEVER
from brokertrial.checkers.linearizability.search.question import Op, Question
from tests.search import chains, ownership

LONGEST = 9
Times = tuple[int, int | None]


@dataclass(frozen=True)
class Kind:
    """One object: how to make a history up, what the fast path says of it, what the engines are asked."""

    make: Callable[[random.Random], list[Any]]
    legal: Callable[[Sequence[Any]], bool]
    question: Callable[[Sequence[Any]], Question]


def _times(rng: random.Random, count: int) -> list[Times]:
    """Intervals around the places 0, 1, 2 ... of an order, or not quite."""
    spread = rng.choice((1, 2, 4))
    times: list[Times] = []
    for place in range(count):
        call = 2 * place - rng.randint(0, spread)
        ret = 2 * place + rng.randint(0, spread)
        times.append((call, None if rng.random() < 0.1 else ret))
    if rng.random() < 0.5:
        for _ in range(rng.randint(1, 2)):
            node_control = rng.randrange(count)
            call, ret = times[node_control]
            shift = rng.randint(-6, 6)
            times[node_control] = (call + shift, None if ret is None else max(call + shift, ret + shift))
    return times


def _nudged(rng: random.Random, number: int) -> int:
    return max(0, number + rng.choice((-1, 1)))


# --- the log: (f, call, ret, base or end, count), and for appends that nobody knows of base None


def make_log(rng: random.Random) -> list[tuple]:
    """Appends, exact ends, sights; unseen appends without an answer."""
    end, rows = 0, []
    for call, ret in _times(rng, rng.randint(2, LONGEST)):
        f = rng.choice(("append", "append", "end", "saw"))
        if f == "append" and ret is None and rng.random() < 0.5:
            rows.append(("append", call, None, None, rng.randint(1, 2)))
        elif f == "append":
            count = rng.choice((1, 1, 2, 3))
            rows.append(("append", call, ret, end, count))
            end += count
        elif ret is not None:
            rows.append((f, call, ret, end if f == "end" else rng.randint(0, end), 0))
    if rows and rng.random() < 0.5:
        node_control = rng.randrange(len(rows))
        f, call, ret, low, count = rows[node_control]
        rows[node_control] = (f, call, ret, low if low is None else _nudged(rng, low), count)
    return rows or make_log(rng)


def log_is_legal(rows: Sequence[tuple]) -> bool:
    """What checkers/linearizability/log.py says: unseen appends without an answer are dropped."""
    codes = {"append": log.APPEND, "end": log.EXACT, "saw": log.SAW}
    known = [
        (codes[f], op, call, NEVER if ret is None else ret, low, count)
        for op, (f, call, ret, low, count) in enumerate(rows, start=1)
        if low is not None
    ]
    if not known:
        return True
    columns = (np.array(column, dtype=np.int64) for column in zip(*known, strict=True))
    return next(log.violations(log.LogOperations(*columns)), None) is None


def log_question(rows: Sequence[tuple]) -> Question:
    """The same for the engines; what fills the holes between known appends was appended by somebody unknown."""
    ops = []
    for op, (f, call, ret, low, count) in enumerate(rows, start=1):
        if f == "append":
            ops.append(Op(op, f, call, ret, {"count": count}, None if low is None else {"base": low}, op))
        else:
            ops.append(Op(op, f, call, ret, {}, {"end": low}, op))
    spans = [(low, low + count) for f, _, _, low, count in rows if f == "append" and low is not None]
    marks = [low for f, _, _, low, _ in rows if f != "append"]
    return Question("log", [*ops, *_foreign(spans, marks, len(ops))])


def _foreign(spans: Sequence[tuple[int, int]], marks: Sequence[int], taken: int) -> list[Op]:
    """Appends by others, at any time, wherever the log must have grown and nobody says how."""
    points = sorted({0, *marks, *(point for span in spans for point in span)})
    holes = [
        (low, high) for low, high in pairwise(points) if not any(begin <= low and high <= end for begin, end in spans)
    ]
    return [
        Op(taken + number, "append", None, None, {"count": high - low}, {"base": low}, taken + number)
        for number, (low, high) in enumerate(holes, start=1)
    ]


# --- the register: (f, call, ret, value, told) with values that are written once


def make_register(rng: random.Random) -> list[tuple]:
    """Writes of distinct values and reads; None is read where nothing was written."""
    value: int | None = None
    rows: list[tuple] = []
    for number, (call, ret) in enumerate(_times(rng, rng.randint(2, LONGEST)), start=1):
        if rng.random() < 0.45:
            rows.append(("write", call, ret, number))
            if ret is not None or rng.random() < 0.7:
                value = number
        elif ret is not None:
            rows.append(("read", call, ret, value))
    written = [row[3] for row in rows if row[0] == "write"]
    if written and rng.random() < 0.5:
        reads = [place for place, row in enumerate(rows) if row[0] == "read"]
        if reads:
            place = rng.choice(reads)
            rows[place] = (*rows[place][:3], rng.choice([None, *written]))
    return rows or make_register(rng)


def register_is_legal(rows: Sequence[tuple]) -> bool:
    """What checkers/linearizability/registers.py says: writes without an answer that nobody read are dropped."""
    read = {value for f, _, _, value in rows if f == "read"}
    accesses = [registers.Access(0, -1, registers.EVER, registers.EVER, True)]
    for op, (f, call, ret, value) in enumerate(rows, start=1):
        if f == "read" or ret is not None or value in read:
            name = -1 if value is None else value
            accesses.append(registers.Access(op, name, call, registers.FOREVER if ret is None else ret, f == "write"))
    written = {access.value for access in accesses if access.is_write}
    if any(access.value not in written for access in accesses):
        return False
    return next(registers.conflicts(accesses), None) is None


def register_question(rows: Sequence[tuple]) -> Question:
    """The same for the engines."""
    return Question(
        "register",
        [
            Op(op, f, call, ret, {"value": value}, None if ret is None else {}, op)
            if f == "write"
            else Op(op, f, call, ret, {}, {"value": value}, op)
            for op, (f, call, ret, value) in enumerate(rows, start=1)
        ],
    )


# --- two chains: tests.search.chains.Move, with base None never made (nobody knows where such an append
# lies)


def make_chains(rng: random.Random) -> list[chains.Move]:
    """Appends and deletes, and what was seen of both ends."""
    start = end = 0
    moves = []
    for op, (call, ret) in enumerate(_times(rng, rng.randint(2, LONGEST)), start=1):
        kind = rng.choice(
            (chains.APPEND, chains.APPEND, chains.DELETE, chains.END, chains.START, chains.BOUNDS, chains.READ)
        )
        never = NEVER if ret is None else ret
        if kind == chains.APPEND:
            count = rng.choice((1, 1, 2))
            moves.append(chains.Move(kind, op, call, never, end, end + count))
            end += count
        elif kind == chains.DELETE:
            target = rng.randint(0, end)
            moves.append(chains.Move(kind, op, call, never, target))
            if ret is not None or rng.random() < 0.5:
                start = max(start, target)
        elif ret is not None and (kind != chains.READ or start < end):
            low = {chains.END: 0, chains.READ: rng.randint(start, max(start, end - 1))}.get(kind, start)
            moves.append(chains.Move(kind, op, call, never, low, end if kind in (chains.END, chains.BOUNDS) else 0))
    if moves and rng.random() < 0.6:
        place = rng.randrange(len(moves))
        move = moves[place]
        if move.kind in (chains.END, chains.BOUNDS) and rng.random() < 0.6:
            moves[place] = move._replace(high=_nudged(rng, move.high))
        elif move.kind == chains.APPEND:
            low = _nudged(rng, move.low)
            moves[place] = move._replace(low=low, high=low + move.high - move.low)
        elif move.kind != chains.END:
            moves[place] = move._replace(low=_nudged(rng, move.low))
    return moves or make_chains(rng)


def chains_are_legal(moves: Sequence[chains.Move]) -> bool:
    """What tests/search/chains.py says."""
    return next(chains.cycles(moves), None) is None


def chains_question(moves: Sequence[chains.Move]) -> Question:
    """The same for the engines; the log grows where it must have."""
    names = ("append", "delete", "end", "start", "bounds", "read")
    ops = []
    for move in moves:
        asked: dict[str, int] = {}
        told: dict[str, int] | None = {}
        ret = None if move.ret == NEVER else move.ret
        match move.kind:
            case chains.APPEND:
                asked, told = {"count": move.high - move.low}, {"base": move.low}
            case chains.DELETE:
                asked, told = {"to": move.low}, None if ret is None else {}
            case chains.END:
                told = {"end": move.high}
            case chains.START:
                told = {"start": move.low}
            case chains.BOUNDS:
                told = {"start": move.low, "end": move.high}
            case chains.READ:
                told = {"offset": move.low}
        ops.append(Op(move.op, names[move.kind], move.call, ret, asked, told, move.op))
    spans = [(move.low, move.high) for move in moves if move.kind == chains.APPEND]
    marks = [move.high for move in moves if move.kind in (chains.END, chains.BOUNDS)]
    marks += [move.low + 1 for move in moves if move.kind == chains.READ and not _within(move.low + 1, spans)]
    marks += [move.low for move in moves if move.kind == chains.DELETE and not _within(move.low, spans)]
    return Question("chains", [*ops, *_foreign(spans, marks, max(move.op for move in moves))])


def _within(point: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(begin < point < end for begin, end in spans)


# --- ownership: whether there are leases, and tests.search.ownership.Claim


def make_ownership(rng: random.Random) -> list[Any]:
    """Members who own a partition, let go, and are refused; the first entry says whether there are leases."""
    lease = rng.random() < 0.5
    epoch, member, held, claims = rng.randint(1, 3), "a", True, []
    for op, (call, ret) in enumerate(_times(rng, rng.randint(2, LONGEST)), start=1):
        never = NEVER if ret is None else ret
        kind = rng.choice((ownership.HOLD, ownership.HOLD, ownership.GIVE, ownership.REFUSED))
        if kind == ownership.GIVE and held:
            claims.append(ownership.Claim(kind, op, member, epoch, call, never))
            held = ret is None and rng.random() < 0.5
        elif kind == ownership.REFUSED and not lease and ret is not None:
            claims.append(ownership.Claim(kind, op, member, rng.randint(epoch - 2, epoch - 1), call, never))
        elif kind == ownership.HOLD and ret is not None:
            if not held or rng.random() < 0.3:
                member = rng.choice("abc") if not held or not lease else member
                epoch, held = epoch + rng.randint(1, 2), True
            claims.append(ownership.Claim(kind, op, member, epoch, call, never))
    if claims and rng.random() < 0.5:
        place = rng.randrange(len(claims))
        claim = claims[place]
        changed = claim._replace(epoch=_nudged(rng, claim.epoch)) if rng.random() < 0.6 else claim._replace(member="b")
        claims[place] = changed
    return [lease, *claims] if claims else make_ownership(rng)


def ownership_is_legal(entries: Sequence[Any]) -> bool:
    """What tests/search/ownership.py says."""
    lease, *claims = entries
    return next(ownership.clashes(claims, lease), None) is None


def ownership_question(entries: Sequence[Any]) -> Question:
    """The same for the engines; in each epoch that was seen the coordinator gave the partition away, unseen."""
    lease, *claims = entries
    names = ("hold", "give", "refused")
    ops = []
    for claim in claims:
        ret = None if claim.ret == NEVER else claim.ret
        asked = {"epoch": claim.epoch} | ({} if claim.kind == ownership.REFUSED else {"member": claim.member})
        ops.append(Op(claim.op, names[claim.kind], claim.call, ret, asked, None if ret is None else {}, claim.op))
    seen = {(claim.epoch, claim.member) for claim in claims if claim.ret != NEVER and claim.kind != ownership.REFUSED}
    first = max(claim.op for claim in claims) + 1
    given = [
        Op(number, "hold", None, None, {"epoch": epoch, "member": member}, {}, number)
        for number, (epoch, member) in enumerate(sorted(seen), start=first)
    ]
    return Question("ownership", [*ops, *given], {"lease": lease})


KINDS = {
    "log": Kind(make_log, log_is_legal, log_question),
    "register": Kind(make_register, register_is_legal, register_question),
    "two-chain": Kind(make_chains, chains_are_legal, chains_question),
    "ownership": Kind(make_ownership, ownership_is_legal, ownership_question),
}
