"""What a leader answers to Fetches of followers without a broker epoch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, Struct, request
from tests.reference_impl.brokers import BrokerProcess
from tests.reference_impl.test_protocol import Wire, append, batch, create


@pytest.fixture
def wire(broker: BrokerProcess) -> Iterator[Wire]:
    with closing(Wire(broker.port)) as opened:
        yield opened


def asked(topic: str, version: int, *, replica: int = 2, **part: Any) -> Struct:
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20, **part}
    who: dict[str, Any] = {"replica_id": replica}
    if version >= 15:
        who = {"replica_state": {"replica_id": replica, "replica_epoch": -1}}
    return request("Fetch", max_wait_ms=0, min_bytes=0, topics=[{"topic": topic, "partitions": [row]}], **who)


@pytest.mark.parametrize("version", [9, 12])
def test_who_is_no_replica_is_refused(wire: Wire, version: int) -> None:
    topic = create(wire)
    append(wire, topic, batch(b"a"))
    for epoch, code in ((-1, errors.NOT_LEADER_OR_FOLLOWER), (0, errors.UNKNOWN_LEADER_EPOCH)):
        answer = wire.call(asked(topic, version, current_leader_epoch=epoch), version)
        (part,) = answer.responses[0].partitions
        assert (answer.responses[0].topic, part.error_code, bytes(part.records)) == (topic, code, b"")


def test_a_topic_that_is_not_there(wire: Wire) -> None:
    answer = wire.call(asked("nowhere", 12), 12)
    assert answer.responses[0].topic == "nowhere"
    assert answer.responses[0].partitions[0].error_code == errors.UNKNOWN_TOPIC_OR_PARTITION
    by_id = request(
        "Fetch",
        max_wait_ms=0,
        min_bytes=0,
        replica_state={"replica_id": 2, "replica_epoch": -1},
        topics=[{"topic_id": ZERO_UUID, "partitions": [{"partition": 0, "fetch_offset": 0}]}],
    )
    assert wire.call(by_id, 15).responses[0].partitions[0].error_code == errors.UNKNOWN_TOPIC_ID


def test_a_session_that_was_never_opened(wire: Wire) -> None:
    topic = create(wire)
    struct = asked(topic, 12)
    struct.session_id, struct.session_epoch = 5, 3
    assert wire.call(struct, 12).error_code == errors.FETCH_SESSION_ID_NOT_FOUND
