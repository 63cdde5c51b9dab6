"""What came of something that was done to a target, as it is kept on the tape."""

from __future__ import annotations

from collections.abc import Callable


def came_of(act: Callable[[], str | None]) -> str:
    """What an act returns, empty for nothing; or in one line what it raised."""
    try:
        return act() or ""
    except Exception as error:  # noqa: BLE001 - whatever a target raises is the outcome of the act
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
