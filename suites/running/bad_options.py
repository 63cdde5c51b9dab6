"""What was asked for cannot be run: found before anything is started."""

from __future__ import annotations


class BadOptions(ValueError):
    """One sentence, and what to do about it."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint

    def __str__(self) -> str:
        return self.sentence + (f"\n  {self.hint}" if self.hint else "")
