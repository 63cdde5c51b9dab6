"""Which checks the fingerprint settles by itself, and for which histories."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

CLEAN = (
    "duplicate",
    "inconsistent-offsets",
    "lost-write",
    "nonmonotonic-poll",
    "offset-reuse",
    "phantom",
    "unseen",
    "wrong-ack-offset",
)
"""Checks that find nothing in a history without a dirty block (checkers/relations/blocks.py says why)."""

SMOOTH = ("poll-skip",)
"""Checks that find nothing in a history in which no stream jumped over an offset."""


SETTLED = (*CLEAN, *SMOOTH)
RunQuery = Callable[[str], Sequence[Mapping[str, Any]]]


def settled(ask: RunQuery) -> Mapping[str, frozenset[int]]:
    """For each check that one scan can settle, the histories of which it says: no anomaly."""
    doubts = ask("SELECT d.history, d.unclean, d.jumped FROM fingerprint_doubts d")
    clean = frozenset(row["history"] for row in doubts if not row["unclean"])
    smooth = frozenset(row["history"] for row in doubts if not row["jumped"])
    return dict.fromkeys(CLEAN, clean) | dict.fromkeys(SMOOTH, smooth)
