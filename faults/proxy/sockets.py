"""The two sockets of a link, client and broker. Who cannot be written to stops the other from being read."""

import asyncio
import socket
import struct
from typing import Protocol

WRITE_BUFFER = 1 << 20
_LINGER_NONE = struct.pack("ii", 1, 0)


class LinkEvents(Protocol):
    """What a link does with what happens on its sockets."""

    sockets: "Sockets"

    def client_made(self, transport: asyncio.Transport) -> None: ...
    def upstream_made(self, transport: asyncio.Transport) -> None: ...
    def client_gone(self) -> None: ...
    def upstream_gone(self) -> None: ...
    def from_client(self, data: bytes) -> None: ...
    def from_upstream(self, data: bytes) -> None: ...


class LinkSocket(asyncio.Protocol):
    """One of the two, as asyncio wants it."""

    def __init__(self, link: LinkEvents, is_client: bool) -> None:
        self._link = link
        self._is_client = is_client
        self.data_received = link.from_client if is_client else link.from_upstream  # type: ignore[method-assign]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        (self._link.client_made if self._is_client else self._link.upstream_made)(transport)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        (self._link.client_gone if self._is_client else self._link.upstream_gone)()

    def pause_writing(self) -> None:
        self._link.sockets.press("peer", not self._is_client, True)

    def resume_writing(self) -> None:
        self._link.sockets.press("peer", not self._is_client, False)


class Sockets:
    """Writes to either end, and stops reading from one for as long as anybody has a reason."""

    def __init__(self) -> None:
        self.client: asyncio.Transport | None = None
        self.upstream: asyncio.Transport | None = None
        self._reasons: dict[bool, set[str]] = {True: set(), False: set()}
        self._early: list[bytes] = []
        self._was_connected = False

    def set_client(self, transport: asyncio.Transport) -> None:
        """The client has connected; it is not read from before the broker has answered."""
        self.client = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        # uvloop only begins to read after connection_made has returned, so it is told to stop after that.
        asyncio.get_running_loop().call_soon(self._await_upstream)

    def set_upstream(self, transport: asyncio.Transport) -> None:
        """The broker has answered: what came too early is written, and the client is read from."""
        self.upstream, self._was_connected = transport, True
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        transport.writelines(self._early)
        self._early.clear()
        self.press("connecting", True, False)

    def press(self, who: str, from_client: bool, pause: bool) -> None:
        """Stops or goes on reading from one end: TCP itself holds the sender back."""
        reasons = self._reasons[from_client]
        (reasons.add if pause else reasons.discard)(who)
        transport = self.client if from_client else self.upstream
        if transport is not None and not transport.is_closing():
            (transport.pause_reading if reasons else transport.resume_reading)()

    def write_upstream(self, data: bytes) -> None:
        if self.upstream is not None:
            self.upstream.write(data)
        elif not self._was_connected:
            self._early.append(data)  # the few bytes that came before reading could be stopped

    def write_client(self, data: bytes) -> None:
        if self.client is not None:
            self.client.write(data)

    def close_upstream(self) -> None:
        if self.upstream is not None:
            self.upstream.close()

    def close_client(self) -> None:
        if self.client is not None:
            self.client.close()

    def abort(self) -> None:
        """Ends both at once; the peers see a reset."""
        for transport in (self.client, self.upstream):
            if transport is not None:
                if (raw := transport.get_extra_info("socket")) is not None and not transport.is_closing():
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
                transport.abort()

    def _await_upstream(self) -> None:
        if not self._was_connected:
            self.press("connecting", True, True)
