"""What a target with a ZooKeeper must be able to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brokertrial.faults.node_control import NodeControl

if TYPE_CHECKING:
    from brokertrial.faults.further_broker import MakesBrokers


@dataclass(frozen=True, slots=True)
class ZooKeeperControl:
    """The ensemble of a cluster: where its clients find it, with the chroot, its servers by their ids, and further
    brokers on it."""

    address: str
    servers: Mapping[int, NodeControl]
    further_broker: MakesBrokers

    @property
    def root(self) -> str:
        """Where clients find it, without a chroot."""
        return self.address.partition("/")[0]
