"""Regular expressions that clients send: RE2's, as in Kafka, which match in a time that grows with the text alone.

Python's own `re` tries again and again: a pattern of ten characters could stop a broker for good.
"""

from __future__ import annotations

from typing import Any

import re2

from brokertrial.reference_impl import bugs

_LONGEST = 1 << 15
_MOST_BYTES = 1 << 20


class NoPattern(ValueError):
    """A text that is no regular expression; the sentence says why."""


class Pattern:
    """A compiled expression. NoPattern if the text is none, or takes too much to be compiled."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise NoPattern(f"it is longer than {_LONGEST} characters")
        try:
            self._compiled: Any = re2.compile(text, _OPTIONS)
            self._anchored: Any = re2.compile(f"^{text}$", _OPTIONS) if bugs.on("B67") else None
        except re2.error as error:
            raise NoPattern(_sentence(error)) from None

    def matches(self, name: str) -> bool:
        """Whether the whole name is meant."""
        if self._anchored is not None:
            return self._anchored.search(name) is not None
        return self._compiled.fullmatch(name) is not None


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_BYTES
    return options


def _sentence(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


_OPTIONS = _options()
