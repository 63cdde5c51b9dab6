"""How many tasks a topology has, as its topics come and go."""

from __future__ import annotations

import pytest

from brokertrial.suites.explore.streams_model import ModelTopology

PARTITIONS = {"a": 2, "b": 3}


@pytest.mark.parametrize(
    ("topology", "tasks"),
    [
        (ModelTopology((("a",),)), 2),
        (ModelTopology((("a",), ("b",))), 5),
        (ModelTopology((("a", "b"),)), 3),
        (ModelTopology((("a", "b"),), alike=True), 0),
        (ModelTopology((("a",), ("b",)), alike=True), 5),
        (ModelTopology((("a",), ("none",))), 0),
    ],
    ids=["one", "two", "both in one", "not alike", "alone", "missing"],
)
def test_a_topology_has_tasks_once_its_topics_are_there(topology: ModelTopology, tasks: int) -> None:
    assert topology.tasks(PARTITIONS) == tasks


def test_topics_that_have_to_be_alike_are_named_by_their_place() -> None:
    (both,) = ModelTopology((("b", "a"),), alike=True).fields(3)["subtopologies"]
    assert both["source_topics"] == ["a", "b"]
    assert both["copartition_groups"][0]["source_topics"] == [0, 1]
    assert ModelTopology((("b", "a"),)).fields(3)["subtopologies"][0]["copartition_groups"] == []
