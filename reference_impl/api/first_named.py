"""For planted bugs: where a node was when it was first named."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from brokertrial.reference_impl.api.broker import Broker

_FIRST: WeakKeyDictionary[Broker, dict[int, tuple[str, int]]] = WeakKeyDictionary()
"""By the node that is asked, the one that is named."""


def first_named(node: Broker, named: int, place: tuple[str, int]) -> tuple[str, int]:
    """Where `named` was when `node` was first asked for it."""
    return _FIRST.setdefault(node, {}).setdefault(named, place)
