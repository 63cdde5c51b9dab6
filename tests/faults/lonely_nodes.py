"""Nodes that only listen and connect, one in each namespace: run as a script, or asked by a test through `Nodes`."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

PATIENCE_S = 0.4
"""For a connection, which the kernels make by themselves."""
ECHO_S = 5.0
"""For an answer on it: a busy machine lets the other process wait."""
PACKETS, DATAGRAMS = 60, 9_999


def main(host: str, ports: list[int]) -> None:
    """Echoes on every port; for each line of standard input, says how a connection to that place fares."""
    for port in ports:
        listening = socket.create_server((host, port))
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
    heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    heard.bind((host, DATAGRAMS))
    print("ready", flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        what = wanted.pop("what")
        print(json.dumps(_ask(**wanted) if what == "ask" else _tell(heard, **wanted)), flush=True)


def _tell(heard: socket.socket, host: str = "") -> int:
    """Sends some datagrams there, or counts those that came."""
    if host:
        return sum(heard.sendto(b"x", (host, DATAGRAMS)) for _ in range(PACKETS))
    heard.settimeout(0.1)
    count = 0
    try:
        while heard.recv(1):
            count += 1
    except TimeoutError:
        return count
    raise AssertionError("a datagram without content")


def _accept(listening: socket.socket) -> None:
    while True:
        line, _ = listening.accept()
        threading.Thread(target=_echo, args=(line,), daemon=True).start()


def _echo(line: socket.socket) -> None:
    try:
        while data := line.recv(1 << 16):
            line.sendall(data)
    except OSError:
        pass


def _ask(host: str, port: int, size: int) -> dict[str, Any]:
    began = time.monotonic()
    try:
        with socket.create_connection((host, port), PATIENCE_S) as line:
            line.settimeout(max(ECHO_S, size / 20_000))
            sent = b"x" * size
            threading.Thread(target=line.sendall, args=(sent,), daemon=True).start()
            got = 0
            while got < size:
                got += len(line.recv(1 << 16))
            state = "reached"
    except ConnectionError:
        state = "reset"
    except TimeoutError:
        state = "silent"
    return {"state": state, "took_s": time.monotonic() - began}


class Nodes:
    """The agents of a network, one a node."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self._agents: dict[int, subprocess.Popen[str]] = {}
        for node in network.members.everybody:
            places = network.listeners(node)
            ports = [places.inside(service)[1] for service in ("clients", "brokers", "controllers")]
            script = [sys.executable, "-S", str(Path(__file__)), places.host, json.dumps(ports)]
            self._agents[node] = subprocess.Popen(
                network.inside(node, script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        for agent in self._agents.values():
            assert agent.stdout is not None and agent.stdout.readline() == "ready\n"

    def ask(self, source: int, destination: int, service: str = "brokers", size: int = 1) -> dict[str, Any]:
        """How a connection between two nodes fares, and how long it took."""
        host, port = self.network.listeners(destination).inside(service)
        answer: dict[str, Any] = self._answer(source, what="ask", host=host, port=port, size=size)
        return answer

    def datagrams(self, source: int, destination: int) -> int:
        """How many of PACKETS datagrams arrive."""
        self._answer(source, what="tell", host=self.network.listeners(destination).host)
        return int(self._answer(destination, what="tell"))

    def hears(self, node: int, other: int) -> bool:
        """Whether packets of the other arrive at the node."""
        return self.datagrams(other, node) > 0

    def _answer(self, node: int, **wanted: Any) -> Any:
        agent = self._agents[node]
        assert agent.stdin is not None and agent.stdout is not None
        agent.stdin.write(json.dumps(wanted) + "\n")
        agent.stdin.flush()
        return json.loads(agent.stdout.readline())

    def state(self, source: int, destination: int, service: str = "brokers") -> str:
        return str(self.ask(source, destination, service)["state"])

    def client(self, node: int) -> str:
        """How a client outside fares, through the gateway."""
        return str(_ask(*self.network.listeners(node).outside, size=1)["state"])

    def close(self) -> None:
        for agent in self._agents.values():
            agent.kill()
            agent.communicate()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
