"""What all families of requests rest on: connections, versions, routing, retries, waiting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from brokertrial.suites.probe.answer import PendingExchange, Response
from brokertrial.suites.probe.connection import ProbeConnection
from brokertrial.suites.probe.context import CaseConditions, CaseContext
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.failures import BrokerAtFault, NoResponse, ProtocolBroken, Unclear
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.situation import Situation
from brokertrial.suites.probe.topic_view import LastShown, TopicView, renew_topic_ids
from brokertrial.suites.probe.traffic import Traffic
from brokertrial.suites.probe.versions import CommonVersions
from brokertrial.wire import errors
from brokertrial.wire.apis import by_name
from brokertrial.wire.messages import ZERO_UUID, Struct, request

A = TypeVar("A", bound=Response)
T = TypeVar("T")

#: A coordinator that is loading, moving or busy says so with these; they are asked again until the deadline.
COORDINATOR_BUSY = (
    errors.COORDINATOR_LOAD_IN_PROGRESS,
    errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_COORDINATOR,
    errors.CONCURRENT_TRANSACTIONS,
)
#: A leader that is just being elected or a topic that a node has not heard of yet.
LEADER_UNSETTLED = (
    errors.UNKNOWN_TOPIC_OR_PARTITION,
    errors.LEADER_NOT_AVAILABLE,
    errors.NOT_LEADER_OR_FOLLOWER,
    errors.UNKNOWN_TOPIC_ID,
    errors.FENCED_LEADER_EPOCH,
    errors.UNKNOWN_LEADER_EPOCH,
)
#: A leader that is just elected may not know yet how far its followers have come (KIP-207).
END_UNSETTLED = (*LEADER_UNSETTLED, errors.OFFSET_NOT_AVAILABLE)
RETRY_S, NO_NODE_PAUSE_S = 30.0, 0.5
SOFTWARE = {"client_software_name": "apache-kafka-java", "client_software_version": "4.1.0"}
"""What ordinary clients say; a name of our own would tell a broker who asks."""
OLD_METADATA_VERSION = 8


def _on_the_way(step: str, asked: PendingExchange) -> PendingExchange:
    asked.step = step
    return asked


class Core(CaseConditions):
    """The engine of a probe. Cases use `Wire` (suites/probe/wire.py), which adds the families of requests."""

    def __init__(
        self,
        exchanger: Exchanger,
        case_context: CaseContext,
        bootstrap: list[tuple[str, int]],
        reach: Callable[[str, int], tuple[str, int]] | None = None,
    ) -> None:
        super().__init__(exchanger, case_context)
        self._bootstrap = bootstrap
        self._reach = reach or (lambda host, port: (host, port))
        self._lines: dict[str, ProbeConnection] = {}
        self._ranges: dict[int, dict[int, tuple[int, int]]] = {}
        self._features: dict[str, int] = {}
        self._brokers: dict[int, tuple[str, int]] = {}
        self._controller = -1
        self._topics: dict[str, TopicView] = {}
        self.last_shown = LastShown()
        self._coordinators: dict[tuple[int, str], int] = {}
        self.traffic = Traffic()
        self.situation = Situation()
        self.metadata_version = case_context.metadata_version
        self.made_topics, self.deleted_topics, self._deleted_ids = list[str](), set[str](), set[Any]()
        self._grown: dict[Any, int] = {}  # topic id -> the partitions that it was given last
        self.made_groups, self.chosen_settings = list[str](), set[str]()  # settings that it has started brokers with
        self.journal: Callable[[str], None] = lambda name: None
        """Is told of every topic and group before it is made."""

    @property
    def answered(self) -> bool:
        """Whether anything was answered so far."""
        return bool(self._ranges)

    def will_make(self, made: list[str], *names: str) -> None:
        """Topics or groups of our own that may exist from now on; those of others are not ours to clear away."""
        for name in names:
            if name.startswith(self.case_context.prefix) and name not in made:
                self.journal(name)
                made.append(name)

    # asking

    def ask(self, asked: Struct, **how: Any) -> Response:
        """Sends any request and returns its answer; `how` as for `ask_as`."""
        return self.ask_as(Response, asked, **how)

    def ask_as(
        self,
        answered_by: type[A],
        asked: Struct,
        *,
        version: int | None = None,
        to: Callable[[], int] | int | None = None,
        via: str = "main",
        wait: bool = True,
        answered: bool = True,
        retry_on: Collection[int] = (),
        refresh: Callable[[], object] | None = None,
        may_take_s: float = 0.0,
        places: tuple[str, ...] | None = None,
        within_s: float = RETRY_S,
        step: str = "",
    ) -> A:
        """Sends a request and returns its answer as a kind of Answer. Fields that the version lacks are left out.

        `to` is a node or how to find it (default: any node); `via` names the connection, so that two labels never
        share one; `wait=False` leaves the answer under way until the case looks at it; errors in `retry_on` are asked
        again. `step` names the step of which it is the plain form (suites/probe/prerequisites.py).
        """
        self.settle()
        self.situation.before(asked)
        first_ns, within_s = 0, min(within_s, self.until_at_most_s or within_s)
        while True:
            line = self._line(via, to() if callable(to) else to)
            chosen = self._version(line, asked._api) if version is None else version
            meant = fitted(asked, chosen)
            sent = self.situation.worded(meant, chosen)
            exchange = line.send(meant, chosen, answered=answered, may_take_s=may_take_s, sent=sent)
            exchange.step = step
            answer = answered_by(exchange)
            if places is not None:
                answer.places = places
            first_ns = first_ns or exchange.sent_ns
            if not (wait and answered):
                break
            exchange.wait()
            spent_ns = exchange.received_ns - first_ns
            if not (retry_on and answer._error() in retry_on and spent_ns < (within_s + self.slack_s) * 1e9):
                break
            self._exchanger.pause(0.05)
            if refresh is not None:
                refresh()
                renew_topic_ids(asked, self._topics)
        if answered:
            self._answered(answer)
        return answer

    def _heard(self, exchange: PendingExchange) -> None:
        if exchange.reworded:
            self.situation.understood(exchange)
        self.permissions.heard(exchange)

    # connections

    def connect(self, name: str, node: int | None = None, *, client_id: str | None = None) -> ProbeConnection:
        """A connection of the case's own (frames as they are, pipelining). The families reach it by `via=name`."""
        return self._line(name, node, client_id)

    @property
    def awaits_answers(self) -> bool:
        """Whether an answer is under way."""
        return any(line.awaits_answers for line in self._lines.values())

    def drop_lines(self, node: int | None = None) -> None:
        """Closes the connections to a node (or to all), as before it is stopped; it is the controller no more."""
        self._controller = -1 if self._controller == node else self._controller
        for line in self._lines.values():
            if node is None or line.node in (node, -1):
                line.close()

    def _line(self, via: str, node: int | None, client_id: str | None = None) -> ProbeConnection:
        number = -1 if node is None else node
        key = f"{via}@{number}" if number >= 0 else via
        if (line := self._lines.get(key)) is None:
            line = self._lines[key] = ProbeConnection(
                self._exchanger,
                key,
                number,
                self._address(number),
                self.patience_s,
                client_id or self.situation.client_name(self.case_context.client_id),
                self.traffic,
                self._heard,
            )
            line.count_from(self.situation.first_correlation_id)
        if not line.open:
            self._open(line)
        return line

    def _open(self, line: ProbeConnection) -> None:
        if line.node >= 0 or len(self._bootstrap) < 2:
            line.address = self._address(line.node)
            line.connect()
            return
        for index, address in enumerate(self._bootstrap):
            line.address = address
            try:
                line.connect()
                return
            except NoResponse:
                if index == len(self._bootstrap) - 1:
                    raise

    def _address(self, node: int) -> tuple[str, int]:
        if node < 0:
            return self._bootstrap[0]
        if node not in self._brokers:
            self.refresh_metadata()
        if node not in self._brokers:
            raise Unclear("suite", f"node {node} is not in the metadata of the cluster")
        return self._reach(*self._brokers[node])

    # versions

    def versions(self, api: str) -> CommonVersions:
        """The versions of an API that both sides know; empty when the broker does not offer it."""
        return self._served(self._line("main", None), api)

    def learn(self) -> dict[int, tuple[int, int]]:
        """The versions that the broker serves, by API key."""
        return dict(self._learn_ranges(self._line("main", None)))

    @property
    def features(self) -> dict[str, int]:
        """The finalized features of the cluster, name -> level."""
        self._learn_ranges(self._line("main", None))
        return self._features

    def _served(self, line: ProbeConnection, api: str) -> CommonVersions:
        ours = by_name(api)
        low, high = self._learn_ranges(line).get(ours.key, (0, -1))
        low, high = max(low, ours.min_version), min(high, ours.newest)
        return CommonVersions.of(api, range(low, self.situation.newest(api, low, high) + 1))

    def _version(self, line: ProbeConnection, api: str) -> int:
        if api == "ApiVersions" and line.node not in self._ranges:
            return min(3, by_name(api).max_version)
        return int(self._served(line, api)[-1])

    def _learn_ranges(self, line: ProbeConnection) -> dict[int, tuple[int, int]]:
        if line.node not in self._ranges:
            try:
                answer = self._api_versions(line, min(3, by_name("ApiVersions").max_version))
            except ProtocolBroken:  # some answer an unknown version in a layout of their own; a case of ours says so
                answer = self._api_versions(line, 0)
            if answer.error_code:
                answer = self._api_versions(line, 0)
            self._ranges[line.node] = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
            self._features.update({row.name: row.max_version_level for row in answer.finalized_features})
        return self._ranges[line.node]

    def _api_versions(self, line: ProbeConnection, version: int) -> Struct:
        asked = request("ApiVersions", **SOFTWARE)
        return _on_the_way("versions", line.send(fitted(asked, version), version)).wait()

    # routing

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers, as Metadata names them."""
        if not self._brokers:
            self.refresh_metadata()
        return sorted(self._brokers)

    def leader(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition, as far as known; of a partition that is not, any leader of the topic."""
        view = self._topics.get(topic)
        if view is None or view.leaders.get(partition, -1) < 0:
            self.refresh_metadata(topic)
            view = self._topics.get(topic)
        leaders = view.leaders if view else {}
        node = leaders.get(partition, next(iter(leaders.values()), -1))
        return node if node >= 0 else self.nodes[0]

    def _is_led_by(self, node: int | None, topic: str, partition: int) -> bool:
        """Whether a request that goes to this node (None: wherever it belongs) goes to the leader, as far as known."""
        view = self._topics.get(topic)
        return node is None or (view is not None and view.leaders.get(partition, -1) == node)

    def known_partitions(self, topic: str) -> dict[int, int]:
        """The partitions of a topic with their leaders, as Metadata showed them last; none if it is not known."""
        if topic not in self._topics:
            self.refresh_metadata(topic)
        return self._topics[topic].leaders if topic in self._topics else {}

    @property
    def topic_ids(self) -> dict[str, Any]:
        """The ids of the topics that were asked about, as far as the broker gives any."""
        return {name: view.topic_id for name, view in self._topics.items() if view.topic_id != ZERO_UUID}

    def topic_id(self, topic: str) -> Any:
        """The id of a topic, all zeros if the broker gives none or the topic is unknown."""
        if topic not in self._topics:
            self.refresh_metadata(topic)
        return self._topics[topic].topic_id if topic in self._topics else ZERO_UUID

    def by_name(self, api: str, topics: Iterable[str], last_by_name: int) -> int | None:
        """The version to ask in when a topic has no id: the last one that names topics; None where ids are known."""
        served = self.versions(api)
        if not served or served[-1] <= last_by_name or all(self.topic_id(topic) != ZERO_UUID for topic in topics):
            return None
        return int(max(min(served[-1], last_by_name), served[0]))

    def leader_epoch(self, topic: str, partition: int = 0) -> int:
        """The leader epoch that Metadata shows for a partition now; -1 if it shows none."""
        self.refresh_metadata(topic)
        return self.known_epoch(topic, partition)

    def known_epoch(self, topic: str, partition: int) -> int:
        """The leader epoch that Metadata showed last; -1 if it showed none."""
        view = self._topics.get(topic)
        return view.epochs.get(partition, -1) if view else -1

    def controller(self) -> int:
        """A node that takes changes to topics and settings."""
        if self._controller < 0:
            self.refresh_metadata()
        return self._controller if self._controller in self._brokers else self.nodes[0]

    def coordinator(self, key: str, kind: int = 0) -> int:
        """The coordinator of a group (kind 0) or a transactional id (kind 1)."""
        if (kind, key) not in self._coordinators:
            self._coordinators[kind, key] = self.last_shown.coordinators[kind, key] = self._find_coordinator(key, kind)
        return self._coordinators[kind, key]

    @property
    def known_topics(self) -> list[str]:
        """The topics that Metadata showed when they were last asked for."""
        return list(self._topics)

    @property
    def known_coordinators(self) -> list[tuple[int, str]]:
        """The groups (kind 0) and transactional ids (kind 1) whose coordinators were looked up."""
        return list(self._coordinators)

    def forget_coordinator(self, key: str, kind: int = 0) -> None:
        """The next request asks for the coordinator again."""
        self._coordinators.pop((kind, key), None)

    def _find_coordinator(self, key: str, kind: int) -> int:
        asked = request("FindCoordinator", key=key, key_type=kind, coordinator_keys=[key])
        answer = self.ask(asked, retry_on=COORDINATOR_BUSY, step="transactional-id" if kind else "coordinator")
        answer.must_succeed()
        named = answer.struct.coordinators[0] if answer.version >= 4 else answer.struct
        if named.node_id not in self._brokers:
            self.refresh_metadata()
        return int(named.node_id)

    def refresh_metadata(self, topic: str | None = None) -> Struct:
        """Asks any node for the cluster and, when named, one topic.

        An answer without nodes (all are fenced for a moment) leaves those that are known, as in Kafka's NetworkClient.
        """
        struct = self._metadata(topic)
        for _ in range(int(RETRY_S / NO_NODE_PAUSE_S)):
            if struct.brokers or self._brokers:
                break
            self._exchanger.pause(NO_NODE_PAUSE_S)
            struct = self._metadata(topic)
        self._brokers = {row.node_id: (row.host, row.port) for row in struct.brokers} or self._brokers
        if not self._brokers:
            raise BrokerAtFault(f"Metadata names no node of the cluster (still so after {RETRY_S:.0f} s)")
        self._controller = struct.controller_id
        for row in struct.topics:
            if row.error_code == 0 and row.name is not None:
                self._topics[row.name] = self.last_shown.topics[row.name] = TopicView.of(row)
            elif row.name is not None:
                self._topics.pop(row.name, None)
        return struct

    def _metadata(self, topic: str | None, *, create: bool = False, node: int | None = None) -> Struct:
        """Metadata for the probe's own use, in an old version where the broker garbles the newest or closes the
        connection on it: to convict it of that is the business of the cases about Metadata."""
        line = self._line("main", node)
        topics = [] if topic is None else [{"name": topic}]
        version = min(self._version(line, "Metadata"), self.metadata_version)
        asked = request("Metadata", topics=topics, allow_auto_topic_creation=create)
        try:
            return _on_the_way("metadata", line.send(fitted(asked, version), version)).wait()
        except (ProtocolBroken, NoResponse) as error:
            if version <= OLD_METADATA_VERSION or (isinstance(error, NoResponse) and line.open):
                raise
            return self._older_metadata(asked, node, error)

    def _older_metadata(self, asked: Struct, node: int | None, error: BrokerAtFault) -> Struct:
        """A connection may close for other reasons: only where the old version is answered it was for the version."""
        try:
            sent = self._line("main", node).send(fitted(asked, OLD_METADATA_VERSION), OLD_METADATA_VERSION)
            found = _on_the_way("metadata", sent).wait()
        except NoResponse:
            raise error from None
        self.metadata_version = OLD_METADATA_VERSION
        return found
