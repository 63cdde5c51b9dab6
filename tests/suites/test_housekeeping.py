"""What a probe does for itself survives brokers that close, garble or refuse; malformed data is a failure."""

from __future__ import annotations

from random import Random

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import NoResponse, NotApplicable, ProtocolBroken, StatementFalse
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.trials.facts import TrialFacts
from brokertrial.suites.trials.final_read import FinalRead
from brokertrial.wire.apis import by_name
from brokertrial.wire.messages import response
from brokertrial.wire.records import Record, build_batch
from tests.suites.scripted import TOPIC, api_versions, metadata, produced, wire_to
from tests.suites.test_trial_verdict import verdict

COMMIT_KEY = b"\0\0\0\1"


def wire_closing_on_metadata_above(highest, *, silent=False):
    wire, exchanger = wire_to()
    sends, asked = exchanger.send, []

    def send(connection, frame, api="", version=-1):
        if api != "Metadata":
            return sends(connection, frame, api, version)
        asked.append(version)
        exchanger.handlers["Metadata"] = metadata if version <= highest else lambda _: None if silent else "close"
        return sends(connection, frame, api, version)

    exchanger.send = send
    return wire, asked


def test_metadata_falls_back_where_the_connection_is_closed_on_it():
    wire, asked = wire_closing_on_metadata_above(8)
    assert wire.nodes == [1] and wire.leader(TOPIC) == 1
    assert asked == [12, 8, 8] and wire.metadata_version == 8
    wire.metadata(TOPIC).must_succeed()
    assert asked[-1] == 8, "what a case about something else asks, too"


def test_a_case_about_the_protocol_is_told_of_it():
    wire, _ = wire_closing_on_metadata_above(8)
    wire.case_context = type(wire.case_context)(prefix="bt-x", case="protocol/metadata")
    assert wire.nodes == [1]
    with pytest.raises(NoResponse):
        wire.metadata(TOPIC)


def test_a_connection_that_closes_on_every_version_is_no_reason_to_fall_back():
    wire, asked = wire_closing_on_metadata_above(-1)
    with pytest.raises(NoResponse, match="v12"):
        wire.refresh_metadata()
    assert asked == [12, 8] and wire.metadata_version == 12


def test_silence_is_no_reason_to_fall_back():
    wire, asked = wire_closing_on_metadata_above(8, silent=True)
    with pytest.raises(NoResponse):
        wire.refresh_metadata()
    assert asked == [12]


def test_the_epoch_of_a_topic_that_metadata_refuses_is_none():
    wire, _ = wire_to()
    assert wire.leader_epoch("another") == -1, "D5: it was a KeyError"


def test_an_answer_is_looked_at_however_many_are_under_way():
    wire, _ = wire_to(Produce=produced(error=2))
    for _ in range(600):
        wire.produce(TOPIC, batch("a"), wait=False)
    with pytest.raises(StatementFalse, match="CORRUPT_MESSAGE"):  # D4: the oldest were dropped above 512
        wire._open_answers[0].asked.wait()
        wire.settle()


def without(*apis):
    keys = {by_name(api).key for api in apis}

    def answer(asked):
        told = api_versions(asked)
        return response("ApiVersions", api_keys=[row for row in told.api_keys if row.api_key not in keys])

    return answer


def test_the_newest_version_of_what_is_not_offered_makes_a_case_not_applicable():
    wire, _ = wire_to(ApiVersions=without("Produce"))
    assert not wire.versions("Produce") and max(wire.versions("Produce"), default=0) == 0
    with pytest.raises(NotApplicable, match="does not offer Produce"):
        wire.versions("Produce")[-1]
    assert wire.versions("Metadata")[-1] >= 12 and 0 in wire.versions("Metadata")


def test_a_case_that_produces_by_hand_where_produce_is_not_offered():
    wire, exchanger = wire_to(ApiVersions=without("Produce"))
    outcome = attempt(by_id()["produce/asking-makes-no-topic"], wire, exchanger, {}, lambda: True)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.NOT_APPLICABLE, "not-offered"), "H25: it was `suite`"


