"""What a name that nothing has may have meant: one wording, for every room."""

import difflib
from collections.abc import Iterable

MOST = 3
CUTOFF = 0.5


def near(word: str, known: Iterable[str]) -> list[str]:
    """The names like a word, or with it inside, in any case of letters; at most `MOST`, the nearest first."""
    written = {name.lower(): name for name in sorted(known)}
    close = difflib.get_close_matches(word.lower(), written, n=MOST, cutoff=CUTOFF)
    within = [name for name in written if word and word.lower() in name and name not in close]
    return [written[name] for name in [*close, *within][:MOST]]


def nearest(word: str, known: Iterable[str]) -> str:
    """`Did you mean a, b or c?`; empty where nothing is near."""
    *others, last = near(word, known) or [""]
    return f"Did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""


def nearest_or_all(word: str, known: Iterable[str]) -> str:
    """The same; where nothing is near, everything that is known, for few names."""
    known = sorted(known)
    return nearest(word, known) or (f"Known: {', '.join(known)}." if known else "None is known.")
