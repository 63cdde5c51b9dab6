"""The network that the nodes of a target live in: a namespace for each, one bridge, one gateway for their clients.

    clients, proxy -> 127.0.0.1:PORT -> gateway 10.77.0.254 -> bridge -> 10.77.0.200, 10.77.0.2, ... one for each node

Clients reach a node by a port of this machine, as they would without; nodes reach each other by their own addresses.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from brokertrial.faults.packets import CLIENTS, Members, NetworkFailed, PacketEffect, PacketRule, Service, Shaping
from brokertrial.suites.targets import reaper
from brokertrial.suites.targets.network import packet_rules, shaping
from brokertrial.suites.targets.network.namespaces import Namespace
from brokertrial.suites.targets.network.packet_rules import PORTS, FoundRule
from brokertrial.wire.ports import free_ports

GATEWAY = "10.77.0.254"
NODE_0 = 200
"""The last part of the address of node 0, for .0 is none."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where one node listens inside, and where its clients find it outside."""

    host: str
    outside: tuple[str, int]

    def inside(self, service: Service) -> tuple[str, int]:
        """Its listener for clients, brokers or controllers."""
        return self.host, PORTS[service]


class NodeNetwork:
    """Made with `NodeNetwork.made`; a NetworkControl for schedules. `close` leaves nothing of it."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._ports = dict(zip(members.brokers, free_ports(len(members.brokers)), strict=True))
        self._spaces: dict[int, Namespace] = {}
        self._ruled: dict[str, list[int]] = {}
        """The nodes at which each window has rules."""
        self._shaped: dict[str, list[Shaping]] = {}
        self._gateway: subprocess.Popen[bytes] | None = None
        self._held = contextlib.ExitStack()
        self._lock = threading.RLock()

    @classmethod
    def made(cls, members: Members) -> NodeNetwork:
        """Namespaces, lines and gateway for these nodes; NetworkFailed where this machine has none to give."""
        network = cls(members)
        try:
            network._make()
        except BaseException:
            network.close()
            raise
        return network

    @property
    def members(self) -> Members:
        return self._members

    def listeners(self, node: int) -> Listeners:
        """Where a node listens."""
        return Listeners(_address(node), ("127.0.0.1", self._ports.get(node, 0)))

    def inside(self, node: int, command: Sequence[str]) -> list[str]:
        """The command that runs this one where the node lives."""
        return self._spaces[node].enter(*command)

    # What a schedule does

    def apply(self, window: str, effects: Sequence[PacketEffect]) -> None:
        with self._lock:
            rules = [effect for effect in effects if isinstance(effect, PacketRule)]
            addresses = {node: _address(node) for node in self._spaces}
            lines: dict[int, list[str]] = {}
            for rule in rules:
                lines.setdefault(rule.destination, []).extend(packet_rules.additions(window, rule, addresses))
            self._ruled[window] = list(lines)
            self._at_once(lines)
            for receiver, mine in lines.items():
                there = sum(one.window == window for one in self._found(receiver))
                if there < len(mine):
                    raise NetworkFailed(f"of {len(mine)} rules of {window} the kernel has {there}")
            self._shaped[window] = [effect for effect in effects if isinstance(effect, Shaping)]
            for line in self._shaped[window]:
                shaping.shape(self._spaces[CLIENTS], self._spaces[line.node], line)

    def hits(self) -> dict[str, int]:
        with self._lock:
            counted: dict[str, int] = {}
            for node in self._ruled_nodes():
                for one in self._found(node):
                    counted[one.window] = counted.get(one.window, 0) + one.packets
            for window, lines in self._shaped.items():
                for line in lines:
                    met = shaping.packets(self._spaces[CLIENTS], self._spaces[line.node], line)
                    counted[window] = counted.get(window, 0) + met
            return counted

    def heal(self, window: str) -> int:
        with self._lock:
            mine = {
                node: [one for one in self._found(node) if one.window == window] for node in self._ruled.get(window, ())
            }
            deletions = {node: [packet_rules.deletion(one.handle) for one in rules] for node, rules in mine.items()}
            self._at_once(deletions)
            met = sum(one.packets for rules in mine.values() for one in rules)
            for line in self._shaped.pop(window, ()):
                met += shaping.unshape(self._spaces[CLIENTS], self._spaces[line.node], line)
            if window in self.left():
                raise NetworkFailed(f"the kernel still has a rule of {window}")
            self._ruled.pop(window, None)
            return met

    def left(self) -> frozenset[str]:
        with self._lock:
            ruled = {one.window for node in self._ruled_nodes() for one in self._found(node)}
            return frozenset(ruled | {window for window, lines in self._shaped.items() if lines})

    def _ruled_nodes(self) -> set[int]:
        return {node for nodes in self._ruled.values() for node in nodes}

    def _found(self, node: int) -> list[FoundRule]:
        return packet_rules.found(self._spaces[node].run(*packet_rules.LIST))

    def _at_once(self, lines: Mapping[int, Sequence[str]]) -> None:
        """Has the kernel of each node take its lines, all in the same moment: half a cut is another fault."""
        with ThreadPoolExecutor(max_workers=max(1, len(lines))) as pool:
            done = [pool.submit(self._nft, node, mine) for node, mine in lines.items()]
        for one in done:
            one.result()

    def _nft(self, node: int, lines: Sequence[str]) -> None:
        self._spaces[node].run("nft", "-f", "-", text="\n".join(lines) + "\n")

    # How it is made, and goes

    def _make(self) -> None:
        outer = self._spaces[CLIENTS] = self._hold(Namespace.outer())
        nodes = self._members.everybody
        lines = ["link set lo up", "link add br0 type bridge", f"address add {GATEWAY}/24 dev br0", "link set br0 up"]
        for node in nodes:
            space = self._spaces[node] = self._hold(outer.inner())
            lines += [
                f"link add {shaping.line_of(node)} type veth peer name {shaping.INNER} netns {space.pid}",
                f"link set {shaping.line_of(node)} master br0 up",
            ]
        outer.run("ip", "-batch", "-", text="\n".join(lines) + "\n")
        for node in nodes:
            address = f"address add {_address(node)}/24 dev {shaping.INNER}"
            inner = ["link set lo up", address, f"link set {shaping.INNER} up"]
            self._spaces[node].run("ip", "-batch", "-", text="\n".join(inner) + "\n")
        for space in self._spaces.values():
            space.run("nft", "-f", "-", text=packet_rules.CREATE)
        self._open_gateway()

    def _hold(self, space: Namespace) -> Namespace:
        self._held.callback(space.close)
        return space

    def _open_gateway(self) -> None:
        entrances: dict[str, tuple[str, int]] = {}
        with contextlib.ExitStack() as ours:
            for node, port in self._ports.items():
                listening = ours.enter_context(socket.create_server(("127.0.0.1", port), backlog=512))
                entrances[str(listening.fileno())] = self.listeners(node).inside("clients")
            script = [sys.executable, "-I", str(Path(__file__).with_name("gateway.py")), json.dumps(entrances)]
            self._gateway = subprocess.Popen(
                self._spaces[CLIENTS].enter(*script),
                stdin=subprocess.PIPE,
                pass_fds=[int(number) for number in entrances],
                start_new_session=True,
            )
        reaper.watch(self._gateway.pid)

    @property
    def gateway_pid(self) -> int:
        """The process through which clients reach the nodes; 0 where there is none."""
        return self._gateway.pid if self._gateway is not None else 0

    def fault(self) -> str:
        """What of this network has ended by itself; empty while all of it is there."""
        status = self._gateway.poll() if self._gateway is not None else None
        return "" if status is None else f"the gateway to its nodes ended by itself (status {status})"

    def mend(self) -> None:
        """Puts another gateway in the place of one that has ended."""
        if self.fault():
            self._end_gateway()
            self._open_gateway()

    def close(self) -> None:
        """Ends the gateway and lets every namespace go; may be called twice."""
        self._end_gateway()
        self._held.close()
        self._spaces.clear()
        self._ruled.clear()
        self._shaped.clear()

    def _end_gateway(self) -> None:
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(gateway.pid, signal.SIGKILL)
            gateway.wait(timeout=10)
            if gateway.stdin is not None:
                gateway.stdin.close()
            reaper.forget(gateway.pid)


def _address(node: int) -> str:
    return GATEWAY if node == CLIENTS else f"10.77.0.{node or NODE_0}"
