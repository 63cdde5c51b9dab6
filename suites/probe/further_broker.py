"""A broker that a case starts beside the nodes of the target, on the ZooKeeper that these have. It ends with a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from brokertrial.faults.further_broker import FurtherBroker
from brokertrial.suites.probe.acts import came_of
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.failures import BrokerAtFault, Unclear
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.probe.zookeeper import ZooKeeper
from brokertrial.wire import addresses

APART = "further:"
"""Begins the names of its connections: two probes share one tape."""


class ApartExchanger:
    """The same door, with names of connections of its own."""

    def __init__(self, exchanger: Exchanger) -> None:
        self._door = exchanger

    def open(self, connection: str, node: int, address: tuple[str, int], timeout_s: float) -> None:
        self._door.open(APART + connection, node, address, timeout_s)

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        return self._door.send(APART + connection, frame, api, version)

    def together(self) -> AbstractContextManager[None]:
        return self._door.together()

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        return self._door.receive(APART + connection, timeout_s, api, version)

    def close(self, connection: str) -> None:
        self._door.close(APART + connection)

    def clock(self) -> tuple[int, int]:
        return self._door.clock()

    def pause(self, seconds: float) -> None:
        self._door.pause(seconds)

    def act(self, what: str, do: Callable[[], str]) -> str:
        return self._door.act(what, do)

    def observe(self, path: str, look: Callable[[], str]) -> str:
        return self._door.observe(path, look)


class BrokerBeside:
    """What a case is given of it."""

    def __init__(self, wire: Wire, zookeeper: ZooKeeper) -> None:
        self._wire = wire
        self._door = zookeeper.door
        self._control: FurtherBroker | None = None
        self._probe: Wire | None = None
        self._address: tuple[str, int] = ("", 0)

    def has_ended(self) -> bool:
        """Whether its process has ended by itself."""
        return self._door.act("further broker ended", self._end) != ""

    def has_said(self, word: str) -> bool:
        """Whether its log holds this."""
        return self._door.act(f"further broker said {word}", lambda: came_of(lambda: self._logged(word))) == "yes"

    def must_serve(self) -> Wire:
        """Waits until it serves, and returns a probe of its cluster. Names are `wire.name()` there too."""
        if why := self._door.act("further broker serves", self._served):
            failure = BrokerAtFault(f"a broker that was started beside the others did not serve: {why}")
            failure.kind = "died"
            raise failure
        self._probe = Wire(ApartExchanger(self._door), self._wire.case_context, [self._address])
        return self._probe

    def settle(self) -> None:
        """What its probe was answered must have been looked at, as in every case."""
        if self._probe is not None:
            self._probe.settle()

    def begin(self, zookeeper: ZooKeeper, broker: int, chroot: str) -> None:
        """Starts it and waits for nothing."""

        def launched() -> str:
            control = self._control = zookeeper.ensemble.control.further_broker(broker, chroot)
            control.launch()
            return addresses.written(*control.address)

        said = self._door.act(f"start further broker {broker} {chroot}".rstrip(), lambda: came_of(launched))
        try:
            self._address = addresses.parsed(said)
        except ValueError:
            raise Unclear("suite", f"no broker could be started beside the others: {said}") from None

    def stop(self) -> None:
        """Ends it, whatever it does."""
        self._door.act("end further broker", lambda: came_of(self._killed))

    def _killed(self) -> None:
        if self._control is not None:
            self._control.kill()

    def _logged(self, word: str) -> str:
        assert self._control is not None, "asked of one that was started"
        return "yes" if any(word in path.read_text("utf-8", "replace") for path in self._control.log_files) else "no"

    def _end(self) -> str:
        assert self._control is not None, "asked of one that was started"
        status = self._control.exit_status
        return "" if status is None else f"status {status}"

    def _served(self) -> str:
        assert self._control is not None, "asked of one that was started"
        return came_of(self._control.wait_until_it_serves)


@contextmanager
def broker_beside(wire: Wire, zookeeper: ZooKeeper, *, broker: int, chroot: str = "") -> Iterator[BrokerBeside]:
    """Starts a broker of this id at a chroot that need not exist; an empty one is that of the target's own cluster.

    What else there is may be asked of it as of the target: `must_serve` returns a probe.
    """
    beside = BrokerBeside(wire, zookeeper)
    try:
        beside.begin(zookeeper, broker, chroot)
        yield beside
        beside.settle()
    finally:
        beside.stop()
