"""commit-order: how it is put into a legal history."""

from tests.checkers.picks import older_answer
from tests.checkers.wounds import Expected, Wound


def inject_commit_order(w: Wound) -> Expected:
    told, _ = older_answer(w, higher=True)
    return w.told("commit-order", told)
