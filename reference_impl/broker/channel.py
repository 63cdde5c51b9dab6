"""The control channel: a unix socket in the node's data folder, never on the client port. One JSON object a line.

    {"do": "dump"}                                                 this node's partitions; a controller's cluster
    {"do": "pause_replication"}, {"do": "resume_replication"}      this node fetches nothing from its leaders
    {"do": "advance_clock", "seconds": 3600}                       this node's clock jumps ahead
    {"do": "move_leader", "topic": "t", "partition": 0, "to": 2}   to another in-sync replica (controller)
    {"do": "move_coordinator", "group": "g", "to": 2}              or "transactional_id" (controller)

Each line is answered with one: `{"ok": true, ...}` or `{"ok": false, "error": "..."}`. A line of more than 64 KiB, or
one connection more than `MOST_CONNECTIONS`, is closed without an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokertrial.reference_impl.clock import ManualClock, SystemClock
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from brokertrial.reference_impl.api.broker import Broker
    from brokertrial.reference_impl.replica.partition import Partition

SOCKET = "control.sock"
MOST_CONNECTIONS = 32
_LONGEST_JUMP_S = 100 * 365 * 86_400
_LONGEST_PATH = 100  # what the system allows, less a little
_TOPICS = {"group": CONSUMER_OFFSETS, "transactional_id": TRANSACTION_STATE}


class CommandRefused(Exception):
    """A command that cannot be done here; the sentence says why."""


class ControlChannel:
    """Serves the socket of one node."""

    def __init__(self, node: Broker) -> None:
        self._node = node
        self._path = node.config.data / SOCKET
        self._server: asyncio.Server | None = None
        self._open = 0
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "dump": self._dump,
            "pause_replication": lambda _: self._pause(paused=True),
            "resume_replication": lambda _: self._pause(paused=False),
            "advance_clock": self._advance_clock,
            "move_leader": self._move_leader,
            "move_coordinator": self._move_coordinator,
        }

    async def open(self) -> None:
        """Listens."""
        self._path.unlink(missing_ok=True)
        with _reachable(self._path) as path:
            self._server = await asyncio.start_unix_server(self._serve, path)

    def close(self) -> None:
        """Listens no more."""
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= MOST_CONNECTIONS:
            writer.close()
            return
        self._open += 1
        try:
            with contextlib.suppress(OSError, ValueError):
                while line := await reader.readline():
                    writer.write(json.dumps(self._answer(line)).encode() + b"\n")
                    await writer.drain()
        finally:
            self._open -= 1
            writer.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            wanted = json.loads(line)
            command = self._commands.get(wanted["do"])
            if command is None:
                raise CommandRefused(f"there is no command {wanted['do']!r}; there are {', '.join(self._commands)}")
            return {"ok": True, **command(wanted)}
        except CommandRefused as refused:
            return {"ok": False, "error": str(refused)}
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            return {"ok": False, "error": f"not understood: {error!r}"}

    # Commands

    def _dump(self, _: dict[str, Any]) -> dict[str, Any]:
        node = self._node
        if node.config.controller_only:
            image = node.image
            brokers = [{"id": one.id, "epoch": one.epoch, "fenced": one.fenced} for one in image.brokers.values()]
            placed = [
                {"topic": topic.name, "partition": index, "leader": one.leader, "leader_epoch": one.leader_epoch,
                 "isr": one.isr, "replicas": one.replicas}
                for topic in image.topics.values() for index, one in enumerate(topic.placements)
            ]  # fmt: skip
            return {"records": node.journal.end, "brokers": brokers, "partitions": placed}
        return {"records": node.journal.end, "partitions": [_described(one) for one in node.replicas]}

    def _pause(self, *, paused: bool) -> dict[str, Any]:
        self._node.replicas.pause(paused)
        return {}

    def _advance_clock(self, wanted: dict[str, Any]) -> dict[str, Any]:
        clock, seconds = self._node.clock, float(wanted["seconds"])
        if not 0 <= seconds <= _LONGEST_JUMP_S or not isinstance(clock, SystemClock | ManualClock):
            raise CommandRefused("a clock goes forward only, and by 100 years at most")
        clock.advance(seconds)
        return {"now_ms": clock.now_ms()}

    def _move_leader(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return self._move(wanted["topic"], int(wanted["partition"]), int(wanted["to"]))

    def _move_coordinator(self, wanted: dict[str, Any]) -> dict[str, Any]:
        kind = next((kind for kind in _TOPICS if kind in wanted), None)
        if kind is None:
            raise CommandRefused(f"move_coordinator names {' or '.join(_TOPICS)}")
        topic = self._node.topics.get(_TOPICS[kind])
        if topic is None:
            raise CommandRefused(f"{_TOPICS[kind]} has not been made yet")
        return self._move(topic.name, partition_for(str(wanted[kind]), topic.partitions), int(wanted["to"]))

    def _move(self, name: str, index: int, to: int) -> dict[str, Any]:
        topic = self._node.topics.get(name)
        if self._node.in_cluster:
            raise CommandRefused("this is a broker: the controller moves leaders")
        if topic is None or not self._node.topics.has(name, index):
            raise CommandRefused(f"there is no partition {name}-{index}")
        if not self._node.controller.move_leader(topic, index, to):
            raise CommandRefused(f"broker {to} is not alive and in sync with {name}-{index}")
        return {"topic": name, "partition": index, "leader": to}


def _described(partition: Partition) -> dict[str, Any]:
    log, leading = partition.log, partition.leading
    followers = {} if leading is None else {str(one): known.end_offset for one, known in leading.followers.items()}
    return {
        "topic": partition.topic,
        "partition": partition.index,
        "leads": leading is not None,
        "leader": partition.leader_id,
        "leader_epoch": partition.leader_epoch,
        "start": log.start_offset,
        "end": log.end_offset,
        "high_watermark": partition.high_watermark,
        "last_stable": partition.last_stable_offset,
        "isr": sorted(leading.isr) if leading is not None else None,
        "followers": followers,
    }


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """A name for the socket that fits: a folder deep down is named by its descriptor where the system can do that."""
    if len(os.fsencode(path.absolute())) <= _LONGEST_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
