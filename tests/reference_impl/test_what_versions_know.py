"""Answers that differ by version, because the clients of that version know less; and those that name what is absent."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from brokertrial.reference_impl import api
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import apis, errors
from brokertrial.wire.messages import ZERO_UUID, Struct, request


def started(folder: Path, **settings: str) -> Node:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    node = Node(BrokerConfig(folder, settings=given), ManualClock(), Random(7))
    node.recover()
    return node


def ask(node: Node, name: str, version: int, /, **fields: Any) -> Struct:
    served = api.served()[apis.by_name(name).key]
    answer = served.handler(request(name, **fields), api.Context(node, served.api, version, 1, "c", 1, "127.0.0.1"))
    assert isinstance(answer, Struct)
    return answer


def test_features_from_level_0_are_for_those_who_can_read_them(tmp_path: Path) -> None:
    node = started(tmp_path)
    software = {"client_software_name": "c", "client_software_version": "1"}
    lowest = {
        version: {row.name: row.min_version for row in ask(node, "ApiVersions", version, **software).supported_features}
        for version in (3, 4)
    }
    assert 0 not in lowest[3].values() and lowest[3].keys() < lowest[4].keys()
    assert lowest[4]["transaction.version"] == 0


@pytest.mark.parametrize("version", range(1, 7))
def test_nothing_is_deleted_where_deletion_is_disabled(version: int, tmp_path: Path) -> None:
    node = started(tmp_path, delete_topic_enable="false")
    node.create_topic("t", 1, {})
    names = ["t", "absent", "absent"]
    states = [{"name": name, "topic_id": ZERO_UUID} for name in names]
    answer = ask(node, "DeleteTopics", version, topics=states, topic_names=names)
    code = errors.INVALID_REQUEST if version < 3 else errors.TOPIC_DELETION_DISABLED
    assert [(row.name, row.error_code) for row in answer.responses] == [(name, code) for name in names]
    assert node.topics.get("t") is not None


def test_an_election_of_all_names_each_topic(tmp_path: Path) -> None:
    node = started(tmp_path)
    for name in ("t", "u"):
        node.create_topic(name, 2, {})
    rows = ask(node, "ElectLeaders", 2, election_type=0, topic_partitions=None).replica_election_results
    assert {row.topic: list(row.partition_result) for row in rows} == {"t": [], "u": []}
