"""The bundled broker as a process: `python -m reference_impl node --data DIR`, `... mutants --json`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sys
from pathlib import Path

from reference_impl import bugs
from reference_impl.config import BrokerConfig
from reference_impl.node import Node


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "mutants":
        return _list_mutants(as_json=options.json)
    logging.basicConfig(
        stream=sys.stderr, level=options.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
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
        )
        node = Node(config)
    except ValueError as error:
        print(f"reference_impl: {error}", file=sys.stderr)
        return 4
    try:
        asyncio.run(_serve(node))
    except OSError as error:
        where = f"{config.host}:{config.port}"
        print(f"reference_impl: cannot serve on {where}: {error.strerror or error}", file=sys.stderr)
        return 7
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="brokertrial broker", description="The bundled Kafka-protocol broker.")
    commands = parser.add_subparsers(dest="command", required=True)
    node = commands.add_parser("node", help="run one broker")
    node.add_argument("--data", type=Path, required=True, metavar="DIR")
    node.add_argument("--host", default="127.0.0.1")
    node.add_argument("--port", type=int, default=0, help="0: any free port; the ready line names it")
    node.add_argument("--node-id", type=int, default=0)
    node.add_argument("--mutant", action="append", default=[], metavar="ID[:every=K]", help="plant a bug")
    node.add_argument("--without", action="append", default=[], metavar="API,...", help="do not serve these APIs")
    node.add_argument("--emulate", default="4.4", metavar="VERSION", help="advertise what that Kafka serves")
    node.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting by Kafka's name")
    node.add_argument("--log-level", default="INFO")
    mutants = commands.add_parser("mutants", help="list the planted bugs")
    mutants.add_argument("--json", action="store_true")
    return parser


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


async def _serve(node: Node) -> None:
    """Serves until SIGTERM or SIGINT, then stops cleanly."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await node.start()
    print(json.dumps({"ready": True, "port": node.port, "node_id": node.node_id}), flush=True)
    await stopping.wait()
    await node.stop()


if __name__ == "__main__":
    sys.exit(main())
