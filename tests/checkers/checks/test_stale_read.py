"""stale-read: how it is put into a legal history."""

from tests.checkers.picks import shortened
from tests.checkers.wounds import Expected, Wound


def inject_stale_read(w: Wound) -> Expected:
    one = shortened(w)
    return w.told("stale-read", one, "stale-read end-regression", offset_b=3, op_b=one.op)
