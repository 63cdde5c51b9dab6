"""Every kind of message fault bites, where it should and nowhere else, and lets go when it is healed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from brokertrial.faults.kinds import all_kinds
from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.kinds.delay import delay
from brokertrial.faults.kinds.drop_request import drop_request
from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.duplicate_request import duplicate_request
from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.faults.kinds.error_after import error_after
from brokertrial.faults.kinds.error_instead import error_instead
from brokertrial.faults.kinds.hold import hold
from brokertrial.faults.schedule import Window, Windows
from brokertrial.wire import errors
from brokertrial.wire.client import ConnectionClosed, ResponseTimeout
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, batches, build_batch


def one(window: Window) -> Window:
    return Windows(window).windows[0]


def produce(value: bytes = b"v", acks: int = -1, sequence: int = 0, topic: str = "t", partition: int = 0) -> Any:
    batch = build_batch([Record(None, value, timestamp=1)], producer_id=5, producer_epoch=0, base_sequence=sequence)
    data = [{"index": partition, "records": batch}]
    return request("Produce", acks=acks, timeout_ms=1000, topic_data=[{"name": topic, "partition_data": data}])


def list_offsets() -> Any:
    return request("ListOffsets", topics=[{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}])


def offset_of(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].offset)


def test_a_lost_answer_was_still_done(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    links.apply(one(drop_response(api="Produce", every=2, times=1)))
    client = connect()
    assert client.call(produce(b"a"), 9).responses[0].partition_responses[0].base_offset == 0
    with pytest.raises(ConnectionClosed):
        client.call(produce(b"b"), 9)
    assert len(fake.log) == 2
    assert connect().call(produce(b"c"), 9).responses[0].partition_responses[0].base_offset == 2

    (hit,) = seen("hit", window="f1")
    told = json.loads(hit.fields)
    assert (hit.client, hit.node, told["api"], told["code"], told["decision"]) == ("p1", 1, "Produce", 0, "drop")
    assert told["batches"][0]["producer_id"] == 5
    assert links.hits("f1") == 1
    assert [b.error for b in seen("batch")] == [0, 0, 0]


def test_silence_after_a_lost_answer_ends_with_the_window(fake: Any, links: Any, connect: Any) -> None:
    links.apply(one(drop_response(api="Produce", then="silence")))
    client = connect(timeout_s=0.3)
    client.offered()
    with pytest.raises(ResponseTimeout):
        client.call(produce(), 9)
    client.send(list_offsets(), 7)
    fake.wait_for("ListOffsets", 1)
    with pytest.raises(ResponseTimeout):
        client.receive()
    links.heal("f1")
    assert client.closed_by_peer(5.0)


def test_a_lost_request_never_arrives(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    links.apply(one(drop_request(api="Produce", times=1)))
    client = connect()
    client.send(list_offsets(), 7)
    client.send(produce(), 9)
    assert offset_of(client.receive().struct) == 7  # what was asked before is still answered
    assert client.closed_by_peer(5.0)
    assert fake.log == []
    assert len(seen("hit", window="f1")) == 1


def test_delay_is_added_to_every_answer_side_by_side(fake: Any, links: Any, connect: Any) -> None:
    client = connect()
    client.offered()
    links.apply(one(delay(1_000)))
    began = time.monotonic()
    for _ in range(5):
        client.send(list_offsets(), 7)
    for _ in range(5):
        client.receive()
    assert 0.99 <= time.monotonic() - began < 4, "one after the other they take 5 s"
    assert fake.requests("ListOffsets")[-1].at - began < 0.9  # the way out was not delayed
    assert links.hits("f1") == 5


def test_delay_of_requests_holds_them_back_and_jitter_keeps_their_order(fake: Any, links: Any, connect: Any) -> None:
    client = connect()
    client.offered()
    links.apply(one(delay(100, jitter_ms=100, direction="requests", api="ListOffsets")))
    began = time.monotonic()
    sent = [client.send(list_offsets(), 7) for _ in range(8)]
    got = [client.receive().correlation_id for _ in sent]
    assert got == sent
    assert fake.requests("ListOffsets")[0].at - began >= 0.09


@pytest.mark.parametrize("heard", ["first", "second"])
def test_a_duplicate_arrives_twice_and_is_answered_once(
    fake: Any, links: Any, connect: Any, seen: Any, heard: Any
) -> None:
    links.apply(one(duplicate_request(api="Produce", times=1, heard=heard)))
    client = connect()
    answer = client.call(produce(), 9)
    assert answer.responses[0].partition_responses[0].base_offset == (0 if heard == "first" else 1)
    wait_until(lambda: len(fake.log) == 2, "the second one arrives")
    assert fake.log[0] == fake.log[1]
    assert offset_of(client.call(list_offsets(), 7)) == 7
    assert len(seen("batch")) == 2


def test_a_held_request_arrives_after_its_client_has_gone_on(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    links.apply(one(hold(api="Produce", times=1)))
    client = connect()
    client.send(produce(b"late"), 9)
    client.send(list_offsets(), 7)
    with pytest.raises(ResponseTimeout):
        client.receive(0.2)
    client.close()
    assert connect().call(produce(b"soon"), 9).responses[0].partition_responses[0].base_offset == 0
    wait_until(lambda: links.state()["parked"] == 1, "the request is parked")
    links.heal("f1")
    assert fake.wait_for("Produce", 2)[1].correlation_id != 0
    wait_until(lambda: links.state()["parked"] == 0, "it is delivered")
    assert [values(data) for _, _, data in fake.log] == [[b"soon"], [b"late"]]
    assert fake.requests("ListOffsets") == []  # what was behind it on the lost connection is lost
    assert json.loads(seen("delivered-late", window="f1")[0].fields)["code"] == "0"


def test_a_held_request_whose_client_waits_is_answered_to_it(fake: Any, links: Any, connect: Any) -> None:
    links.apply(one(hold(api="Produce", times=1)))
    client = connect()
    client.send(produce(b"late"), 9)
    with pytest.raises(ResponseTimeout):
        client.receive(0.2)
    links.heal("f1")
    assert client.receive().struct.responses[0].partition_responses[0].base_offset == 0


@pytest.mark.parametrize("direction", ["both", "requests", "answers"])
def test_a_cut_stops_one_client_and_one_node_only(fake: Any, links: Any, connect: Any, direction: Any) -> None:
    cut_off, other_client, other_node = connect(1, "p1"), connect(1, "p2"), connect(2, "p1")
    for client in (cut_off, other_client, other_node):
        client.offered()
    links.apply(one(cut(client="p1", node=1, direction=direction)))
    cut_off.send(list_offsets(), 7)
    with pytest.raises(ResponseTimeout):
        cut_off.receive(0.3)
    assert len(fake.requests("ListOffsets")) == (1 if direction == "answers" else 0)
    assert offset_of(other_client.call(list_offsets(), 7)) == 7
    assert offset_of(other_node.call(list_offsets(), 7)) == 7
    assert links.hits("f1") == 1
    links.heal("f1")
    assert offset_of(cut_off.receive().struct) == 7
    assert links.state()["waiting"] == 0


def test_a_cut_hides_the_end_of_the_connection_too(fake: Any, links: Any, connect: Any) -> None:
    client = connect()
    client.offered()
    links.apply(one(cut(client="p1")))
    fake._connections[-1].shutdown(2)
    assert not client.closed_by_peer(0.3)
    links.heal("f1")
    assert client.closed_by_peer(5.0)


def test_a_cut_by_reset_aborts(fake: Any, links: Any, connect: Any) -> None:
    links.apply(one(cut(node=1, how="reset")))
    client = connect(1)
    with pytest.raises(ConnectionClosed):
        client.call(list_offsets(), 7)
    assert offset_of(connect(2).call(list_offsets(), 7)) == 7


def test_the_leader_is_whoever_metadata_names(fake: Any, links: Any, connect: Any) -> None:
    links.apply(one(drop_response(api="Produce", node="leader(x,1)")))
    one_, two = connect(1), connect(2)
    one_.call(produce(topic="x", partition=1), 9)
    assert links.resolve("leader(x,1)") is None
    one_.call(request("Metadata", topics=[{"name": "x"}]), 9)
    assert links.resolve("leader(x,1)") == [2]
    one_.call(produce(topic="x", partition=1), 9)
    with pytest.raises(ConnectionClosed):
        two.call(produce(topic="x", partition=1), 9)
    one_.call(request("FindCoordinator", coordinator_keys=["g"]), 4)
    assert links.resolve("coordinator(g)") == [2]
    assert links.resolve("controller") == [2]
    with pytest.raises(ValueError, match="names no node"):
        links.resolve("boss(x)")


def test_a_window_can_be_about_one_partition(fake: Any, links: Any, connect: Any) -> None:
    links.apply(one(error_instead("NOT_LEADER_OR_FOLLOWER", api="Produce", topic="t", partition=1)))
    client = connect()
    assert client.call(produce(partition=0), 9).responses[0].partition_responses[0].error_code == 0
    refused = client.call(produce(partition=1), 9).responses[0]
    assert (refused.name, refused.partition_responses[0].index) == ("t", 1)
    assert refused.partition_responses[0].error_code == errors.NOT_LEADER_OR_FOLLOWER
    assert refused.partition_responses[0].base_offset == -1
    assert len(fake.log) == 1


def test_an_error_instead_keeps_its_place_among_the_answers(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    links.apply(one(error_instead("REBALANCE_IN_PROGRESS", api="Heartbeat")))
    client = connect()
    sent = [
        client.send(list_offsets(), 7),
        client.send(request("Heartbeat", group_id="g", member_id="m"), 3),
        client.send(list_offsets(), 7),
    ]
    got = [client.receive() for _ in sent]
    assert [answer.correlation_id for answer in got] == sent
    assert got[1].struct.error_code == errors.REBALANCE_IN_PROGRESS
    assert fake.requests("Heartbeat") == []
    assert json.loads(seen("hit", window="f1")[0].fields)["code"] is None


def test_an_error_after_the_fact_hides_what_was_done(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    links.apply(one(error_after("REQUEST_TIMED_OUT", api="Produce", times=1)))
    client = connect()
    part = client.call(produce(), 9).responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (errors.REQUEST_TIMED_OUT, -1)
    assert len(fake.log) == 1
    assert json.loads(seen("hit", window="f1")[0].fields)["code"] == 0
    assert seen("batch")[0].error == 0  # what the broker said, not what the client was told


def test_one_field_of_an_answer_is_edited(fake: Any, links: Any, connect: Any) -> None:
    client = connect()
    links.apply(one(edit_answer("topics[].partitions[].offset", add=1, api="ListOffsets", times=1)))
    assert offset_of(client.call(list_offsets(), 7)) == 8
    assert offset_of(client.call(list_offsets(), 7)) == 7
    assert links.hits("f1") == 1


def test_records_in_an_answer_are_edited_and_packed_again(fake: Any, links: Any, connect: Any) -> None:
    from brokertrial.wire.messages import response

    stored = build_batch([Record(b"k", b"one", timestamp=1), Record(b"k", b"two", timestamp=2)], base_offset=40)
    parts = [{"partition_index": 0, "records": stored}]
    fake.answers["Fetch"] = lambda *_: response("Fetch", responses=[{"topic": "t", "partitions": parts}])
    fetch = request("Fetch", topics=[{"topic": "t", "partitions": [{"partition": 0}]}])
    links.apply(one(edit_answer("responses[].partitions[].records[0].records[1].value", set="2", api="Fetch")))
    client = connect()
    (batch,) = batches(client.call(fetch, 11).responses[0].partitions[0].records)
    assert batch.crc_ok() and [(r.offset, r.value) for r in batch.records()] == [(40, b"one"), (41, b"2")]
    links.heal("f1")
    links.apply(one(edit_answer("responses[].partitions[].records", flip=-1, api="Fetch")))
    (batch,) = batches(client.call(fetch, 11).responses[0].partitions[0].records)
    assert not batch.crc_ok()


def test_every_message_kind_has_its_proof() -> None:
    """A kind that no test of this file drives is a kind that may do nothing."""
    from pathlib import Path

    text = Path(__file__).read_text()
    for name, kind in all_kinds().items():
        if kind.needs == ("proxy",):
            assert f"one({name}(" in text, name


def wait_until(condition: Any, what: str, within_s: float = 5.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"waited {within_s} s until {what}"
        time.sleep(0.01)


def values(data: bytes) -> list[bytes | None]:
    return [record.value for batch in batches(data) for record in batch.records()]
