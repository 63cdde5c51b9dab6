"""The proxy's end of the channel to the harness: asks come in, answers and observations go out; when it closes, the
proxy ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from faults.channel import Ask, Setup, Tell, Unpacker, pack
from faults.proxy.house import House
from faults.schedule import Window


class Control(asyncio.Protocol):
    """Carries out asks in the order they come. The first message is the Setup."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.house: House | None = None
        self._unpacker = Unpacker()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        for body in self._unpacker.feed(data):
            if self.house is None:
                self._set_up(body)
            else:
                self._carry_out(msgspec.msgpack.decode(body, type=Ask))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _set_up(self, body: bytes) -> None:
        house = House(msgspec.msgpack.decode(body, type=Setup), self._send)
        try:
            house.open()
        except OSError as problem:
            self._send(Tell(id=0, error=f"the proxy cannot listen: {problem.strerror or problem}"))
            return
        self.house = house
        self._send(Tell(id=0, result={"bootstrap": house.nodes.bootstrap}))

    def _carry_out(self, ask: Ask) -> None:
        assert self.house is not None
        act = _ACTS.get(ask.what)
        try:
            if act is None:
                raise ValueError(f"the proxy cannot {ask.what!r}")
            result = act(self.house, ask.args)
        except (ValueError, LookupError, msgspec.ValidationError) as problem:
            self._send(Tell(id=ask.id, error=str(problem)))
            return
        self.house.outbox.flush(Tell(id=ask.id, result=result))

    def _send(self, message: Tell) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(pack(message))


def _window(args: dict[str, Any]) -> Window:
    return msgspec.json.decode(args["window"], type=Window)


def _begin(house: House, args: dict[str, Any]) -> None:
    house.begin(_window(args))


def _arm(house: House, args: dict[str, Any]) -> None:
    house.arm(_window(args))


def _watch(house: House, args: dict[str, Any]) -> None:
    house.watch(args["window"], args["condition"])


def _requests(house: House, args: dict[str, Any]) -> list[tuple[int, str, int]]:
    return [(node, client, count) for (node, client), count in house.requests.items()]


_ACTS: dict[str, Callable[[House, dict[str, Any]], Any]] = {
    "begin": _begin,
    "arm": _arm,
    "watch": _watch,
    "end": lambda house, args: house.end(args["window"]),
    "unwatch": lambda house, args: house.board.unwatch(args["window"]),
    "last": lambda house, args: house.tell_lasting(),
    "forget": lambda house, args: house.board.done.clear(),
    "state": lambda house, args: house.state(),
    "hits": lambda house, args: house.board.hits(),
    "lag": lambda house, args: house.lag.take(),
    "requests": _requests,
    "resolve": lambda house, args: house.resolve(args["selector"]),
    "nodes": lambda house, args: house.nodes.ids(),
    "place": lambda house, args: house.nodes.place(args["node"], args["host"], args["port"]),
    "ports": lambda house, args: {
        "nodes": {node: port for node, (port, _, _) in house.nodes.map().items()},
        "bootstrap": house.nodes.bootstrap_ports(),
    },
}  # fmt: skip
