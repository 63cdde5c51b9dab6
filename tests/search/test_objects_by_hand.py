"""The objects by hand: each broken in one way, with the operations that prove it, and its near miss."""

from __future__ import annotations

import pytest

from brokertrial.checkers.linearizability.precedence import NEVER
from brokertrial.checkers.linearizability.registers import EVER, FOREVER, Access, conflicts
from brokertrial.checkers.linearizability.search.engine import search
from brokertrial.checkers.linearizability.search.model import Specification, UnknownModel
from brokertrial.checkers.linearizability.search.question import Op, Question
from tests.search.chains import APPEND, BOUNDS, DELETE, END, READ, START, Move, cycles
from tests.search.ownership import GIVE, HOLD, REFUSED, Claim, clashes


def H(op, member, epoch, call, ret):
    return Claim(HOLD, op, member, epoch, call, ret)


def G(op, member, epoch, call, ret):
    return Claim(GIVE, op, member, epoch, call, ret)


def R(op, epoch, call, ret):
    return Claim(REFUSED, op, "", epoch, call, ret)


OWNERSHIP = [
    ("one epoch, two members", False, [H(1, "a", 4, 0, 1), H(2, "b", 4, 0, 1)], ("two-owners", 1, 2)),
    ("two generations", False, [H(1, "a", 4, 0, 1), H(2, "b", 5, 2, 3)], None),
    ("back to the older one", False, [H(1, "b", 5, 0, 1), H(2, "a", 4, 2, 3)], ("generation-regression", 1, 2)),
    ("older and newer at one time", False, [H(1, "b", 5, 0, 3), H(2, "a", 4, 2, 3)], None),
    ("accepted after it was fenced", False, [R(1, 4, 0, 1), H(2, "a", 4, 2, 3)], ("generation-regression", 1, 2)),
    ("fenced while it was accepted", False, [R(1, 4, 0, 2), H(2, "a", 4, 2, 3)], None),
    ("fenced by nobody who owns", False, [R(1, 4, 0, 1), H(2, "a", 5, 2, 3)], None),
    ("owner after it let go", False, [G(1, "a", 4, 0, 1), H(2, "a", 4, 2, 3)], ("owner-after-release", 1, 2)),
    ("let go twice", False, [G(1, "a", 4, 0, 1), G(2, "a", 4, 2, 3)], ("released-twice", 1, 2)),
    ("lease not given up", True, [H(1, "a", 4, 0, 1), H(2, "b", 5, 2, 3)], ("two-owners", 1, 2)),
    ("lease kept", True, [H(1, "a", 4, 0, 1), H(2, "a", 5, 2, 3)], None),
    ("lease given up", True, [H(1, "a", 4, 0, 1), G(2, "a", 4, 2, 3), H(3, "b", 5, 3, 4)], None),
    ("lease given up late", True, [H(3, "b", 5, 2, 3), H(1, "a", 4, 0, 1), G(2, "a", 4, 4, 5)], ("two-owners", 3, 2)),
    ("lease perhaps given up", True, [H(1, "a", 4, 0, 1), G(2, "a", 4, 2, NEVER), H(3, "b", 5, 3, 4)], None),
    (
        "lease that could not have ended",
        True,
        [H(1, "a", 4, 0, 1), G(2, "a", 4, 9, NEVER), H(3, "b", 5, 3, 4)],
        ("two-owners", 3, 2),
    ),
]


@pytest.mark.parametrize(
    ("lease", "claims", "found"), [row[1:] for row in OWNERSHIP], ids=[row[0] for row in OWNERSHIP]
)
def test_ownership(lease, claims, found):
    assert [(clash.name, clash.q.op, clash.p.op) for clash in clashes(claims, lease)][:1] == ([found] if found else [])


