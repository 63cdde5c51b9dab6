"""What hostile clients do to a port: frames that no honest client sends, connections that cost and give nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from brokertrial.wire.frames import encode_request
from brokertrial.wire.messages import request
from campaigns.hostile.frames import Frames, Hostile, control_line

QUIET_S, GIVE_UP_S = 0.3, 30.0
_SENTINEL = -77_777
_LAST = encode_request(request("ApiVersions"), 0, _SENTINEL, "hostile")
Next = Callable[[], Hostile]


@dataclass(slots=True)
class Tally:
    """What became of what was sent."""

    sent: int = 0
    answered: int = 0  # connections that still served the request behind the frame
    closed: int = 0
    waited: int = 0  # neither, until this side ended it: long polls, frames that announce more than comes
    deaf: int = 0  # not even then, within `GIVE_UP_S`: a broken promise
    kinds: Counter[str] = field(default_factory=Counter)


async def frames(port: int, rng: Random, served: dict[str, tuple[int, int]], count: int, at_once: int = 16) -> Tally:
    """Sends so many hostile frames over as many connections at once."""
    source, tally = Frames(rng, served), Tally()

    async def work() -> None:
        line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while tally.sent < count:
            tally.sent += 1
            hostile = source.next()
            tally.kinds[hostile.kind] += 1
            line = line or await asyncio.open_connection("127.0.0.1", port)
            if not await _try(*line, hostile.data, tally):
                line[1].close()
                line = None
        if line is not None:
            line[1].close()

    await asyncio.gather(*(work() for _ in range(at_once)))
    return tally


async def _try(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes, tally: Tally) -> bool:
    """One frame, and behind it a harmless request whose answer says that the frame is done with; True: go on."""
    try:
        writer.write(data + _LAST)
        while True:
            async with asyncio.timeout(QUIET_S):
                frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            if int.from_bytes(frame[:4], "big", signed=True) == _SENTINEL:
                tally.answered += 1
                return True
    except TimeoutError:
        return await _end(reader, writer, tally)
    except (OSError, asyncio.IncompleteReadError):
        tally.closed += 1
        return False


async def _end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tally: Tally) -> bool:
    """Says that nothing more will come: the broker must end its side too, whatever it waits for."""
    tally.waited += 1
    try:
        writer.write_eof()
        async with asyncio.timeout(GIVE_UP_S):
            while await reader.read(1 << 16):
                pass
    except TimeoutError:
        tally.deaf += 1
    except OSError:
        pass  # ended it is
    return False


class Line(NamedTuple):
    """A connection that is there to be a burden."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def ended(self) -> bool:
        """Whether the broker has closed it."""
        return self.reader.at_eof() or self.reader.exception() is not None or self.writer.transport.is_closing()


async def half_open(port: int, rng: Random, count: int) -> list[Line]:
    """Connections that begin a frame, small or large, and never end it."""
    lines = await idle(port, count)
    for _, writer in lines:
        announced = rng.choice((8, 1000, 1 << 20, 100 << 20))
        writer.write(announced.to_bytes(4, "big")[: rng.randint(1, 4)] + rng.randbytes(rng.choice((0, 1, 3, 7))))
    return lines


async def idle(port: int, count: int) -> list[Line]:
    """Connections that say nothing."""
    return [Line(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]


async def large_and_unfinished(port: int, count: int, size: int) -> list[Line]:
    """Connections that announce a frame, send this much of it and not its last byte."""
    lines = await idle(port, count)
    for _, writer in lines:
        writer.write((size + 1).to_bytes(4, "big"))
        for _ in range(size // (1 << 20)):
            with contextlib.suppress(OSError):
                writer.write(bytes(1 << 20))
                async with asyncio.timeout(GIVE_UP_S):
                    await writer.drain()
    return lines


async def slow_readers(port: int, topic: str, count: int, pipelined: int = 8) -> list[Line]:
    """Connections that ask for as much data as there is, again and again, and read none of it."""
    parts = [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 30}]}]
    frame = encode_request(request("Fetch", max_wait_ms=0, max_bytes=1 << 30, topics=parts), 12, 1, "slow")
    lines = []
    for _ in range(count):
        line = Line(*await asyncio.open_connection("127.0.0.1", port))
        transport = line.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)  # as that of every socket is
        transport.pause_reading()
        line.writer.write(frame * pipelined)
        lines.append(line)
    return lines


async def control(folder: Path, rng: Random, count: int) -> Tally:
    """Sends so many odd lines to a node's control channel."""
    tally = Tally()
    line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    while tally.sent < count:
        tally.sent += 1
        line = line or await asyncio.open_unix_connection(str(folder / "control.sock"), limit=1 << 24)
        try:
            line[1].write(control_line(rng))
            async with asyncio.timeout(GIVE_UP_S):
                answer = await line[0].readline()
        except TimeoutError:
            tally.deaf, answer = tally.deaf + 1, b""
        except OSError:
            answer = b""
        tally.answered += bool(answer)
        if not answer:
            tally.closed += 1
            line[1].close()
            line = None
    if line is not None:
        line[1].close()
    return tally


def end(lines: list[Line]) -> None:
    """Ends connections that were only there to be a burden."""
    for line in lines:
        line.writer.transport.abort()
