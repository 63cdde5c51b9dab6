"""A request for several keys of which some are coordinated elsewhere: each is answered, with all that it asked for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from brokertrial.reference_impl.broker import coordinated
from brokertrial.reference_impl.broker.coordinated import BY_API, answer
from brokertrial.reference_impl.txn.admission import asked
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, request, response

PLACES = [("t", 0), ("t", 2), ("u", 1)]
TOPICS = [{"name": "t", "partitions": [0, 2]}, {"name": "u", "partitions": [1]}]


def wanted(transactional_id: str) -> dict[str, Any]:
    return {"transactional_id": transactional_id, "producer_id": 1, "producer_epoch": 0, "topics": TOPICS}


def codes(found: Struct) -> dict[tuple[str, int], int]:
    return {
        (topic.name, line.partition_index): line.partition_error_code
        for topic in found.topic_results
        for line in topic.results_by_partition
    }


def test_partitions_of_a_transaction_that_is_coordinated_elsewhere_are_refused_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinated, "_coordinated", lambda kind, key, context: errors.NOT_COORDINATOR)
    both = request("AddPartitionsToTxn", transactions=[wanted("a"), wanted("b")])
    context: Any = SimpleNamespace(version=5)

    told = answer(BY_API["AddPartitionsToTxn"], lambda _, __: response("AddPartitionsToTxn"), both, context)

    assert isinstance(told, Struct)
    assert [each.transactional_id for each in told.results_by_transaction] == ["a", "b"]
    for each in told.results_by_transaction:
        assert codes(each) == dict.fromkeys(PLACES, errors.NOT_COORDINATOR)


def test_a_partition_that_the_coordinator_does_not_name_is_not_admitted() -> None:
    async def call(*_: object) -> Struct:
        return response("AddPartitionsToTxn")

    state = SimpleNamespace(partitions=1, placements=[SimpleNamespace(leader=1)])
    node: Any = SimpleNamespace(ensure_internal=lambda _: state, peers=SimpleNamespace(call=call))

    found = asyncio.run(asked(node, "a", 1, 0, PLACES, add=False))

    assert found == dict.fromkeys(PLACES, errors.NETWORK_EXCEPTION)
