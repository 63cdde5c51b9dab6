"""The ensemble that a cluster is in: its servers one by one, and what it holds outside of the cluster's chroot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from brokertrial.suites.probe.acts import came_of
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.znode import Znode
from brokertrial.suites.probe.zookeeper import ZooKeeper, ZooKeeperReader

ROOT = "/.."
"""How the history names the root of the ensemble: all other paths are below the chroot of the cluster."""


def node_outside(zookeeper: ZooKeeper, path: str) -> Znode:
    """A node of the ensemble wherever it is, by its path from the root."""

    def look() -> str:
        control = zookeeper.ensemble.control
        reader = ZooKeeperReader(replace(control, address=control.root))
        try:
            seen = msgspec.json.decode(reader.look(path), type=Znode)
        finally:
            reader.close()
        return msgspec.json.encode(msgspec.structs.replace(seen, path=ROOT + path)).decode()

    return msgspec.json.decode(zookeeper.door.observe(ROOT + path, look), type=Znode)


def servers(zookeeper: ZooKeeper) -> list[int]:
    """The ids of the servers of the ensemble."""
    text = zookeeper.door.act(
        "list servers", lambda: msgspec.json.encode(sorted(zookeeper.ensemble.control.servers)).decode()
    )
    return msgspec.json.decode(text, type=list[int])


@contextmanager
def frozen(zookeeper: ZooKeeper, server: int) -> Iterator[None]:
    """One server stands still inside, and goes on afterwards. Looks wait until then: they may be asked of that one."""

    def freeze() -> None:
        zookeeper.ensemble.close()  # it may be connected to this one
        zookeeper.ensemble.control.servers[server].pause()

    def thaw() -> None:
        zookeeper.ensemble.control.servers[server].resume()

    try:
        if why := zookeeper.door.act(f"pause server {server}", lambda: came_of(freeze)):
            raise Unclear("suite", f"ZooKeeper server {server} could not be paused: {why}")
        yield
    finally:
        if why := zookeeper.door.act(f"resume server {server}", lambda: came_of(thaw)):
            raise Unclear("suite", f"ZooKeeper server {server} could not be resumed: {why}")