CHAINS = [
    ("grown and cut", [Move(APPEND, 1, 0, 1, 0, 2), Move(DELETE, 2, 2, 3, 1), Move(BOUNDS, 3, 4, 5, 1, 2)], None),
    (
        "cut before it had grown",
        [Move(DELETE, 1, 0, 1, 1), Move(APPEND, 2, 2, 3, 0, 1)],
        ("contradiction", {1, 2}),
    ),
    ("cut while it grew", [Move(DELETE, 1, 0, 2, 1), Move(APPEND, 2, 2, 3, 0, 1)], None),
    (
        "a deleted record read",
        [Move(APPEND, 1, 0, 1, 0, 2), Move(DELETE, 2, 2, 3, 1), Move(READ, 3, 4, 5, 0)],
        ("contradiction", {2, 3}),
    ),
    ("the one above read", [Move(APPEND, 1, 0, 1, 0, 2), Move(DELETE, 2, 2, 3, 1), Move(READ, 3, 4, 5, 1)], None),
    (
        "a start that went back",
        [Move(APPEND, 1, 0, 1, 0, 2), Move(DELETE, 2, 2, 3, 1), Move(START, 3, 4, 5, 0)],
        ("contradiction", {2, 3}),
    ),
    ("a start that nobody made", [Move(APPEND, 1, 0, 1, 0, 2), Move(START, 2, 2, 3, 1)], ("phantom-start", {2})),
    (
        "two ends seen in two orders",
        [
            Move(APPEND, 1, 0, 9, 0, 2),
            Move(APPEND, 2, 0, 9, 2, 3),
            Move(DELETE, 3, 0, 9, 1),
            Move(BOUNDS, 4, 1, 2, 0, 3),
            Move(BOUNDS, 5, 1, 2, 1, 2),
        ],
        ("contradiction", {3, 4, 5}),
    ),
    (
        "a delete without an answer that was seen",
        [Move(APPEND, 1, 0, 1, 0, 2), Move(DELETE, 2, 4, NEVER, 1), Move(START, 3, 2, 3, 1)],
        ("contradiction", {2, 3}),
    ),
    (
        "or made by another",
        [
            Move(APPEND, 1, 0, 1, 0, 2),
            Move(DELETE, 2, 4, NEVER, 1),
            Move(DELETE, 4, 2, 5, 1),
            Move(START, 3, 2, 3, 1),
        ],
        None,
    ),
    ("torn", [Move(APPEND, 1, 0, 9, 0, 3), Move(END, 2, 1, 2, 0, 2)], ("torn-batch", {1, 2})),
    ("overlapping", [Move(APPEND, 1, 0, 9, 0, 3), Move(APPEND, 2, 0, 9, 2, 3)], ("offset-divergence", {1, 2})),
]


@pytest.mark.parametrize(("moves", "found"), [row[1:] for row in CHAINS], ids=[row[0] for row in CHAINS])
def test_chains(moves, found):
    cycle = next(cycles(moves), None)
    assert (cycle and (cycle.name, set(cycle.ops))) == found


def test_a_value_read_before_it_was_written_contradicts_itself():
    start = Access(0, -1, EVER, EVER, True)
    early = [start, Access(1, 5, 0, 1, False), Access(2, 5, 2, 3, True)]
    meanwhile = [start, Access(1, 5, 0, 2, False), Access(2, 5, 2, FOREVER, True)]

    assert [(found.outer.first, found.inner.last) for found in conflicts(early)] == [(1, 2)]
    assert list(conflicts(meanwhile)) == []


def test_the_search_gives_up_and_says_so():
    appends = [Op(number, "append", 0, 9, {}, {}, number) for number in range(1, 13)]
    impossible = Question("log", [*appends, Op(13, "end", 10, 11, {}, {"end": 3})])

    assert search(impossible).ruling == "illegal"
    assert (search(impossible, states=500).ruling, search(impossible, states=500).reason) == ("unknown", "states")


def test_the_search_names_what_it_could_place_and_what_not():
    answer = search(Question("log", [Op(7, "append", 0, 1, {}, {"base": 0}), Op(8, "end", 2, 3, {}, {"end": 0})]))

    assert (answer.ruling, answer.prefix, answer.blocked) == ("illegal", (7,), (8,))


def test_an_empty_history_is_no_pass():
    with pytest.raises(ValueError, match="empty"):
        search(Question("log", []))


def test_an_unknown_model_or_operation_is_an_error():
    with pytest.raises(UnknownModel, match="group, log, register"):
        search(Question("queue", [Op(1, "push", 0, 1, {}, {})]))
    with pytest.raises(ValueError, match="push"):
        search(Question("log", [Op(1, "push", 0, 1, {}, {})]))


def test_a_model_of_ones_own():
    counter = Specification(
        "counter", lambda _: 0, lambda state, op: op.told["n"] if op.told["n"] == state + 1 else None
    )
    adds = [Op(1, "add", 0, 1, {}, {"n": 1}), Op(2, "add", 0, 1, {}, {"n": 2})]

    assert search(Question("counter", adds), counter).ruling == "ok"
    assert search(Question("counter", [adds[1]]), counter).ruling == "illegal"