def test_a_broker_of_which_only_api_versions_can_be_asked_in_turn():
    wire, _ = wire_to()
    case, told = by_id()["protocol/correlation-ids"], api_versions(None)
    wire._ranges[-1] = {row.api_key: (row.min_version, row.max_version) for row in told.api_keys}
    wire._ranges[-1][by_name("FindCoordinator").key] = (3, 4)
    wire._ranges[-1][by_name("Metadata").key] = (5, 13)
    with pytest.raises(NotApplicable, match="nothing but ApiVersions"):
        case.function(wire=wire, topic=TOPIC, rng=Random(1))


def control(records, **settings):
    return bytes(build_batch(records, control=True, transactional=True, producer_id=1, producer_epoch=0, **settings))


MARKERS = {
    "two records": control([Record(COMMIT_KEY, b"\0\0\0\0\0\1"), Record(COMMIT_KEY, b"\0\0\0\0\0\1")]),
    "a short key": control([Record(b"\0", b"\0\0\0\0\0\1")]),
    "no key": control([Record(None, b"\0\0\0\0\0\1")]),
}
NULL_VALUE = control([Record(COMMIT_KEY, None)])


def fetched(data):
    def answer(asked):
        row = {"partition_index": 0, "high_watermark": 1, "last_stable_offset": 1, "records": data}
        topic = asked.topics[0]
        return response("Fetch", responses=[{"topic": topic.topic, "topic_id": topic.topic_id, "partitions": [row]}])

    return answer


def offsets(asked):
    at = {-2: 0, -1: 1}[asked.topics[0].partitions[0].timestamp]
    row = {"partition_index": 0, "offset": at}
    return response("ListOffsets", topics=[{"name": asked.topics[0].name, "partitions": [row]}])


@pytest.mark.parametrize("data", MARKERS.values(), ids=MARKERS)
def test_a_malformed_control_batch_is_the_brokers_failure(data):
    wire, _ = wire_to(Fetch=fetched(data))
    answer = wire.fetch(TOPIC)
    with pytest.raises(ProtocolBroken) as caught:
        answer.marker_of(answer.batches[0])
    assert caught.value.evidence[-1].bytes_hex


def test_a_marker_without_a_value_is_read_by_its_key():
    wire, _ = wire_to(Fetch=fetched(NULL_VALUE))
    answer = wire.fetch(TOPIC)
    assert answer.marker_of(answer.batches[0]).kind == "COMMIT", "as consumers do; transactions/markers looks closer"


@pytest.mark.parametrize("data", MARKERS.values(), ids=MARKERS)
def test_records_that_a_case_reads_by_itself_fail_it_all_the_same(data):
    def case(wire):
        """It MUST hold."""
        for part in wire.fetch(TOPIC).batches:
            part.marker()

    wire, exchanger = wire_to(Fetch=fetched(data))
    made = Case("tests/case", case, ("prod-001",), (), {}, {}, False, None)
    outcome = attempt(made, wire, exchanger, {}, lambda: True)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "protocol")
    assert outcome.evidence[-1].bytes_hex and outcome.failures[0].signature.startswith("protocol:")


def final_read(tmp_path, data):
    wire, _ = wire_to(Fetch=fetched(data), ListOffsets=offsets)
    with Recorder.create(tmp_path / "h", Header(case="c", target="t", nodes=1)) as recorder:
        final = FinalRead(wire, recorder)
        final.everything([(TOPIC, 0)], 60.0, transactions=False)
    return final, list(History.open(tmp_path / "h").rows("batches"))


@pytest.mark.parametrize("data", MARKERS.values(), ids=MARKERS)
def test_a_final_read_keeps_what_it_could_not_read(tmp_path, data):
    final, _ = final_read(tmp_path, data)
    seen = TrialFacts()
    seen.take_malformed(final.malformed)
    (told,) = seen.malformed.values()
    assert "control" in told.sentence and told.evidence[-1].bytes_hex


def test_a_final_read_takes_a_marker_without_a_value(tmp_path):
    final, rows = final_read(tmp_path, NULL_VALUE)
    assert not final.malformed and [(row.control, row.coordinator_epoch) for row in rows] == [("COMMIT", None)]


def test_a_trial_whose_final_read_was_unreadable_fails(tmp_path):
    final, _ = final_read(tmp_path, MARKERS["no key"])
    seen = TrialFacts(warm=True, acked=3, hits={"f1": 3}, faults_over_ns=1_000)
    seen.take_malformed(final.malformed)
    outcome = verdict(tmp_path / "trial", seen)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "protocol"), "H24: it was `suite`, three times"
    assert outcome.evidence[-1].bytes_hex
