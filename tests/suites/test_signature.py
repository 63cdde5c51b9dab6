"""Signatures: the same for what is the same, whatever the seed and the names; another for what is another."""

from __future__ import annotations

import pytest

from brokertrial.suites.outcome import derived, failed
from brokertrial.suites.signature import normalised, signature

PREFIX = "kzqr7"


@pytest.mark.parametrize(
    ("kind", "sentence", "about", "is_named"),
    [
        (
            "statement",
            "Produce v13: responses[0].partition_responses[0].base_offset is 1; it must be 2 (still so after 12.0 s)",
            "Produce.responses[0].partition_responses[0].base_offset",
            "statement:Produce.responses.partition_responses.base_offset:is too low; it must be #",
        ),
        (
            "statement",
            "OffsetFetch v9: error_code is UNKNOWN_SERVER_ERROR (-1); it must succeed",
            "OffsetFetch.error_code",
            "statement:OffsetFetch.error_code:is UNKNOWN_SERVER_ERROR; it must succeed",
        ),
        ("statement", "not within 17.5 s: the group is empty", "", "statement:not within # s: the group is empty"),
        (
            "protocol",
            "ApiVersions v0: the answer cannot be decoded: malformed ApiVersions response v0 at byte 10",
            "",
            "protocol:ApiVersions:the answer cannot be decoded: malformed ApiVersions response # at byte #",
        ),
        ("no-answer", "Heartbeat v4 got no answer from node 1 within 20.0 s", "", "no-answer:Heartbeat"),
        ("no-answer", "nothing came from 127.0.0.1:9092 within 1.0 s", "", "no-answer"),
        ("died", "the target died of this case", "", "died"),
        ("claim", "transactions is claimed and EndTxn is not offered", "", "claim"),
    ],
)
def test_what_was_false_is_its_name(kind: str, sentence: str, about: str, is_named: str) -> None:
    assert signature(kind, sentence, about, PREFIX) == is_named


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{PREFIX}-a-t1-0 has the offsets [0, 1, 2]", f"{PREFIX}-a-r2-t4-3 has the offsets [7]"),
        ("they are {'a': (1, [2]), 'b': {}}; it must be b'x'", "they are {}; it must be b'other'"),
        ("the ids 17, 18 and 19 of node 1 at 127.0.0.1:9092", "the ids 3 of node 3 at 10.0.0.7:19092"),
        ("it took 15012 ms", "it took 16001.25 ms"),
        (f"at 3 comes None, to '{PREFIX}-g1'", "at 12 comes None, to 'x'"),
    ],
)
def test_names_numbers_and_values_are_no_part_of_it(one: str, other: str) -> None:
    assert normalised(one, PREFIX) == normalised(other, PREFIX)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error_code is NOT_COORDINATOR (16); it must succeed", "error_code is INVALID_EPOCH (47); it must succeed"),
        ("base_offset is 508; it must be 509", "base_offset is 5; it must be 1"),
        ("the record at 4 is gone", "the record at 4 is another"),
    ],
)
def test_what_is_said_is_part_of_it(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_an_outcome_lists_what_failed_it_and_a_bare_reason_names_itself() -> None:
    outcome = failed("statement", "Fetch v12: high_watermark is 1; it must be 3", about="Fetch.high_watermark")
    assert [failure.signature for failure in outcome.failures] == [
        "statement:Fetch.high_watermark:is too low; it must be #"
    ]
    assert [failure.signature for failure in derived(outcome.reason, ())] == [
        "statement:Fetch:high_watermark is too low; it must be #"
    ]
