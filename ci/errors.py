"""User errors: one sentence, a hint, an exit status."""

from __future__ import annotations

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
