"""What all families of requests rest on: connections, versions, routing, retries, waiting."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import msgspec

from suites.probe.answer import Answer
from suites.probe.exchanger import Exchanger
from suites.probe.failures import NoAnswer, NotApplicable, ProtocolBroken, StatementFalse, Unclear
from suites.probe.line import Line
from suites.result import Evidence
from wire import errors
from wire.apis import by_name
from wire.messages import ZERO_UUID, Struct, request

A = TypeVar("A", bound=Answer)
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
RETRY_S = 30.0


class Scene(msgspec.Struct, frozen=True):
    """All that a case knows beforehand; stored with its history, so that `check` sets the same scene."""

    prefix: str  # begins every name that the run makes
    case: str
    attempt: int = 1
    seed: int = 0
    latency_ms: float = 1.0  # of an acknowledgement, measured before the first case
    client_id: str = "brokertrial"
    target: str = ""
    target_version: str = ""
    leaderless: bool = False
    capabilities: tuple[str, ...] = ()


def fitted(message: Struct, version: int) -> Struct:
    """The message without what a version lacks: cases name a thing once, wherever a version keeps it."""
    kept = {}
    for field in message._fields:
        value = getattr(message, field.name)
        if version not in field.versions:
            continue
        if isinstance(value, Struct):
            value = fitted(value, version)
        elif isinstance(value, list) and value and isinstance(value[0], Struct):
            value = [fitted(item, version) for item in value]
        kept[field.name] = value
    return type(message)(**kept, _unknown_tags=message._unknown_tags)


class TopicView(msgspec.Struct):
    """A topic as Metadata showed it last."""

    topic_id: Any
    leaders: dict[int, int]
    epochs: dict[int, int]


class Core:
    """The engine of a probe. Cases use `Wire` (suites/probe/wire.py), which adds the families of requests."""

    def __init__(
        self,
        exchanger: Exchanger,
        scene: Scene,
        bootstrap: list[tuple[str, int]],
        reach: Callable[[str, int], tuple[str, int]] | None = None,
    ) -> None:
        self.scene = scene
        self._exchanger = exchanger
        self._bootstrap = bootstrap
        self._reach = reach or (lambda host, port: (host, port))
        self._lines: dict[str, Line] = {}
        self._ranges: dict[int, dict[int, tuple[int, int]]] = {}
        self._features: dict[str, int] = {}
        self._brokers: dict[int, tuple[str, int]] = {}
        self._controller = -1
        self._topics: dict[str, TopicView] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._open_answers: list[Answer] = []
        self._numbered = 0
        self._named = 0
        self.made_topics: list[str] = []
        self.made_groups: list[str] = []

    # time

    def now_ms(self) -> int:
        """The wall clock, in milliseconds: the only clock that a case may read."""
        return self._exchanger.clock()[1]

    @property
    def slack_s(self) -> float:
        """What to add to an upper bound on time: a busy machine and a slow target are not a fault."""
        return 2.0 + 10 * self.scene.latency_ms / 1000

    @property
    def patience_s(self) -> float:
        """How long an answer may take, besides what the request itself may wait for."""
        return max(20.0, 60 * self.scene.latency_ms / 1000)

    def until(self, holds: Callable[[], T], *, within: float, what: str) -> T:
        """Asks again and again until `holds()` is true, and returns what it gave; past the limit the case fails.

        The limit grows with the latency of the target. `what` names what was waited for.
        """
        limit_s = within + self.slack_s
        began, _ = self._exchanger.clock()
        wait_s = 0.02
        while not (result := holds()):
            now, _ = self._exchanger.clock()
            if now - began > limit_s * 1e9:
                last = self._open_answers[-1].asked.evidence(note=what) if self._open_answers else ()
                raise StatementFalse(f"not within {limit_s:.1f} s: {what}", last)
            self._exchanger.pause(wait_s)
            wait_s = min(wait_s * 1.5, 0.5)
        return result

    def eventually(self, holds: Callable[[], T], *, within: float) -> T:
        """The demands in `holds` must all be met within the limit; past it, the one that was not is the failure."""
        limit_s = within + self.slack_s
        began, _ = self._exchanger.clock()
        wait_s = 0.02
        while True:
            try:
                return holds()
            except StatementFalse as error:
                now, _ = self._exchanger.clock()
                if now - began > limit_s * 1e9:
                    raise StatementFalse(
                        f"{error.sentence} (still so after {limit_s:.1f} s)", error.evidence, error.ops
                    ) from error
            self._exchanger.pause(wait_s)
            wait_s = min(wait_s * 1.5, 0.5)

    @property
    def answered(self) -> bool:
        """Whether anything was answered so far."""
        return bool(self._ranges)

    # statements that are about more than one answer

    def must(self, holds: bool, statement: str, *answers: Answer) -> None:
        """A statement of the case; the answers that it is about are the proof."""
        if not holds:
            proof = tuple(line for answer in answers for line in answer.asked.evidence())
            raise StatementFalse(
                statement,
                proof or (Evidence("statement", statement),),
                tuple(answer.asked.number for answer in answers),
            )

    def not_applicable(self, reason: str, kind: str = "not-offered") -> None:
        """Ends the case: it cannot be decided on this target. Kinds: see Reason."""
        raise NotApplicable(kind, reason)

    def unclear(self, reason: str, kind: str = "no-hit") -> None:
        """Ends the case: what it wanted to provoke did not come about, and that proves nothing."""
        raise Unclear(kind, reason)

    # names

    def name(self, what: str = "t") -> str:
        """A name of our own, not used before: for groups, transactional ids and topics that the case makes itself."""
        self._named += 1
        slug = re.sub(r"[^a-z0-9]+", "-", self.scene.case.lower())[:60]
        tries = f"-r{self.scene.attempt}" if self.scene.attempt > 1 else ""
        return f"{self.scene.prefix}-{slug}{tries}-{what}{self._named}"

    # asking

    def ask(self, asked: Struct, **how: Any) -> Answer:
        """Sends any request and returns its answer; `how` as for `ask_as`."""
        return self.ask_as(Answer, asked, **how)

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
    ) -> A:
        """Sends a request and returns its answer as a kind of Answer. Fields that the chosen version lacks are left out.

        `to` is a node or how to find it (default: any node); `via` names the connection, so that two labels never
        share one; `wait=False` leaves the answer under way until the case looks at it; errors in `retry_on` are asked again.
        """
        self.settle()
        first_ns = 0
        while True:
            line = self._line(via, to() if callable(to) else to)
            chosen = self._version(line, asked._api) if version is None else version
            exchange = line.send(fitted(asked, chosen), chosen, answered=answered, may_take_s=may_take_s)
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
        if answered:
            self._open_answers.append(answer)
        return answer

    def settle(self) -> None:
        """Ends the case if an answer carries an error that the case did not look at."""
        still_open = []
        for answer in self._open_answers:
            answer.settle()
            if not answer.examined and answer.asked.answer is None:
                still_open.append(answer)
        self._open_answers = still_open[:-8] + still_open[-8:] if len(still_open) < 512 else still_open[-512:]

    # connections

    def connect(self, name: str, node: int | None = None, *, client_id: str | None = None) -> Line:
        """A connection of the case's own (frames as they are, pipelining). The families reach it by `via=name`."""
        return self._line(name, node, client_id)

    def drop_lines(self, node: int | None = None) -> None:
        """Closes the connections to a node (or to all), as before it is stopped."""
        for line in self._lines.values():
            if node is None or line.node in (node, -1):
                line.close()

    def _line(self, via: str, node: int | None, client_id: str | None = None) -> Line:
        number = -1 if node is None else node
        key = f"{via}@{number}" if number >= 0 else via
        if (line := self._lines.get(key)) is None:
            line = Line(
                self._exchanger,
                key,
                number,
                self._address(number),
                self.patience_s,
                client_id or self.scene.client_id,
                self._next_number,
            )
            self._lines[key] = line
        if not line.open:
            self._open(line)
        return line

    def _open(self, line: Line) -> None:
        if line.node >= 0 or len(self._bootstrap) < 2:
            line.address = self._address(line.node)
            line.connect()
            return
        for index, address in enumerate(self._bootstrap):
            line.address = address
            try:
                line.connect()
                return
            except NoAnswer:
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

    def _next_number(self) -> int:
        self._numbered += 1
        return self._numbered

    # versions

    def versions(self, api: str) -> range:
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

    def _served(self, line: Line, api: str) -> range:
        ours = by_name(api)
        low, high = self._learn_ranges(line).get(ours.key, (0, -1))
        return range(max(low, ours.min_version), min(high, ours.newest) + 1)

    def _version(self, line: Line, api: str) -> int:
        if api == "ApiVersions" and line.node not in self._ranges:
            return min(3, by_name(api).max_version)
        if not (served := self._served(line, api)):
            raise NotApplicable("not-offered", f"the broker does not offer {api} in a version that the suite knows")
        return served[-1]

    def _learn_ranges(self, line: Line) -> dict[int, tuple[int, int]]:
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

    def _api_versions(self, line: Line, version: int) -> Struct:
        asked = request("ApiVersions", client_software_name="brokertrial", client_software_version="1")
        return line.send(fitted(asked, version), version).wait()

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

    def known_partitions(self, topic: str) -> dict[int, int]:
        """The partitions of a topic with their leaders, as Metadata showed them last; none if it is not known."""
        if topic not in self._topics:
            self.refresh_metadata(topic)
        return self._topics[topic].leaders if topic in self._topics else {}

    def topic_id(self, topic: str) -> Any:
        """The id of a topic, all zeros if the broker gives none."""
        if topic not in self._topics:
            self.refresh_metadata(topic)
        return self._topics[topic].topic_id if topic in self._topics else ZERO_UUID

    def leader_epoch(self, topic: str, partition: int = 0) -> int:
        """The leader epoch that Metadata shows for a partition now; -1 if it shows none."""
        self.refresh_metadata(topic)
        return self._topics[topic].epochs.get(partition, -1)

    def controller(self) -> int:
        """A node that takes changes to topics and settings."""
        if self._controller < 0:
            self.refresh_metadata()
        return self._controller if self._controller in self._brokers else self.nodes[0]

    def coordinator(self, key: str, kind: int = 0) -> int:
        """The coordinator of a group (kind 0) or a transactional id (kind 1)."""
        if (kind, key) not in self._coordinators:
            self._coordinators[kind, key] = self._find_coordinator(key, kind)
        return self._coordinators[kind, key]

    def forget_coordinator(self, key: str, kind: int = 0) -> None:
        """The next request asks for the coordinator again."""
        self._coordinators.pop((kind, key), None)

    def _find_coordinator(self, key: str, kind: int) -> int:
        asked = request("FindCoordinator", key=key, key_type=kind, coordinator_keys=[key])
        answer = self.ask(asked, retry_on=COORDINATOR_BUSY).must_succeed()
        named = answer.struct.coordinators[0] if answer.version >= 4 else answer.struct
        if named.node_id not in self._brokers:
            self.refresh_metadata()
        return int(named.node_id)

    def refresh_metadata(self, topic: str | None = None) -> Struct:
        """Asks any node for the cluster and, when named, one topic."""
        line = self._line("main", None)
        version = self._version(line, "Metadata")
        topics = [{"name": topic}] if topic is not None else []
        if topic is None and version == 0:
            topics = []
        struct = line.send(request("Metadata", topics=topics, allow_auto_topic_creation=False), version).wait()
        self._brokers = {row.node_id: (row.host, row.port) for row in struct.brokers}
        self._controller = struct.controller_id
        for row in struct.topics:
            if row.error_code == 0 and row.name is not None:
                self._topics[row.name] = TopicView(
                    row.topic_id,
                    {part.partition_index: part.leader_id for part in row.partitions},
                    {part.partition_index: part.leader_epoch for part in row.partitions},
                )
            elif row.name is not None:
                self._topics.pop(row.name, None)
        return struct
