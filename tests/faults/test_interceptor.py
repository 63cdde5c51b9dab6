"""What the proxy decides, without a socket: messages in, effects out, and no message is changed."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from brokertrial.faults import kinds
from brokertrial.faults.channel import ControlReport, Setup
from brokertrial.faults.proxy.active_faults import ActiveFaults
from brokertrial.faults.proxy.effects import (
    AbortConnection,
    BlackHole,
    CloseInTurn,
    LinkEffect,
    SendRequest,
    SendResponse,
)
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse
from brokertrial.faults.proxy.follow_up import NOTHING, FollowUp
from brokertrial.faults.proxy.interceptor import Interceptor
from brokertrial.faults.proxy.observed_cluster import ObservedCluster
from brokertrial.faults.proxy.observer import Observer
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.faults.schedule import Window
from brokertrial.wire import apis
from brokertrial.wire.codec import decode
from brokertrial.wire.frames import encode_request, encode_response
from brokertrial.wire.messages import request, response
from brokertrial.wire.records import Record, build_batch

PRODUCE_VERSION, METADATA_VERSION = 9, 12
RETRIABLE = 6


class Decisions:
    """An interceptor with these faults active, and what it reported."""

    def __init__(self, *faults: Window) -> None:
        self.rows: list[tuple[str, Any]] = []
        setup, facts = Setup(bootstrap=[]), ObservedCluster()
        outbox = Outbox(self._report)
        self._outbox = outbox
        active = ActiveFaults(facts, 1, lambda _: None)
        for number, fault in enumerate(faults, 1):
            active.begin(msgspec.structs.replace(fault, id=f"f{number}"))
        observer = Observer(setup, facts, outbox, lambda node, host, port: (host, port + 1000))
        self.interceptor = Interceptor(active, observer, outbox)

    def reported(self, table: str) -> list[dict[str, Any]]:
        self._outbox.flush()
        return [msgspec.msgpack.decode(row) for name, row in self.rows if name == table]

    def _report(self, report: ControlReport) -> None:
        self.rows += report.rows


def produce(acks: int = -1) -> ProxiedRequest:
    batch = build_batch([Record(None, b"v", timestamp=1)], producer_id=9, producer_epoch=0, base_sequence=0)
    data = [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]
    return proxied("Produce", PRODUCE_VERSION, acks=acks, timeout_ms=1, topic_data=data)


def proxied(api: str, version: int, **fields: Any) -> ProxiedRequest:
    schema = apis.by_name(api)
    frame = encode_request(request(api, **fields), version, 7, "c")
    return ProxiedRequest(schema, schema.key, version, 7, "c", 1, 3, 0, frame)


def produced(to: ProxiedRequest) -> ProxiedResponse:
    done = [{"name": "t", "partition_responses": [{"index": 0, "base_offset": 5}]}]
    return ProxiedResponse(to, encode_response(response("Produce", responses=done), PRODUCE_VERSION, 7))


def inside(test: Callable[[], None]) -> None:
    """Runs a test where an event loop is: the outbox collects what it sends at once."""

    async def run() -> None:
        test()

    asyncio.run(run())


def names(effects: tuple[LinkEffect, ...]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ((), ["SendRequest"]),
        ((kinds.drop_response(),), ["SendRequest"]),
        ((kinds.delay(5, direction="requests"),), ["SendRequest"]),
        ((kinds.drop_request(),), ["BlackHole", "CloseInTurn"]),
        ((kinds.drop_request(then="silence"),), ["BlackHole"]),
        ((kinds.error_instead(RETRIABLE),), ["SendResponse"]),
        ((kinds.duplicate_request(),), ["SendRequest", "SendRequest"]),
        ((kinds.duplicate_request(), kinds.drop_request()), ["BlackHole", "CloseInTurn"]),
        ((kinds.drop_request(), kinds.cut(how="reset")), ["AbortConnection"]),
        ((kinds.error_instead(RETRIABLE, api="Fetch"),), ["SendRequest"]),
    ],
)
def test_of_several_ways_to_stop_a_request_the_strongest_counts(
    faults: tuple[Window, ...], expected: list[str]
) -> None:
    inside(lambda: _same(names(Decisions(*faults).interceptor.on_request(produce())), expected))


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ((), [SendResponse]),
        ((kinds.drop_response(),), [CloseInTurn]),
        ((kinds.drop_response(then="silence"),), [BlackHole]),
        ((kinds.cut(how="reset", direction="answers"), kinds.drop_response()), [AbortConnection]),
        ((kinds.delay(5),), [SendResponse]),
    ],
)
def test_what_becomes_of_a_response(faults: tuple[Window, ...], expected: list[type]) -> None:
    def test() -> None:
        decisions = Decisions(*faults)
        (sent,) = decisions.interceptor.on_request(produce())
        assert isinstance(sent, SendRequest)
        effects = decisions.interceptor.on_response(produced(sent.request), sent.follow_up)
        assert [type(effect) for effect in effects] == expected
        assert all(not isinstance(e, SendResponse) or e.delivery.delay == 0.005 * len(faults) for e in effects)

    inside(test)


def test_what_came_is_not_changed_by_any_fault_or_by_the_addresses_put_in() -> None:
    def test() -> None:
        brokers = [{"node_id": 1, "host": "far", "port": 9}]
        frame = encode_response(response("Metadata", brokers=brokers), METADATA_VERSION, 7)
        decisions = Decisions(
            kinds.edit_answer("controller_id", set=4), kinds.edit_answer("brokers[].rack", set="edited twice")
        )
        asked = proxied("Metadata", METADATA_VERSION)
        (sent,) = decisions.interceptor.on_request(asked)
        assert isinstance(sent, SendRequest) and sent.request is asked
        came = ProxiedResponse(asked, frame)
        (passed,) = decisions.interceptor.on_response(came, sent.follow_up)
        assert isinstance(passed, SendResponse) and passed.frame != came.frame == frame
        told = ProxiedResponse(asked, passed.frame).decoded()
        assert (told.controller_id, told.brokers[0].rack, told.brokers[0].port) == (4, "edited twice", 1009)
        with pytest.raises(AttributeError):
            came.frame = b""  # type: ignore[misc]

    inside(test)


def test_a_request_sent_twice_is_heard_once_and_each_is_reported() -> None:
    def test() -> None:
        decisions = Decisions(kinds.duplicate_request(heard="second"))
        first, second = decisions.interceptor.on_request(produce())
        assert isinstance(first, SendRequest) and isinstance(second, SendRequest)
        assert not first.heard and second.heard and second.heard_as == first.request.correlation_id
        assert second.request.correlation_id < 0 and second.request.body.topic_data[0].name == "t"
        for sent in (first, second):
            decisions.interceptor.on_response(produced(sent.request), sent.follow_up)
        assert [row["base_offset"] for row in decisions.reported("batches")] == [5, 5]
        assert len(decisions.reported("events")) == 1, "one hit, with the broker's own answer"

    inside(test)


def test_nobody_answers_a_produce_with_acks_0() -> None:
    def test() -> None:
        decisions = Decisions(kinds.delay(1, direction="requests"))
        (sent,) = decisions.interceptor.on_request(produce(acks=0))
        assert isinstance(sent, SendRequest) and not sent.follow_up.acknowledged and not sent.follow_up.hits
        decisions.interceptor.unanswered(sent.request, sent.follow_up)
        assert len(decisions.reported("batches")) == 1 and len(decisions.reported("events")) == 1
        assert Decisions(kinds.error_instead(RETRIABLE)).interceptor.on_request(produce(acks=0)) == ()

    inside(test)


def test_a_fault_that_did_not_hit_the_response_leaves_its_place_to_another_request() -> None:
    def test() -> None:
        decisions = Decisions(kinds.edit_answer("no_such_field", set=1, times=1))
        for _ in range(2):
            (sent,) = decisions.interceptor.on_request(produce())
            assert isinstance(sent, SendRequest) and len(sent.follow_up.picked_by) == 1
            decisions.interceptor.on_response(produced(sent.request), sent.follow_up)
        assert not decisions.reported("events")

    inside(test)


def test_an_answer_of_our_own_is_what_the_client_asked_for() -> None:
    def test() -> None:
        (answer,) = Decisions(kinds.error_instead(RETRIABLE)).interceptor.on_request(produce())
        assert isinstance(answer, SendResponse) and answer.frame[4:8] == (7).to_bytes(4, "big")
        body = decode("Produce", "response", PRODUCE_VERSION, answer.frame[9:])
        assert body.responses[0].partition_responses[0].error_code == RETRIABLE

    inside(test)


def test_a_response_that_nobody_follows_up_passes_byte_by_byte() -> None:
    def test() -> None:
        asked = proxied("Heartbeat", 4, group_id="g", member_id="m").without_frame()
        frame = encode_response(response("Heartbeat"), 4, 7)
        assert Decisions().interceptor.on_response(ProxiedResponse(asked, frame), NOTHING) == (SendResponse(frame),)
        assert FollowUp() == NOTHING

    inside(test)


def _same(seen: object, expected: object) -> None:
    assert seen == expected
