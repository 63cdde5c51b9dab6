"""The helper, or the reason for which it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.checkers.linearizability.porcupine.build import PorcupineMissing, helper


@pytest.fixture(scope="session")
def program() -> Path:
    """Porcupine's helper; a machine without Go skips, a CI machine fails."""
    try:
        return helper()
    except PorcupineMissing as problem:
        pytest.skip(str(problem))
