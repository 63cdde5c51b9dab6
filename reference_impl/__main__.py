"""The bundled broker as a process: `python -m brokertrial.reference_impl node --data DIR`, `--nodes 3`, `mutants`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

from brokertrial import logs
from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.broker import cluster
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.log import open_files, powercut
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.reference_impl.stop_signals import stop_signals
from brokertrial.wire.addresses import parsed


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0].startswith("--nodes"):
        given.insert(0, "cluster")
    elif given and given[0] == "--mutants":
        given[0] = "mutants"
    options = _parser().parse_args(given)
    if options.command == "mutants":
        return _list_mutants(as_json=options.json)
    if options.command == "cluster":
        return cluster.run(options.nodes, options.data, options.port, options.rest)
    if options.command == "powercut":
        return powercut.run(options.data, options.torn)
    logging.basicConfig(
        stream=sys.stderr, level=options.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logs.begin(f"broker {options.command} {options.node_id}")
    open_files.raise_limit()
    try:
        for mutant in options.mutant:
            logging.getLogger("node").warning("planted: %s", bugs.plant(mutant).story)
        config = BrokerConfig(
            data=options.data,
            port=options.port,
            host=options.host,
            node_id=options.node_id,
            without=frozenset(name for text in options.without for name in text.split(",") if name),
            emulate=options.emulate,
            settings=dict(_setting(text) for text in options.set),
            controller=_address("--controller", getattr(options, "controller", None)),
            peers=_address("--peers", getattr(options, "peers", None)),
            controller_only=options.command == "controller",
        )
        node = Node(config)
    except ValueError as error:
        print(f"reference_impl: {error}", file=sys.stderr)
        return 4
    try:
        asyncio.run(_serve(node, die_with_parent=options.die_with_parent))
    except ValueError as error:
        print(f"reference_impl: {error}", file=sys.stderr)
        return 4
    except OSError as error:
        where = f"{config.host}:{config.port}"
        print(f"reference_impl: cannot serve on {where}: {error.strerror or error}", file=sys.stderr)
        return 7
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="brokertrial broker", description="The bundled Kafka-protocol broker.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("node", "run one broker"), ("controller", "run the controller of a cluster")):
        _process_options(commands.add_parser(name, help=text), name)
    several = commands.add_parser("cluster", help="run a controller and several brokers until Ctrl-C")
    several.add_argument("--nodes", type=int, default=3, metavar="N")
    several.add_argument("--data", type=Path, metavar="DIR", help="default: a temporary folder, removed at the end")
    several.add_argument("--port", type=int, default=0, help="of the first broker; the others follow it")
    several.add_argument("rest", nargs=argparse.REMAINDER, help="further options of every broker, after --")
    cut = commands.add_parser("powercut", help="drop what a stopped broker had not synced to disk, as a power cut")
    cut.add_argument("data", type=Path, metavar="DIR")
    cut.add_argument("--torn", type=int, metavar="SEED", help="with a torn tail of random bytes behind it")
    mutants = commands.add_parser("mutants", help="list the planted bugs")
    mutants.add_argument("--json", action="store_true")
    return parser


def _process_options(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port; the ready line names it")
    parser.add_argument("--node-id", type=int, default=0 if kind == "node" else 100)
    if kind == "node":
        parser.add_argument("--controller", metavar="HOST:PORT", help="be a broker of the cluster of this controller")
        parser.add_argument("--peers", metavar="HOST:PORT", help="a listener for the other brokers alone")
    parser.add_argument("--mutant", action="append", default=[], metavar="ID[:every=K]", help="plant a bug")
    parser.add_argument("--without", action="append", default=[], metavar="API,...", help="do not serve these APIs")
    parser.add_argument("--emulate", default="4.4", metavar="VERSION", help="advertise what that Kafka serves")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting by Kafka's name")
    parser.add_argument("--die-with-parent", action="store_true", help="end when standard input does, or has a line")
    parser.add_argument("--log-level", default="INFO")


def _address(option: str, text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    try:
        return parsed(text)
    except ValueError:
        raise ValueError(f"{option} {text}: needs HOST:PORT") from None


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text}: needs KEY=VALUE")
    return key, value


def _list_mutants(*, as_json: bool) -> int:
    found = bugs.registry().values()
    if as_json:
        print(json.dumps([bug.as_json() for bug in found], indent=1))
    else:
        for bug in found:
            print(f"{bug.id:6} {bug.guarantee:10} {bug.story}")
    return 0


async def _serve(node: Node, *, die_with_parent: bool) -> None:
    """Serves until SIGTERM, SIGINT or SIGHUP, then stops cleanly."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    if die_with_parent:
        _watch_parent(loop, stopping)
    for number in stop_signals():
        if die_with_parent and (number is not signal.SIGTERM or node.config.controller_only):
            signal.signal(number, signal.SIG_IGN)  # it reaches all of a cluster: the parent says who stops when
        else:
            loop.add_signal_handler(number, stopping.set)
    starting, stopped = asyncio.ensure_future(node.start()), asyncio.ensure_future(stopping.wait())
    await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():  # it may be waiting for a controller that never comes
        starting.cancel()
        return
    stopped.cancel()
    starting.result()
    print(json.dumps({"ready": True, "port": node.port, "node_id": node.node_id}), flush=True)
    await stopping.wait()
    await node.stop()


def _watch_parent(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    try:
        loop.add_reader(sys.stdin.fileno(), _parent_says, stopping)
    except PermissionError:  # a file or /dev/null never ends: epoll refuses it
        raise ValueError("--die-with-parent: standard input must be a pipe, which ends with the parent") from None


def _parent_says(stopping: asyncio.Event) -> None:
    """A line asks for an orderly stop; without a parent there is nobody left to ask."""
    if os.read(sys.stdin.fileno(), 4096):
        stopping.set()
    else:
        os._exit(9)


if __name__ == "__main__":
    sys.exit(main())
