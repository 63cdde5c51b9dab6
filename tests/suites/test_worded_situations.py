"""Situations that word requests otherwise: what is sent, what the case is told, and bugs that only they bring out."""

from __future__ import annotations

import uuid
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run
from brokertrial.suites.situations.full import METADATA, Full
from brokertrial.suites.situations.narrowed import NARROWED
from brokertrial.suites.situations.sequences import Sequences
from brokertrial.suites.situations.shifted import Bases, shift_answer, shift_request
from brokertrial.suites.situations.sparse import Sparse
from brokertrial.wire.frames import decode_request, encode_request
from brokertrial.wire.messages import Struct, request, response
from brokertrial.wire.records import Record, batches, build_batch

TOPIC_ID = uuid.uuid4()
WIRE: Any = SimpleNamespace(
    topic_ids={"t": TOPIC_ID}, known_topics=["t"], known_epoch=lambda topic, partition: 3 if topic == "t" else -1
)


def worded(kind: Any, number: int, asked: Struct, version: int) -> Struct:
    """What is sent, as a broker decodes it: it must be a request of that version."""
    sent = kind(WIRE, number, Random(1), lambda what: "").worded(asked, version)
    return decode_request(encode_request(sent, version, 1)[4:])[1]


def commit(**row: Any) -> Struct:
    rows = [{"partition_index": 0, "committed_offset": 5, "committed_metadata": "", **row}]
    return request("OffsetCommit", group_id="g", topics=[{"name": "t", "topic_id": TOPIC_ID, "partitions": rows}])


# what is filled


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("version", [12, 18])
def test_a_fetch_has_the_epoch_that_the_client_knows_and_a_rack(number: int, version: int) -> None:
    rows = [{"partition": 0, "fetch_offset": 1}, {"partition": 1, "fetch_offset": 1, "current_leader_epoch": 7}]
    named = {"topic": "t"} if version < 13 else {"topic_id": TOPIC_ID}
    sent = worded(Full, number, request("Fetch", topics=[{**named, "partitions": rows}]), version)
    assert [row.current_leader_epoch for row in sent.topics[0].partitions] == [3, 7] and sent.rack_id
    assert sent.session_epoch == (0 if number == 2 else -1)
    assert bool(sent.topics[0].partitions[0]._unknown_tags) is (number == 2)


def test_what_a_version_has_not_is_not_filled() -> None:
    asked = request("Fetch", topics=[{"topic": "t", "partitions": [{"partition": 0}]}])
    assert worded(Full, 1, asked, 4).topics[0].partitions[0].current_leader_epoch == -1


def test_a_commit_comes_back_as_the_case_meant_it() -> None:
    full = Full(WIRE, 3, Random(1), lambda what: "")
    row = full.worded(commit(), 9).topics[0].partitions[0]
    assert (row.committed_metadata, row.committed_leader_epoch) == (METADATA, 3)
    told = told_of(metadata=METADATA, committed_leader_epoch=3)
    full.understood(told)
    assert shown(told) == ("", -1)
    wrong = told_of(metadata="of another", committed_leader_epoch=2)
    full.understood(wrong)
    assert shown(wrong) == ("of another", 2)


def told_of(**row: Any) -> Any:
    rows = [{"partition_index": 0, "committed_offset": 5, **row}]
    groups = [{"group_id": "g", "topics": [{"name": "t", "partitions": rows}]}]
    asked = request("OffsetFetch", groups=[{"group_id": "g"}])
    return SimpleNamespace(request=asked, answer=response("OffsetFetch", groups=groups), version=9)


def shown(told: Any) -> tuple[str, int]:
    row = told.answer.groups[0].topics[0].partitions[0]
    return row.metadata, row.committed_leader_epoch


# what is left out


def test_all_is_asked_only_of_what_is_known_to_be_there() -> None:
    def asked(name: str) -> Struct:
        return request("OffsetFetch", groups=[{"group_id": "g", "topics": [{"name": name, "partition_indexes": [0]}]}])

    assert worded(Sparse, 1, asked("t"), 9).groups[0].topics is None
    assert worded(Sparse, 1, asked("gone"), 9).groups[0].topics[0].name == "gone"


