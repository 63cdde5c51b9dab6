"""After a kill, leadership of the broker's own topics goes back before the next case; what does not is said."""

from __future__ import annotations

from brokertrial.suites.probe.preferred_leaders import WITHIN_S, restore_preferred_leaders
from brokertrial.wire.messages import response
from tests.suites.scripted import wire_to

OFFSETS, OURS = "__consumer_offsets", "bt-x-topic"


class Moved:
    """Three nodes; each topic has one partition with replicas 1, 2, 3, led by the node named."""

    def __init__(self, leaders: dict[str, int], *, serving: int = 3, elects: bool = True) -> None:
        self.leaders = leaders
        self.serving = serving
        self.elects = elects
        self.asked: list[tuple[str, list[int]]] = []

    def metadata(self, asked):
        topics = [
            {
                "name": name,
                "is_internal": name.startswith("__"),
                "partitions": [
                    {"partition_index": 0, "leader_id": leader, "replica_nodes": [1, 2, 3], "isr_nodes": [1, 2, 3]}
                ],
            }
            for name, leader in self.leaders.items()
        ]
        brokers = [{"node_id": node, "host": "h", "port": 9} for node in range(1, self.serving + 1)]
        return response("Metadata", brokers=brokers, controller_id=1, topics=topics)

    def elect(self, asked):
        for row in asked.topic_partitions:
            self.asked.append((row.topic, row.partitions))
            if self.elects:
                self.leaders[row.topic] = 1
        return response("ElectLeaders")

    def settle(self, **how):
        wire, exchanger = wire_to(Metadata=self.metadata, ElectLeaders=self.elect)
        return restore_preferred_leaders(wire, 3, **how), exchanger.ns


def test_what_a_kill_moved_is_given_back() -> None:
    moved = Moved({OFFSETS: 2, OURS: 2})
    assert moved.settle()[0] is None
    assert moved.asked == [(OFFSETS, [0])], "topics of cases are theirs: only internal ones are asked for"
    assert moved.leaders == {OFFSETS: 1, OURS: 2}


def test_in_the_middle_of_a_case_its_own_topics_are_given_back_too() -> None:
    moved = Moved({OFFSETS: 2, OURS: 2})
    assert moved.settle(of_all=True)[0] is None
    assert moved.leaders == {OFFSETS: 1, OURS: 1}


def test_where_nothing_moved_nothing_is_asked_for() -> None:
    moved = Moved({OFFSETS: 1})
    assert moved.settle()[0] is None and moved.asked == []


def test_an_election_that_changes_nothing_is_told_after_a_while() -> None:
    said, took_ns = Moved({OFFSETS: 2}, elects=False).settle()
    assert said == "leaders had not settled before the next case (__consumer_offsets-0)"
    assert took_ns > WITHIN_S * 1e9


def test_a_node_that_is_missing_is_told() -> None:
    said, _ = Moved({OFFSETS: 1}, serving=2).settle()
    assert said is not None and "every node leads what it led before" in said


def test_silence_is_waited_out() -> None:
    answers = iter(["close", "close"])
    moved = Moved({OFFSETS: 2})
    wire, _ = wire_to(Metadata=lambda asked: next(answers, None) or moved.metadata(asked), ElectLeaders=moved.elect)
    assert restore_preferred_leaders(wire, 3) is None
