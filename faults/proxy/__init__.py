"""The Kafka-aware proxy: a process that stands between clients and every node of a cluster, and disturbs single
messages.

What it promises, each with a test: without a window the bytes that pass are the broker's own, but for addresses and
capped ApiVersions; answers leave in the order of the requests; a listener is bound before an answer names it;
nothing waits without bound.
"""

import argparse
import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Coroutine
from typing import Any

import msgspec

from brokertrial import logs
from brokertrial.faults.channel import ControlReport, Setup
from brokertrial.faults.discovery import discover
from brokertrial.faults.proxy.control import Control
from brokertrial.faults.proxy.node_listeners import PortInUse
from brokertrial.faults.proxy.proxy import Proxy
from brokertrial.wire.addresses import all_parsed

__all__ = ["main", "run", "serve"]


def run(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine on the fastest loop that is installed."""
    gc.freeze()
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)


async def serve(setup: Setup) -> None:
    """A proxy in the foreground, without a harness: prints where it listens and what happens until SIGINT, SIGTERM."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    proxy = Proxy(setup, _print_events)
    proxy.open()
    print(f"bootstrap {proxy.nodes.bootstrap}", flush=True)
    try:
        await ended.wait()
    finally:
        await proxy.close()


async def _serve_channel(channel: socket.socket) -> None:
    """A proxy that does what the other end of the channel asks, and ends when that end does."""
    loop = asyncio.get_running_loop()
    _, control = await loop.create_connection(Control, sock=channel)
    await control.ended
    if control.proxy is not None:
        await control.proxy.close()


ADDRESSES = (
    "broker addresses in responses: rewrite them to those of the proxy, strip those that are optional hints, or leak "
    "them unchanged (default: %(default)s)"
)


def main(argv: list[str] | None = None) -> int:
    """`brokertrial proxy --upstream HOST:PORT[,...]`: a proxy in front of a cluster; `--control FD` is the harness's
    own way in."""
    parser = argparse.ArgumentParser(prog="brokertrial proxy", description="A Kafka-aware proxy in front of a cluster.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--upstream", help="bootstrap addresses of the cluster: HOST:PORT[,HOST:PORT...]")
    where.add_argument("--control", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--port", type=int, default=0, help="port of the first bootstrap listener (default: a free one)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on and to advertise (default: %(default)s)"
    )
    parser.add_argument("--addresses", choices=("rewrite", "strip", "leak"), default="rewrite", help=ADDRESSES)
    options = parser.parse_args(argv)
    logs.begin("proxy")
    if options.control is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the harness, which heals before it ends us
        run(_serve_channel(socket.socket(fileno=options.control)))
        return 0
    try:
        bootstrap = all_parsed(options.upstream)
        setup = Setup(bootstrap=bootstrap, host=options.host, bootstrap_port=options.port, addresses=options.addresses)
        setup.nodes = discover(bootstrap)
        run(serve(setup))
    except PortInUse as problem:
        print(f"brokertrial: {problem.strerror}", file=sys.stderr)
        return 4
    except ValueError as problem:
        print(f"brokertrial: {problem}", file=sys.stderr)
        return 4
    return 0


def _print_events(message: ControlReport) -> None:
    for table, row in message.rows:
        if table == "events":
            event = msgspec.msgpack.decode(row)
            shown = " ".join(f"{k}={v}" for k, v in event.items() if v is not None and k not in ("kind", "at_ns"))
            print(f"{event['kind']} {shown}", flush=True)