def test_topics_are_named_by_id_all_or_none() -> None:
    both = request("Metadata", topics=[{"name": "t"}, {"name": "gone"}])
    assert [row.name for row in worded(Sparse, 2, both, 12).topics] == ["t", "gone"]
    (row,) = worded(Sparse, 2, request("Metadata", topics=[{"name": "t"}]), 12).topics
    assert (row.name, row.topic_id) == (None, TOPIC_ID)


def test_a_heartbeat_says_again_what_it_said_when_its_epoch_is_behind() -> None:
    sparse = Sparse(WIRE, 3, Random(1), lambda what: "")

    def beat(epoch: int) -> Any:
        owned = [{"topic_id": TOPIC_ID, "partitions": [0]}]
        asked = request(
            "ConsumerGroupHeartbeat", group_id="g", member_id="m", member_epoch=epoch, topic_partitions=owned
        )
        sent = sparse.worded(asked, 1)
        sparse.understood(
            SimpleNamespace(request=asked, answer=response("ConsumerGroupHeartbeat", member_epoch=2), version=1)
        )
        return sent.topic_partitions

    assert [beat(epoch) is None for epoch in (1, 2, 2, 1)] == [False, True, True, False]


def test_of_an_answer_about_all_the_case_is_told_what_it_asked_for() -> None:
    asked = request("OffsetFetch", groups=[{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0, 1]}]}])
    rows = [
        {"name": name, "partitions": [{"partition_index": 1, "committed_offset": 7, "metadata": ""}]} for name in "ut"
    ]
    answer = response("OffsetFetch", groups=[{"group_id": "g", "topics": rows}])
    NARROWED["OffsetFetch"](asked, answer, 9)
    (topic,) = answer.groups[0].topics
    assert topic.name == "t" and [row.committed_offset for row in topic.partitions] == [-1, 7]


def test_a_topic_that_an_answer_about_all_lacks_is_unknown() -> None:
    answer = response("Metadata", topics=[{"name": "u"}])
    NARROWED["Metadata"](request("Metadata", topics=[{"name": "u"}, {"name": "t"}]), answer, 12)
    assert [(row.name, row.error_code) for row in answer.topics] == [("u", 0), ("t", 3)]


# what is counted from the end of a history


def based() -> Bases:
    bases = Bases()
    bases.add("t", TOPIC_ID, {0: 500})
    return bases


def test_a_fetch_is_of_the_log_and_its_answer_of_the_case() -> None:
    asked = request("Fetch", topics=[{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 3}]}])
    shift_request(asked, based())
    assert asked.topics[0].partitions[0].fetch_offset == 503
    sent = build_batch([Record(b"k", b"v")], base_offset=503)
    row = {"partition_index": 0, "high_watermark": 507, "log_start_offset": 12, "records": sent + sent[:20]}
    row["aborted_transactions"] = [{"producer_id": 1, "first_offset": 502}]
    answer = response("Fetch", responses=[{"topic_id": TOPIC_ID, "partitions": [row]}])
    shift_answer(answer, based())
    found = answer.responses[0].partitions[0]
    (held,) = batches(found.records)
    assert (found.high_watermark, found.log_start_offset, found.aborted_transactions[0].first_offset) == (7, 0, 2)
    assert held.header.base_offset == 3 and held.crc_ok()


def test_what_is_told_of_the_history_is_nothing_that_a_case_expects() -> None:
    answer = response("Produce", responses=[{"name": "t", "partition_responses": [{"index": 0, "base_offset": 1}]}])
    shift_answer(answer, based())
    assert answer.responses[0].partition_responses[0].base_offset == -499


