"""`zookeeper` in a case: what the ZooKeeper of a cluster holds. Looks and acts are in the history, for `check`.

Paths are below the chroot of the cluster. Sources: "ZooKeeper Directories" of Kafka's documentation up to 3.9, and
kafka.zk.ZkData.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from brokertrial.faults.zookeeper_control import ZooKeeperControl
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.znode import Znode

_PATIENCE_S = 20.0


class ZooKeeperReader:
    """Reads and deletes nodes of a running ensemble; connects at the first look."""

    def __init__(self, control: ZooKeeperControl | None) -> None:
        self._control = control
        self._client: Any = None

    @property
    def control(self) -> ZooKeeperControl:
        if self._control is None:
            raise Unclear("suite", "the target has no ZooKeeper that can be read")
        return self._control

    def look(self, path: str) -> str:
        """The node as JSON, with its children."""
        from kazoo.exceptions import NoNodeError

        try:
            data, stat = self._connected().get(path)
            children = tuple(sorted(self._connected().get_children(path)))
        except NoNodeError:
            return msgspec.json.encode(Znode(path, False)).decode()
        text = (data or b"").decode("utf-8", "replace")
        seen = Znode(path, True, text, stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner or 0, children)
        return msgspec.json.encode(seen).decode()

    def delete(self, path: str) -> str:
        """Deletes a node, as another client of the ensemble may; returns why it did not."""
        from kazoo.exceptions import KazooException

        try:
            self._connected().delete(path)
        except KazooException as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def servers(self, act: Callable[[Any], None]) -> str:
        """Does something to every server, our connection closed before; returns why it did not work."""
        self.close()
        for server in self.control.servers.values():
            try:
                act(server)
            except Exception as error:  # noqa: BLE001 - whatever a target raises is the outcome of the act
                return f"{type(error).__name__}: {error}"
        return ""

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._client is not None:
            self._client.stop()
            self._client.close()
            self._client = None

    def _connected(self) -> Any:
        if self._client is None:
            from kazoo.client import KazooClient

            self._client = KazooClient(hosts=self.control.address, timeout=_PATIENCE_S, read_only=False)
            self._client.start(timeout=_PATIENCE_S)
        return self._client


class ZooKeeper:
    """What a case is given."""

    def __init__(self, exchanger: Exchanger, reader: ZooKeeperReader) -> None:
        self._exchanger = exchanger
        self._reader = reader
        self._down = False

    @property
    def door(self) -> Exchanger:
        """For what else is done with an ensemble: what comes in through it is in the history."""
        return self._exchanger

    @property
    def ensemble(self) -> ZooKeeperReader:
        """The ensemble itself; only acts and looks may use it, which `check` does not repeat."""
        return self._reader

    def node(self, path: str) -> Znode:
        """The node now; `exists` is false where there is none."""
        seen = self._exchanger.observe(path, lambda: self._reader.look(path))
        return msgspec.json.decode(seen, type=Znode)

    def state(self, topic: str, partition: int = 0) -> Znode:
        """Leader, in-sync replicas and epochs of a partition."""
        return self.node(f"/brokers/topics/{topic}/partitions/{partition}/state")

    def controller(self) -> Znode:
        return self.node("/controller")

    def controller_epoch(self) -> Znode:
        return self.node("/controller_epoch")

    def broker(self, node: int) -> Znode:
        """The registration of a broker."""
        return self.node(f"/brokers/ids/{node}")

    def brokers(self) -> Mapping[int, Znode]:
        """Every broker that is registered."""
        return {int(name): self.broker(int(name)) for name in self.node("/brokers/ids").children}

    def delete(self, path: str) -> None:
        self._must_work(f"delete {path}", lambda: self._reader.delete(path))

    def stop(self) -> None:
        """Stops every server; sessions go on for as long as their timeout says."""
        self._down = True
        self._must_work("stop zookeeper", lambda: self._reader.servers(lambda server: server.terminate()))

    def start(self) -> None:
        """Starts every server with its data."""
        self._must_work("start zookeeper", lambda: self._reader.servers(lambda server: server.restart()))
        self._down = False

    def heal(self) -> None:
        """Starts what the case left down."""
        if self._down:
            self.start()

    def _must_work(self, what: str, act: Callable[[], str]) -> None:
        if why := self._exchanger.act(what, act):
            raise Unclear("suite", f"{what} did not work: {why}")
