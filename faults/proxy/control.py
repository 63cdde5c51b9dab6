"""The proxy's end of the channel to the harness: asks come in, answers and observations go out; when it closes, the
proxy ends."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from brokertrial.faults.channel import ControlReport, ControlRequest, Setup, Unpacker, pack
from brokertrial.faults.proxy.proxy import Proxy
from brokertrial.faults.schedule import Window

LOG = logging.getLogger("brokertrial.faults.proxy")


class Control(asyncio.Protocol):
    """Carries out asks in the order they come. The first message is the Setup."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.proxy: Proxy | None = None
        self._unpacker = Unpacker()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        for body in self._unpacker.feed(data):
            if self.proxy is None:
                self._set_up(body)
            else:
                self._carry_out(msgspec.msgpack.decode(body, type=ControlRequest))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _set_up(self, body: bytes) -> None:
        proxy = Proxy(msgspec.msgpack.decode(body, type=Setup), self._send)
        try:
            proxy.open()
        except OSError as problem:
            self._send(ControlReport(id=0, error=f"the proxy cannot listen: {problem.strerror or problem}"))
            return
        self.proxy = proxy
        LOG.info("serving", extra={"bootstrap": proxy.nodes.bootstrap})
        self._send(ControlReport(id=0, result={"bootstrap": proxy.nodes.bootstrap}))

    def _carry_out(self, ask: ControlRequest) -> None:
        assert self.proxy is not None
        act = _ACTS.get(ask.what)
        LOG.debug("asked", extra={"what": ask.what, "ask": ask.id, **ask.args})
        try:
            if act is None:
                raise ValueError(f"the proxy cannot {ask.what!r}")
            result = act(self.proxy, ask.args)
        except (ValueError, LookupError, msgspec.ValidationError) as problem:
            LOG.warning("refused", extra={"what": ask.what, "ask": ask.id, "why": str(problem)})
            self._send(ControlReport(id=ask.id, error=str(problem)))
            return
        self.proxy.outbox.flush(ControlReport(id=ask.id, result=result))

    def _send(self, message: ControlReport) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(pack(message))


def _window(args: dict[str, Any]) -> Window:
    return msgspec.json.decode(args["window"], type=Window)


def _begin(proxy: Proxy, args: dict[str, Any]) -> None:
    proxy.begin(_window(args))


def _arm(proxy: Proxy, args: dict[str, Any]) -> None:
    proxy.arm(_window(args))


def _watch(proxy: Proxy, args: dict[str, Any]) -> None:
    proxy.watch(args["window"], args["condition"])


def _requests(proxy: Proxy, args: dict[str, Any]) -> list[tuple[int, str, int]]:
    return [(node, client, count) for (node, client), count in proxy.requests.items()]


_ACTS: dict[str, Callable[[Proxy, dict[str, Any]], Any]] = {
    "begin": _begin,
    "arm": _arm,
    "watch": _watch,
    "end": lambda proxy, args: proxy.end(args["window"]),
    "unwatch": lambda proxy, args: proxy.active_faults.unwatch(args["window"]),
    "last": lambda proxy, args: proxy.report_open_memberships(),
    "forget": lambda proxy, args: proxy.active_faults.done.clear(),
    "state": lambda proxy, args: proxy.state(),
    "hits": lambda proxy, args: proxy.active_faults.hits(),
    "lag": lambda proxy, args: proxy.lag.take(),
    "requests": _requests,
    "resolve": lambda proxy, args: proxy.resolve(args["selector"]),
    "nodes": lambda proxy, args: proxy.nodes.ids(),
    "place": lambda proxy, args: proxy.nodes.place(args["node"], args["host"], args["port"]),
    "ports": lambda proxy, args: {
        "nodes": {node: port for node, (port, _, _) in proxy.nodes.map().items()},
        "bootstrap": proxy.nodes.bootstrap_ports(),
    },
}  # fmt: skip