def test_a_position_before_the_log_stays_there() -> None:
    asked = request("Fetch", topics=[{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": -1}]}])
    shift_request(asked, based())
    assert asked.topics[0].partitions[0].fetch_offset == -1


def test_a_topic_that_is_made_again_has_no_history() -> None:
    bases, fetch = based(), request("Fetch", topics=[{"topic": "t"}])
    assert bases.concern(fetch)
    bases.concern(request("DeleteTopics", topics=[{"topic_id": TOPIC_ID}]))
    assert not bases.concern(fetch)


# counters near their end


@pytest.mark.parametrize(("sequence", "sent"), [(0, 2**31 - 2), (1, 2**31 - 1), (2, 0)])
def test_a_sequence_passes_its_end_and_comes_back(sequence: int, sent: int) -> None:
    sequences = Sequences(lambda row: "t")
    made = build_batch([Record(b"k", b"v")], producer_id=7, producer_epoch=0, base_sequence=sequence)
    asked = request("Produce", topic_data=[{"name": "t", "partition_data": [{"index": 0, "records": made}]}])
    assert sequences.send(asked) == 1
    moved = asked.topic_data[0].partition_data[0].records
    (held,) = batches(moved)
    assert held.header.base_sequence == sent and held.crc_ok()
    answer = response("Fetch", responses=[{"topic": "t", "partitions": [{"partition_index": 0, "records": moved}]}])
    sequences.told(answer)
    assert answer.responses[0].partitions[0].records == made


@pytest.mark.parametrize(
    "settings",
    [{"transactional": True}, {"producer_epoch": 1}, {"crc": 1}, {"producer_id": -1, "base_sequence": -1}],
    ids=["in a transaction", "of the next epoch", "damaged", "of no producer"],
)
def test_other_batches_stay_as_they_are(settings: dict[str, Any]) -> None:
    sequences = Sequences(lambda row: "t")
    plain = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}

    def produce(**batch: Any) -> Struct:
        made = build_batch([Record(b"k", b"v")], **batch)
        return request("Produce", topic_data=[{"name": "t", "partition_data": [{"index": 0, "records": made}]}])

    sequences.send(produce(**plain))
    asked = produce(**{**plain, **settings})
    before = asked.topic_data[0].partition_data[0].records
    assert sequences.send(asked) == 0 and asked.topic_data[0].partition_data[0].records == before


# bugs


@pytest.mark.parametrize(
    ("bug", "pair_id", "sentence"),
    [
        ("R11", "fetch/the-same-bytes-again@full-1", "no batch of the answer holds offset"),
        ("R12", "idempotence/retry-is-written-once@full-1", "INVALID_TRANSACTION_TIMEOUT"),
        ("R13", "transactions/aborted-is-not-delivered@full-2", "aborted 1"),
        ("R21", "groups/described@sparse-2", "UNKNOWN_SERVER_ERROR"),
        ("R22", "commits/read-your-writes@sparse-3", "UNKNOWN_SERVER_ERROR"),
        ("R23", "groups/consumer-waits-for-revocation@sparse-3", "while the first still owns them"),
        ("R31", "offsets/by-time-within-a-batch@deep-1", "it must be 0"),
        ("R32", "idempotence/retry-is-written-once@deep-1", "base_offset is"),
        ("R33", "transactions/aborted-is-not-delivered@deep-1", "aborted 2"),
        ("R61", "commits/round-trip@edge-counters-2", "committed_offset is"),
        ("R62", "offsets/ends@edge-counters-2", "correlation id"),
        ("P45", "idempotence/window-of-five@edge-counters-1", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ],
)
def test_a_bug_that_only_a_situation_brings_out_is_found(bug: str, pair_id: str, sentence: str, tmp_path: Path) -> None:
    options = RunOptions(
        f"reference?mutant={bug}", select=(pair_id,), run_dir=str(tmp_path / "run"), require=(), unproven="fail"
    )
    found = {result.case: result for result in run(options).results}
    plain, met = found[pair_id.partition("@")[0]], found[pair_id]
    assert plain.verdict is Verdict.PASS
    assert met.verdict is Verdict.FAIL and met.reason is not None and sentence in met.reason.sentence
