"""User errors: one sentence, a hint, an exit status."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from brokertrial.suites.exit_status import ExitStatus


class UserError(Exception):
    """One clear sentence, what to do about it, and the exit status."""

    def __init__(self, sentence: str, hint: str = "", status: int = ExitStatus.USAGE) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        return self.sentence + "".join(f"\n  {line}" for line in self.hint.splitlines())


def nearest(word: str, known: Iterable[str], count: int = 3) -> str:
    """`Nearest: a, b.` for a name that nothing has; empty where nothing comes near."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=count, cutoff=0.5)
    close += [name for name in known if word and word in name and name not in close][: count - len(close)]
    return f"Nearest: {', '.join(close)}." if close else ""
