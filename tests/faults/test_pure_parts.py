"""Selectors, paths, error answers, lanes, leaks: the parts that need no socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokertrial.faults import message_paths
from brokertrial.faults.clock import OperationClock
from brokertrial.faults.error_responses import NoErrorField, error_response, fail, first_error
from brokertrial.faults.match import BadSelector, Match, body_matches, client_test, node_test, resolve
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse
from brokertrial.faults.proxy.observed_cluster import ObservedCluster
from brokertrial.faults.proxy.send_queue import SendQueue
from brokertrial.faults.proxy_bypass import BypassDetector
from brokertrial.wire import apis
from brokertrial.wire.codec import decode, encode
from brokertrial.wire.messages import request, response

PARTITION = {"partition_index": 0, "leader_id": 4, "leader_epoch": 2, "replica_nodes": [9, 4, 7]}


def facts() -> ObservedCluster:
    seen = ObservedCluster()
    topic = {"name": "t", "partitions": [PARTITION]}
    brokers = [{"node_id": node} for node in (4, 6, 7, 9)]
    seen.saw_metadata(response("Metadata", controller_id=6, brokers=brokers, topics=[topic]))
    return seen


def test_selectors_name_nodes() -> None:
    seen = facts()
    assert resolve("7", seen) == (7,) and resolve("leader(t, 0)", seen) == (4,) and resolve("controller", seen) == (6,)
    assert resolve("leader(t,1)", seen) is None and resolve("coordinator(g)", seen) is None
    assert node_test("any")(1, seen) and node_test("leader(t,0)")(4, seen) and not node_test("leader(t,0)")(5, seen)
    for nonsense in ("any", "leader(t)", "leader()", "leader(t,0,1)", "followers(t,0,1)", "follower(t)", "chief", ""):
        with pytest.raises(BadSelector):
            resolve(nonsense, seen)
    seen.leaderless = True
    assert node_test("leader(t,0)")(5, seen)


def test_followers_are_the_replicas_that_do_not_lead_now() -> None:
    seen = facts()
    assert resolve("followers(t,0)", seen) == (9, 7)
    assert resolve("follower(t,0)", seen) == (9,) and resolve("follower(t, 0, 2)", seen) == (7,)
    assert node_test("followers(t,0)")(7, seen) and not node_test("followers(t,0)")(4, seen)
    assert resolve("follower(t,0,3)", seen) is None and resolve("followers(t,1)", seen) is None
    assert resolve("others(leader(t,0))", seen) == (6, 7, 9) and node_test("others(controller)")(4, seen)
    seen.saw_leader("t", 0, 9, 3)
    assert resolve("followers(t,0)", seen) == (4, 7) and resolve("follower(t,0)", seen) == (4,)


def test_an_older_leader_epoch_is_no_news() -> None:
    seen = facts()
    assert not seen.saw_leader("t", 0, 9, 1)
    assert seen.saw_leader("t", 0, 9, 3) and seen.leader("t", 0) == 9


def test_clients_by_pattern() -> None:
    assert client_test("p-*")("p-1") and not client_test("p-*")("q-1") and client_test("*")("")


PARTITION_0 = [{"partition": 0}]
BOTH = [{"name": "t", "partitions": [{"partition_index": 3}, {"partition_index": 4}]}]


@pytest.mark.parametrize(
    ("match", "asked", "true"),
    [
        (Match(topic="t"), request("Produce", topic_data=[{"name": "t"}]), True),
        (Match(topic="t", partition=1), request("Fetch", topics=[{"topic": "t", "partitions": PARTITION_0}]), False),
        (Match(partition=2), request("OffsetFetch", topics=[{"name": "t", "partition_indexes": [1, 2]}]), True),
        (Match(group="g"), request("Heartbeat", group_id="g"), True),
        (Match(group="g"), request("OffsetFetch", groups=[{"group_id": "h"}]), False),
        (Match(group="g"), request("OffsetFetch", groups=[{"group_id": "g"}]), True),
        (Match(transactional_id="x"), request("EndTxn", transactional_id="x"), True),
        (Match(transactional_id="x"), request("AddPartitionsToTxn", transactions=[{"transactional_id": "x"}]), True),
        (Match(fields={"acks": 0}), request("Produce", acks=-1), False),
        (Match(fields={"committed": True}), request("EndTxn", committed=True), True),
    ],
)
def test_matches_look_into_requests(match: Match, asked: Any, true: bool) -> None:
    assert body_matches(match, asked, facts()) is true


def test_picks() -> None:
    assert [n for n in range(1, 30) if Match(every=7).picks(n)] == [7, 14, 21, 28]
    assert [n for n in range(1, 10) if Match(skip=6).picks(n)] == [7, 8, 9]


def answer() -> Any:
    parts = [{"partition_index": n, "offset": 10 * n} for n in range(3)]
    return response("ListOffsets", topics=[{"name": "a", "partitions": parts}, {"name": "b", "partitions": []}])


def test_paths_edit_in_place() -> None:
    made = answer()
    assert message_paths.change(made, message_paths.parse("topics[].partitions[].offset"), lambda v: v + 1) == 3
    assert message_paths.change(made, message_paths.parse("topics[name=a].partitions[-1].offset"), lambda v: 99) == 1
    assert [p.offset for p in made.topics[0].partitions] == [1, 11, 99]
    assert message_paths.repeat(made, message_paths.parse("topics[0].partitions[0]")) == 1
    assert message_paths.swap(made, message_paths.parse("topics[0].partitions[]")) == 4
    assert [p.offset for p in made.topics[0].partitions] == [99, 11, 1, 1]
    assert message_paths.drop(made, message_paths.parse("topics[0].partitions[partition_index=0]")) == 2
    assert [p.offset for p in made.topics[0].partitions] == [99, 11]
    assert message_paths.drop(made, message_paths.parse("topics[name=c]")) == 0
    assert message_paths.swap(made, message_paths.parse("topics[1].partitions[]")) == 0
    assert message_paths.change(made, message_paths.parse("nothing[].here"), lambda v: v) == 0


@pytest.mark.parametrize("nonsense", ["", "a..b", "a[", "a[x]", "A", "a[]b"])
def test_a_path_that_is_none_is_refused(nonsense: str) -> None:
    with pytest.raises(message_paths.BadPath):
        message_paths.parse(nonsense)
    with pytest.raises(message_paths.BadPath, match="is no list element"):
        message_paths.drop(answer(), message_paths.parse("topics"))


ASKED: list[tuple[Any, int]] = [
    (request("Produce", topic_data=[{"name": "t", "partition_data": [{"index": 3}, {"index": 4}]}]), 9),
    (request("Fetch", topics=[{"topic": "t", "partitions": [{"partition": 3}, {"partition": 4}]}]), 11),
    (request("ListOffsets", topics=BOTH), 7),
    (request("OffsetCommit", topics=BOTH), 8),
    (request("OffsetFetch", groups=[{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [3, 4]}]}]), 8),
    (request("AddPartitionsToTxn", v3_and_below_topics=[{"name": "t", "partitions": [3, 4]}]), 3),
    (request("TxnOffsetCommit", topics=BOTH), 3),
    (request("DeleteRecords", topics=BOTH), 2),
    (request("OffsetForLeaderEpoch", topics=[{"topic": "t", "partitions": [{"partition": 3}, {"partition": 4}]}]), 4),
]


@pytest.mark.parametrize(("asked", "version"), ASKED, ids=lambda value: getattr(value, "_api", str(value)))
def test_a_refusal_names_each_partition_that_was_asked_for(asked: Any, version: int) -> None:
    made = error_response(asked, version, 6)
    again = decode(asked._api, "response", version, encode(made, version))
    assert first_error(again) == 6
    text = repr(again)
    assert text.count("error_code=6") == 2 and "'t'" in text
    for number in ("=3", "=4"):
        assert f"index{number}" in text or f"partition{number}" in text


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        (request("InitProducerId", transactional_id="x"), 4),
        (request("EndTxn", transactional_id="x"), 3),
        (request("JoinGroup", group_id="g"), 7),
        (request("SyncGroup", group_id="g"), 5),
        (request("ConsumerGroupHeartbeat", group_id="g"), 0),
        (request("FindCoordinator", key="g"), 2),
        (request("FindCoordinator", coordinator_keys=["g"]), 4),
        (request("CreateTopics", topics=[{"name": "t"}]), 5),
        (request("DeleteGroups", groups_names=["g"]), 2),
        (request("Metadata", topics=[{"name": "t"}]), 9),
        (request("DescribeGroups", groups=["g"]), 5),
    ],
    ids=lambda value: getattr(value, "_api", str(value)),
)
def test_a_refusal_says_so_where_a_broker_would(asked: Any, version: int) -> None:
    made = error_response(asked, version, 15)
    assert first_error(decode(asked._api, "response", version, encode(made, version))) == 15


def test_a_request_that_nothing_can_refuse_is_told_of() -> None:
    with pytest.raises(NoErrorField):
        error_response(request("Metadata", topics=None), 9, 15)


@given(st.sampled_from([api for api in apis.ALL if "broker" in api.listeners and api.max_version >= api.min_version]))
def test_every_api_can_be_refused_or_says_that_it_cannot(api: apis.Api) -> None:
    for version in range(api.min_version, api.max_version + 1):
        try:
            made = error_response(request(api.name), version, 7)
        except NoErrorField:
            continue
        assert first_error(decode(api.name, "response", version, encode(made, version))) == 7


def test_an_answer_fails_at_its_innermost_places() -> None:
    made = response("Fetch", responses=[{"topic": "t", "partitions": [{"partition_index": 0, "records": b"x"}]}])
    assert fail(made, 11, 6) == 1
    part = made.responses[0].partitions[0]
    assert (made.error_code, part.error_code, part.records, part.high_watermark) == (0, 6, None, -1)


class Window:
    ended = False


def test_a_lane_keeps_order_time_and_its_bounds() -> None:
    async def story() -> list[Any]:
        out: list[Any] = []
        pressed: list[bool] = []
        lane = SendQueue(out.append, lambda: out.append("closed"), pressed.append, limit=10)
        window = Window()
        lane.push(b"1")
        lane.push(b"2", delay=0.02)
        lane.push(b"3")
        assert out == [b"1"]
        await asyncio.sleep(0.05)
        assert out == [b"1", b"2", b"3"]
        lane.push(b"4", gate=window)
        lane.push(b"5" * 12)
        lane.push(None)
        assert pressed == [True] and lane.waiting_bytes == 13
        window.ended = True
        lane.kick()
        assert pressed == [True, False]
        lane.push(b"never")
        return out

    assert asyncio.run(story()) == [b"1", b"2", b"3", b"4", b"5" * 12, "closed"]


def test_what_leaves_together_is_written_at_once_and_before_the_end() -> None:
    async def story() -> list[Any]:
        out: list[Any] = []
        lane = SendQueue(out.append, lambda: out.append("closed"), lambda on: None, limit=10)
        with lane.together:
            lane.push(b"a")
            lane.push(b"b")
        with lane.together:
            lane.push(b"c")
            lane.push(None)
        return out

    assert asyncio.run(story()) == [b"ab", b"c", "closed"]


def test_a_client_past_the_proxy_is_found() -> None:
    detector = BypassDetector()
    detector.saw_librdkafka(
        "p1",
        '{"brokers":{"127.0.0.1:1/1":{"name":"127.0.0.1:1/1","nodename":"127.0.0.1:1","tx":5},'
        '"kafka:9092/2":{"nodename":"kafka:9092","tx":3},"kafka:9093/3":{"nodename":"kafka:9093","tx":0},'
        '"GroupCoordinator":{"nodename":"127.0.0.1:1","tx":2}}}',
    )
    (leak,) = detector.leaks({"127.0.0.1:1"})
    assert str(leak) == "client 'p1' sent 3 requests to kafka:9092, past the proxy."


def test_the_clock_calls_at_its_time_and_at_once_when_late() -> None:
    clock, called = OperationClock(), []
    clock.on_tick(lambda: called.append(clock.operations()), 3)
    for _ in range(5):
        clock.tick()
    assert called == [3]
    clock.on_tick(lambda: called.append(0), 2)
    assert called == [3, 0] and clock.operations() == 5


def test_bytes_behind_an_answer_travel_on() -> None:
    metadata = apis.by_name("Metadata")
    answer = response("Metadata", brokers=[{"node_id": 1, "host": "far", "port": 1}])
    frame = (7).to_bytes(4, "big") + b"\0" + encode(answer, 13) + b"\0"
    request = ProxiedRequest(metadata, metadata.key, 13, 7, "c", 1, 1, 0, None)
    came = ProxiedResponse(request, len(frame).to_bytes(4, "big") + frame)
    body = came.decoded()
    body.brokers[0].host = "near"
    sent = came.replaced(body).frame
    assert sent[:4] == (len(frame) + 1).to_bytes(4, "big") and sent.count(b"near") == 1 and sent[-1:] == frame[-1:]
    assert came.decoded().brokers[0].host == "far", "what came is not changed"
