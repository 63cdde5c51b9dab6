"""Demands on answers: what is false ends the case, with the field marked and the bytes beside it."""

import itertools

import pytest

from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import NoResponse, ProtocolBroken, StatementFalse
from brokertrial.wire import errors
from brokertrial.wire.messages import request, response
from tests.suites.scripted import TOPIC, produced, wire_to


def marked(failure: StatementFalse) -> list[str]:
    answer = failure.evidence[-1]
    lines = answer.text.splitlines()
    return [lines[number].strip() for number in answer.marked]


def test_a_wrong_offset_shows_the_very_field():
    wire, _ = wire_to(Produce=produced(offset=4))
    with pytest.raises(StatementFalse) as caught:
        wire.produce(TOPIC, batch("a")).must_be_at(3)
    assert "base_offset is 4; it must be 3" in caught.value.sentence
    assert [line.split() for line in marked(caught.value)] == [["base_offset", "4"]]
    assert [line.what for line in caught.value.evidence] == ["request", "answer"]
    assert all(line.bytes_hex for line in caught.value.evidence)
    assert caught.value.ops


def test_an_unexpected_error_code_is_named():
    wire, _ = wire_to(Produce=produced(error=errors.CORRUPT_MESSAGE))
    with pytest.raises(StatementFalse, match=r"CORRUPT_MESSAGE \(2\); it must be INVALID_RECORD \(87\)") as caught:
        wire.produce(TOPIC, batch("a")).must_be_refused(errors.INVALID_RECORD)
    assert marked(caught.value)[0].split()[0] == "error_code"


def test_a_success_that_had_to_be_refused():
    wire, _ = wire_to(Produce=produced())
    with pytest.raises(StatementFalse, match="it succeeded; it must be refused with INVALID_RECORD"):
        wire.produce(TOPIC, batch("a")).must_be_refused(errors.INVALID_RECORD)


def test_an_error_that_the_case_never_looked_at_ends_it_at_the_next_request():
    wire, _ = wire_to(Produce=produced(error=errors.INVALID_RECORD))
    wire.produce(TOPIC, batch("a"))
    with pytest.raises(StatementFalse, match="INVALID_RECORD"):
        wire.produce(TOPIC, batch("b"))


def test_an_error_that_the_case_looked_at_is_its_own_business():
    wire, _ = wire_to(Produce=produced(error=errors.INVALID_RECORD))
    assert wire.produce(TOPIC, batch("a")).error == errors.INVALID_RECORD
    wire.settle()


def test_an_answer_is_waited_for_when_it_is_looked_at_and_those_before_it_first():
    wire, exchanger = wire_to(Produce=produced(offset=7))
    first = wire.produce(TOPIC, batch("a"), wait=False)
    second = wire.produce(TOPIC, batch("b"), wait=False)
    assert not any(entry.kind == "answer" and entry.api == "Produce" for entry in exchanger.tape)
    assert second.offset == 7
    assert first.asked.answer is not None


def test_a_wrong_correlation_id_breaks_the_protocol():
    wire, _ = wire_to(Produce=lambda asked: (99).to_bytes(4, "big") + b"\0" * 20)
    with pytest.raises(ProtocolBroken, match="correlation id 99") as caught:
        wire.produce(TOPIC, batch("a"))
    assert caught.value.evidence[-1].bytes_hex.startswith("00000063")


def test_an_answer_that_cannot_be_decoded_breaks_the_protocol():
    def one_byte_too_many(asked):
        ids = iter(range(1, 100))
        return next(ids).to_bytes(4, "big")

    wire, _ = wire_to(Produce=one_byte_too_many)
    with pytest.raises(ProtocolBroken):
        wire.produce(TOPIC, batch("a"))


def test_silence_and_a_closed_connection_are_no_answer():
    wire, _ = wire_to(Produce=lambda asked: None)
    with pytest.raises(NoResponse, match="got no answer from node 1 within"):
        wire.produce(TOPIC, batch("a"))
    wire, _ = wire_to(Produce=lambda asked: "close")
    with pytest.raises(NoResponse, match="closed the connection"):
        wire.produce(TOPIC, batch("a"))


def test_busy_coordinators_are_asked_again_until_they_are_ready():
    codes = iter([errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR, 0])
    found = {"coordinators": [{"key": "g", "node_id": 1, "host": "h", "port": 9}]}
    wire, exchanger = wire_to(
        Heartbeat=lambda asked: response("Heartbeat", error_code=next(codes)),
        FindCoordinator=lambda asked: response("FindCoordinator", **found),
    )
    wire.heartbeat("g", 1, "m").must_succeed()
    assert exchanger.seen.count("Heartbeat") == 3


def listed(codes):
    def answer(asked):
        row = {"partition_index": 0, "error_code": next(codes), "offset": 5, "leader_epoch": 1}
        return response("ListOffsets", topics=[{"name": asked.topics[0].name, "partitions": [row]}])

    return answer


def test_a_leader_just_elected_that_does_not_know_its_end_yet_is_asked_again():
    wire, exchanger = wire_to(ListOffsets=listed(iter([errors.OFFSET_NOT_AVAILABLE] * 2 + [0])))
    assert wire.list_offsets(TOPIC).offset == 5
    assert exchanger.seen.count("ListOffsets") == 3


def test_a_leader_that_never_comes_to_know_its_end_is_named():
    wire, exchanger = wire_to(ListOffsets=listed(itertools.repeat(errors.OFFSET_NOT_AVAILABLE)))
    with pytest.raises(StatementFalse, match="OFFSET_NOT_AVAILABLE"):
        wire.list_offsets(TOPIC).must_name(offset=5)
    assert exchanger.ns > 30e9


def test_waiting_fails_the_case_and_says_for_what():
    wire, _ = wire_to()
    with pytest.raises(StatementFalse, match="pigs fly"):
        wire.until(lambda: False, within=1, what="pigs fly")


def test_fields_that_a_version_lacks_are_left_out():
    wire, _ = wire_to(FindCoordinator=lambda asked: response("FindCoordinator", node_id=1))
    wire.ask(request("FindCoordinator", key="g", key_type=0, coordinator_keys=["g"]), version=1).must_succeed()


def test_waiting_for_a_demand_ends_with_the_demand_that_failed():
    offsets = iter([5, 6, 7])
    wire, _ = wire_to(Produce=lambda asked: produced(offset=next(offsets))(asked))
    wire.eventually(lambda: wire.produce(TOPIC, batch("a")).must_be_at(7), within=5)
    wire, _ = wire_to(Produce=produced(offset=1))
    with pytest.raises(StatementFalse, match=r"base_offset is 1; it must be 2.*still so"):
        wire.eventually(lambda: wire.produce(TOPIC, batch("a")).must_be_at(2), within=1)
