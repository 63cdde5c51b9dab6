"""What a target with a ZooKeeper must be able to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokertrial.faults.node_control import NodeControl


@dataclass(frozen=True, slots=True)
class ZooKeeperControl:
    """The ensemble of a cluster: where its clients find it, with the chroot, and its servers by their ids."""

    address: str
    servers: Mapping[int, NodeControl]
