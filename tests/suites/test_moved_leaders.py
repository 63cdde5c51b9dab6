"""A case that stopped nodes, and a leadership that moved by itself afterwards: no fault of the broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.result import Outcome
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response
from tests.suites.scripted import TOPIC, ScriptedExchanger, wire_to


@dataclass
class Cluster:
    """Two nodes, one partition and one group, which somebody moves."""

    leader: int = 1
    epoch: int = 1
    coordinator: int = 1
    topic_id: UUID = field(default_factory=lambda: UUID(int=7))
    error: int = errors.NOT_LEADER_OR_FOLLOWER
    controller: int = 1

    def metadata(self, asked: Struct) -> Struct:
        partition = {"partition_index": 0, "leader_id": self.leader, "leader_epoch": self.epoch}
        topic = {"topic_id": self.topic_id, "partitions": [{**partition, "replica_nodes": [1, 2], "isr_nodes": [1, 2]}]}
        return response(
            "Metadata",
            brokers=[{"node_id": node, "host": "h", "port": 9} for node in (1, 2)],
            controller_id=self.controller,
            topics=[{"name": row.name, **topic} for row in asked.topics or []],
        )

    def found(self, asked: Struct) -> Struct:
        named = {"key": asked.coordinator_keys[0], "node_id": self.coordinator, "host": "h", "port": 9}
        return response("FindCoordinator", coordinators=[named])

    def produced(self, asked: Struct) -> Struct:
        part = {"index": 0, "base_offset": -1, "error_code": self.error}
        rows = [{"name": row.name, "topic_id": row.topic_id, "partition_responses": [part]} for row in asked.topic_data]
        return response("Produce", responses=rows)

    def moves(self) -> None:
        self.leader, self.epoch = 2, self.epoch + 1


@dataclass
class Node:
    """One that can be killed and comes back at once."""

    pid: int | None = None

    def kill(self) -> None: ...

    def restart(self) -> None: ...


def tried(case: Any, cluster: Cluster) -> Outcome:
    wire, exchanger = wire_to(Metadata=cluster.metadata, FindCoordinator=cluster.found, Produce=cluster.produced)
    assert isinstance(exchanger, ScriptedExchanger)
    nodes: Any = {1: Node(), 2: Node()}
    wanted = Case("tests/case", case, ("prod-001",), (), {}, {}, False, None)
    return attempt(wanted, wire, exchanger, nodes, lambda: True)


def _relies_on_its_leader(cluster: Cluster, moves: Any) -> Any:
    def case(wire: Any, nodes: Any) -> None:
        """A record MUST be taken."""
        wire.leader(TOPIC)
        nodes.crash(2)
        wire.refresh_metadata(TOPIC)
        wire.coordinator("g")
        moves(cluster)
        wire.produce(TOPIC, batch("a"), retry=False).must_succeed()

    return case


def _coordinator_moves(cluster: Cluster) -> None:
    cluster.coordinator = 2


@pytest.mark.parametrize(
    ("moves", "what"),
    [(Cluster.moves, f"{TOPIC}-0"), (_coordinator_moves, "the coordinator of g (node 1, then 2)")],
)
def test_what_moved_by_itself_is_tried_again(moves: Any, what: str) -> None:
    cluster = Cluster()
    outcome = tried(_relies_on_its_leader(cluster, moves), cluster)

    assert outcome.verdict is Verdict.INCONCLUSIVE and outcome.reason is not None
    assert outcome.reason.kind == "unsettled" and what in outcome.reason.sentence
    assert "NOT_LEADER_OR_FOLLOWER" in outcome.reason.sentence, "what was seen stays in sight"


def _made_again(cluster: Cluster) -> None:
    cluster.topic_id, cluster.epoch = UUID(int=8), 0


@pytest.mark.parametrize("moves", [lambda _: None, _made_again], ids=["nothing moved", "another topic of that name"])
def test_what_did_not_move_is_a_failure(moves: Any) -> None:
    cluster = Cluster()
    assert tried(_relies_on_its_leader(cluster, moves), cluster).verdict is Verdict.FAIL


def test_what_a_kill_moved_is_a_failure() -> None:
    """Seen before the node went down: the case knows that leaderships move with it."""
    cluster = Cluster()

    def case(wire: Any, nodes: Any) -> None:
        """A record MUST be taken."""
        wire.leader(TOPIC)
        nodes.kill(2)
        cluster.moves()
        nodes.start(2)
        wire.produce(TOPIC, batch("a"), retry=False).must_succeed()

    assert tried(case, cluster).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("moves_first", "verdict"), [(False, Verdict.FAIL), (True, Verdict.INCONCLUSIVE)], ids=["after", "before"]
)
def test_what_moves_once_the_node_is_back_explains_nothing_of_before(moves_first: bool, verdict: Verdict) -> None:
    """Seen: while a replica was missing the wrong code was answered, and nothing came of it: its leader came back."""
    cluster = Cluster()

    def case(wire: Any, nodes: Any) -> None:
        """A record MUST be taken."""
        nodes.kill(2)
        wire.leader(TOPIC)
        if moves_first:
            cluster.moves()
        with wire.part("while a node is down"):
            wire.produce(TOPIC, batch("a"), retry=False).must_succeed()
        nodes.start(2)
        wire.refresh_metadata(TOPIC)
        if not moves_first:
            cluster.moves()
        wire.refresh_metadata("another")

    assert tried(case, cluster).verdict is verdict


def test_a_case_that_stops_no_node_is_judged_elsewhere() -> None:
    cluster = Cluster()

    def case(wire: Any, nodes: Any) -> None:
        """A record MUST be taken."""
        wire.leader(TOPIC)
        cluster.moves()
        wire.produce(TOPIC, batch("a"), retry=False).must_succeed()

    assert tried(case, cluster).verdict is Verdict.FAIL


@pytest.mark.parametrize(("stopped", "asked"), [(1, 2), (2, 1)], ids=["the controller", "another node"])
def test_a_node_that_is_stopped_is_the_controller_no_more(stopped: int, asked: int) -> None:
    cluster = Cluster()
    wire, _ = wire_to(Metadata=cluster.metadata)
    assert wire.controller() == 1

    cluster.controller = 2
    wire.drop_lines(stopped)
    assert wire.controller() == asked
