"""What Toxiproxy can do to one direction of a connection, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["requests", "answers", "both"]
Stream = Literal["upstream", "downstream"]
"""Toxiproxy's words: upstream is towards the node, downstream towards its clients."""


@dataclass(frozen=True, slots=True)
class Toxic:
    """One toxic of one stream, under the names that Toxiproxy's own documentation has."""

    type: str
    stream: Stream
    attributes: Mapping[str, int] = field(default_factory=dict)


def toxics(type: str, direction: Direction, **attributes: int) -> list[Toxic]:
    """The same toxic for each stream of a direction."""
    streams: dict[Direction, tuple[Stream, ...]] = {
        "requests": ("upstream",),
        "answers": ("downstream",),
        "both": ("upstream", "downstream"),
    }
    return [Toxic(type, stream, attributes) for stream in streams[direction]]


class ToxiproxyFailed(RuntimeError):
    """The server did not do what it was told, or did not answer in time: ours, never the broker's fault."""
