"""Whether a broker serves, asked in its own protocol: ApiVersions and Metadata of every node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.targets.base import TargetNotReady, TargetProblem
from brokertrial.wire import errors
from brokertrial.wire.apis import by_name
from brokertrial.wire.client import CannotConnect, Connection, ConnectionClosed, ConnectionFailed
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import api_versions_request
from brokertrial.wire.messages import Struct, request

PATIENT_S = 20.0
"""Who only takes his time is alive."""
_PAUSE_S = 0.05
Result = TypeVar("Result")
_METADATA = 8
"""Readiness asks in a version that every broker gets right; whether it gets the newest right is a case's question."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What one node said of itself and its cluster."""

    brokers: dict[int, tuple[str, int]]
    controller: int
    version: str
    offered: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]


class NotYet(Exception):
    """What is still missing, for the sentence that is shown if it stays missing.

    `asked` is the request that was not answered (empty if there was not even a connection), `closed` whether the
    connection was closed on it.
    """

    def __init__(self, sentence: str, *, asked: str = "", closed: bool = False) -> None:
        super().__init__(sentence)
        self.asked = asked
        self.closed = closed


def ask(address: tuple[str, int], timeout_s: float = 2.0) -> NodeReport:
    """Asks one node for ApiVersions and Metadata; NotYet with the reason where it does not answer."""
    with _connected(address, timeout_s) as connection:
        offered, garbled = _answered("ApiVersions", lambda: _offered(connection))
        version = min(_newest(offered, "Metadata"), _METADATA)
        names_all = request("Metadata", topics=[], allow_auto_topic_creation=False)
        cluster = _call(connection, fitted(names_all, version), version)
        told = _newest(offered, "ApiVersions") >= 3 and not garbled
        hello = _call(connection, api_versions_request(), 3) if told else None
    brokers = {node.node_id: (node.host, node.port) for node in cluster.brokers}
    features = {each.name: each.max_version_level for each in hello.finalized_features} if hello is not None else {}
    return NodeReport(brokers, cluster.controller_id, _version(features), offered, features)


def wait_until(what: str, question: Callable[[], object], within_s: float, must_run: Callable[[], None]) -> None:
    """Asks until the question raises NotYet no more. `must_run` is called between and may end the wait by raising."""
    deadline = time.monotonic() + within_s
    pause = threading.Event()
    while True:
        must_run()
        try:
            question()
            return
        except NotYet as reason:
            if time.monotonic() >= deadline:
                raise TargetNotReady(f"{what} within {within_s:g} s: {reason}.") from reason
        pause.wait(_PAUSE_S)


def every_node_serves(addresses: Mapping[int, tuple[str, int]]) -> None:
    """Every address answers and names as many brokers as there are addresses; else NotYet."""
    for node_id, address in addresses.items():
        named = sorted(ask(address).brokers)
        if len(named) < len(addresses):
            raise NotYet(f"node {node_id} names the brokers {named}, not all {len(addresses)}")


def is_member(node_id: int, address: tuple[str, int]) -> None:
    """The node there answers and names itself among the brokers; else NotYet."""
    brokers = ask(address).brokers
    if node_id not in brokers:
        raise NotYet(f"it names the brokers {sorted(brokers)}, not itself")


def controller_decides(address: tuple[str, int]) -> None:
    """What the node there is asked for a controller decides: whether a topic could be made; else NotYet."""
    wanted = {"name": "readiness", "num_partitions": 1, "replication_factor": 1}
    with _connected(address, 5.0) as connection:
        asked = request("CreateTopics", topics=[wanted], timeout_ms=1_000, validate_only=True)
        error = _call(connection, asked).topics[0].error_code
    if error:
        raise NotYet(f"CreateTopics is refused with {errors.name(error)}")


def wake_coordinators(address: tuple[str, int]) -> None:
    """Has the broker make its internal topics now, so that the first group does not wait seconds for them."""
    with suppress(NotYet), _connected(address, 5.0) as connection:
        for key_type in (0, 1):
            _call(connection, request("FindCoordinator", coordinator_keys=["client"], key_type=key_type), 4)


def make_and_remove_topic(addresses: list[tuple[str, int]], name: str) -> str:
    """Creates a topic of one partition and deletes it; says so, or raises TargetProblem with the broker's error.

    Before KRaft only the controller does that, and another node says so: then the next address is asked.
    """
    error = errors.NOT_CONTROLLER
    for address in addresses:
        if error == errors.NOT_CONTROLLER:
            error = _make_and_remove(address, name)
    if error:
        raise TargetProblem(f"CreateTopics is refused with {errors.name(error)}")
    return "a topic was created and deleted"


def _make_and_remove(address: tuple[str, int], name: str, timeout_s: float = 15.0) -> int:
    wanted = {"name": name, "num_partitions": 1, "replication_factor": 1}
    with _connected(address, timeout_s) as connection:
        made = _call(connection, request("CreateTopics", topics=[wanted], timeout_ms=10_000)).topics[0]
        if made.error_code:
            return int(made.error_code)
        gone = _call(connection, request("DeleteTopics", topic_names=[name], timeout_ms=10_000), 5).responses[0]
        if gone.error_code:
            raise TargetProblem(f"topic {name} stays: DeleteTopics is refused with {errors.name(gone.error_code)}")
    return errors.NONE


@contextmanager
def _connected(address: tuple[str, int], timeout_s: float) -> Iterator[Connection]:
    try:
        connection = Connection(*address, client_id="client", timeout_s=timeout_s)
    except CannotConnect as error:
        raise NotYet(str(error)) from error
    try:
        yield connection
    finally:
        connection.close()


def _call(connection: Connection, message: Struct, version: int | None = None) -> Struct:
    return _answered(message._api, lambda: connection.call(message, version))


def _answered(asked: str, question: Callable[[], Result]) -> Result:
    try:
        return question()
    except (ConnectionFailed, Malformed) as error:
        raise NotYet(str(error), asked=asked, closed=isinstance(error, ConnectionClosed)) from error


def _offered(connection: Connection) -> tuple[Mapping[int, tuple[int, int]], bool]:
    """What the broker offers; from version 0 where it garbles version 3, which is for a case to say."""
    try:
        return connection.offered(), False
    except Malformed:
        connection.conversation.learn(connection.call(api_versions_request(), 0))
        return connection.conversation.offered, True


def _newest(offered: Mapping[int, tuple[int, int]], api: str) -> int:
    return offered.get(by_name(api).key, (0, 0))[1]


def _version(features: Mapping[str, int]) -> str:
    """Kafka has no field for its release; the level of its metadata is the nearest thing that it says."""
    level = features.get("metadata.version")
    return "not stated" if level is None else f"not stated (metadata.version {level})"
