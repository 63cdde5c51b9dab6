"""The ZooKeeper of a Kafka up to 3.9: one server or an ensemble of three, each a process on this machine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from brokertrial.suites.targets.apache.settings import ZOOKEEPER_SESSION_MS
from brokertrial.suites.targets.base import TargetNotReady
from brokertrial.suites.targets.readiness import NotYet

CHROOT = "/kafka"
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_ANSWER_S = 2.0
_LONGEST_ANSWER = 64 * 1024
_GRACE_S = 20.0
_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class ZooKeeperServer:
    """One server of the ensemble: its id and its three ports on this machine."""

    server_id: int
    port: int
    quorum_port: int
    election_port: int


def members(ports: Sequence[int]) -> tuple[ZooKeeperServer, ...]:
    """Servers 1, 2, ... on these ports, three for each."""
    return tuple(ZooKeeperServer(n // 3 + 1, *ports[n : n + 3]) for n in range(0, len(ports), 3))


def hosts(servers: Sequence[ZooKeeperServer]) -> str:
    """Where clients find the ensemble, without a chroot."""
    return ",".join(f"127.0.0.1:{server.port}" for server in servers)


def configuration(server: ZooKeeperServer, servers: Sequence[ZooKeeperServer], data: Path) -> str:
    """The zoo.cfg of one server. Its shortest session is two ticks."""
    lines = [
        "tickTime=500",
        "initLimit=60",
        "syncLimit=20",
        f"dataDir={data}",
        f"clientPort={server.port}",
        "clientPortAddress=127.0.0.1",
        "maxClientCnxns=0",
        "admin.enableServer=false",
        "4lw.commands.whitelist=ruok,srvr",
    ]
    if len(servers) > 1:
        lines += [f"server.{each.server_id}=127.0.0.1:{each.quorum_port}:{each.election_port}" for each in servers]
    return "\n".join(lines) + "\n"


def prepare(server: ZooKeeperServer, servers: Sequence[ZooKeeperServer], folder: Path) -> Path:
    """Writes the settings and the identity of one server into its folder; returns its zoo.cfg."""
    data = folder / "data"
    data.mkdir(parents=True)
    (data / "myid").write_text(f"{server.server_id}\n")
    path = folder / "zoo.cfg"
    path.write_text(configuration(server, servers, data))
    return path


def serves(address: tuple[str, int]) -> None:
    """The server there answers `srvr` and knows its role; else NotYet."""
    answer = answers(address)
    if b"Mode:" not in answer:
        raise NotYet(f"it answers {answer[:80]!r}")


def answers(address: tuple[str, int]) -> bytes:
    """What the server there answers to `srvr`, also while it has no majority to serve with; else NotYet."""
    try:
        with socket.create_connection(address, timeout=_ANSWER_S) as connection:
            connection.sendall(b"srvr")
            return connection.makefile("rb").read(_LONGEST_ANSWER)
    except OSError as error:
        raise NotYet(f"it does not answer: {error}") from error


def registration_ended(ensemble: str, broker: int) -> Callable[[], None]:
    """Waits until the session of a broker that was killed has ended; a broker that starts earlier gives up.

    Its id is an ephemeral node of the old session (KafkaZkClient.CheckedEphemeral). Raises TargetNotReady when it is
    still there long after the session should have ended.
    """
    path = f"{CHROOT}/brokers/ids/{broker}"

    def wait() -> None:
        within_s = ZOOKEEPER_SESSION_MS / 1000 + _GRACE_S
        client = KazooClient(hosts=ensemble, timeout=within_s)
        try:
            client.start(timeout=within_s)
            deadline, pause = time.monotonic() + within_s, threading.Event()
            while client.exists(path) is not None:
                if time.monotonic() > deadline:
                    raise TargetNotReady(f"{path} is still in ZooKeeper {within_s:g} s after the broker ended")
                pause.wait(_PAUSE_S)
        except (KazooException, KazooTimeoutError) as error:
            raise TargetNotReady(f"ZooKeeper at {ensemble} does not answer: {type(error).__name__} {error}") from error
        finally:
            client.stop()
            client.close()

    return wait
