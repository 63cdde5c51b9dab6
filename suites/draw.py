"""A situation that a case is met in, and which of its draws: what is drawn in it follows from the two and the case."""

from __future__ import annotations

import msgspec


class Draw(msgspec.Struct, frozen=True, order=True):
    """`restart-2`: the second draw of the situation `restart`."""

    situation: str
    number: int

    def __str__(self) -> str:
        return f"{self.situation}-{self.number}"

    @classmethod
    def parse(cls, text: str) -> Draw:
        """The inverse of `str`; raises ValueError."""
        name, _, number = text.rpartition("-")
        if not name:
            raise ValueError(f"{text!r} is no draw of a situation, such as restart-2")
        return cls(name, int(number))
