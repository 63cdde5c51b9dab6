"""Sequences that reached something new, kept from run to run in the user's cache folder.

A sequence is numbers whose meaning hangs on the rules (families/): those kept with other rules are left alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from brokertrial.suites.explore.choices import Recorded
from brokertrial.suites.targets.cache import cache_folder

AT_MOST = 500
_HERE = Path(__file__).parent


def kept() -> tuple[Recorded, ...]:
    """What earlier runs kept; empty where there is nothing that can be used."""
    with suppress(OSError, msgspec.MsgspecError):
        return tuple(msgspec.json.decode(_file().read_bytes(), type=list[Recorded]))
    return ()


def keep(sequences: Sequence[Recorded]) -> None:
    """Keeps the newest of these; a cache that cannot be written to is none."""
    path = _file()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(list(sequences)[-AT_MOST:]))
        beside.replace(path)


def _file() -> Path:
    return cache_folder() / "explore" / f"{_rules()}.json"


def _rules() -> str:
    """Names what the numbers mean: a digest of the rules and the model."""
    parts = [*sorted((_HERE / "families").glob("*.py")), _HERE / "model.py"]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:16]
