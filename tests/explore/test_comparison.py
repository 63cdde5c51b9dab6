"""Two brokers are alike although each names its members as it likes, and Kafka refuses in the words of another."""

from __future__ import annotations

from typing import Any

import pytest

from brokertrial.suites.explore.comparison import compared
from brokertrial.suites.explore.normalise import Names, normalised, table
from brokertrial.suites.explore.peer import HELD, Peer, Reply
from brokertrial.suites.explore.sequence import refused_in_other_words
from brokertrial.suites.explore.step import RequestStep
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response
from brokertrial.wire.records import Record, build_batch

JOIN_V5 = 5


def joined(own: str, *everybody: str) -> Struct:
    members = [{"member_id": one, "metadata": memoryview(b"m")} for one in everybody]
    return response("JoinGroup", member_id=own, leader="first", generation_id=1, protocol_name="p", members=members)


def heard(monkeypatch: pytest.MonkeyPatch, first: Struct, *late: Struct) -> Reply:
    """The reply of a broker that answers one JoinGroup, and with it others that it has held."""
    peer = Peer(("127.0.0.1", 1), "prefix", 0.1, {})
    steps = [RequestStep("JoinGroup", JOIN_V5, {}, connection=number) for number in range(1 + len(late))]
    monkeypatch.setattr(peer, "_answer", lambda *_: first)
    monkeypatch.setattr(peer, "_late", lambda apart: list(zip(steps[1:], late, strict=True)))
    return peer.put(steps[0])


def test_members_are_named_by_their_own_answers_not_by_the_order_in_which_a_leader_hears_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = heard(monkeypatch, joined("first", "first", "a", "b"), joined("a"), joined("b"))
    other = heard(monkeypatch, joined("first", "y", "x", "first"), joined("x"), joined("y"))
    assert one == other


def refused(*codes: int) -> Reply:
    return Reply({"partition_responses": [{"error_code": code} for code in codes]})


@pytest.mark.parametrize(
    ("oracle", "target", "same"),
    [
        (refused(errors.TRANSACTION_ABORTABLE), refused(errors.INVALID_TXN_STATE), True),
        (refused(0, errors.INVALID_TXN_STATE), refused(0, errors.TRANSACTION_ABORTABLE), True),
        (refused(errors.INVALID_TXN_STATE), refused(errors.INVALID_TXN_STATE), False),
        (refused(errors.INVALID_TXN_STATE), refused(errors.PRODUCER_FENCED), False),
        (refused(errors.INVALID_TXN_STATE), refused(0, errors.TRANSACTION_ABORTABLE), False),
        (refused(errors.INVALID_TXN_STATE), Reply(HELD), False),
    ],
)
def test_only_a_transaction_that_is_not_open_is_refused_in_other_words(oracle: Any, target: Any, same: bool) -> None:
    assert refused_in_other_words(oracle, target) is same


def test_the_cause_names_codes_and_no_numbers_of_entries() -> None:
    difference = compared("Produce", 9, refused(0, 0), refused(0, errors.INVALID_RECORD))
    assert difference is not None
    assert difference.cause == "Produce: partition_responses.error_code NONE / INVALID_RECORD"
    assert compared("Produce", 9, refused(0), refused(0)) is None


def fetched(**batch: Any) -> dict[str, Any]:
    records = [Record(key=None, value=batch.pop("value", b"v"), timestamp=5)]
    made = memoryview(build_batch(records, **batch))
    partition = {"partition_index": 0, "records": made}
    answer = response("Fetch", responses=[{"topic": "t", "partitions": [partition]}])
    return normalised(answer, 11, Names(), "t")


def test_records_are_compared_by_content_and_ids_by_the_order_of_their_coming() -> None:
    assert fetched(producer_id=7, producer_epoch=0, base_sequence=0) == fetched(
        producer_id=9, producer_epoch=0, base_sequence=0
    )
    assert fetched(value=b"v") != fetched(value=b"w")
    assert fetched() != fetched(crc=1)


def test_of_everything_there_is_only_what_the_sequence_made_is_compared() -> None:
    results = [
        {"topic": name, "partition_result": []} for name in ("explore-1-t0", "explore-2-t0", "__consumer_offsets")
    ]
    elected = response("ElectLeaders", replica_election_results=results)
    shown = normalised(elected, 2, Names(), "explore-1")["replica_election_results"]
    assert [each["topic"] for each in shown] == ["explore-1-t0"]

    entries = [
        {
            "entity": [{"entity_type": "user", "entity_name": name}],
            "values": [{"key": "request_percentage", "value": 9.0}],
        }
        for name in ("explore-1-u0", None, "explore-2-u0")
    ]
    quotas = normalised(response("DescribeClientQuotas", entries=entries), 1, Names(), "explore-1")["entries"]
    assert [each["entity"][0]["entity_name"] for each in quotas] == ["explore-1-u0"]


def test_every_rule_of_the_comparison_has_a_reason_and_a_way() -> None:
    assert {rule.how for rule in table()} == {"drop", "id", "time", "node", "epoch", "count", "unset"}
    assert all(rule.reason and rule.fields for rule in table())


def test_entries_of_lists_are_compared_by_what_they_are_about() -> None:
    one = Reply({"topics": [{"name": "a", "offset": 1}, {"name": "b", "offset": 2}]})
    difference = compared("OffsetFetch", 8, one, Reply({"topics": [{"name": "b", "offset": 3}]}))
    assert difference is not None
    assert [(place.path, place.target) for place in difference.places] == [
        ("topics[a]", "absent"),
        ("topics[b].offset", 3),
    ]
    assert difference.cause == "OffsetFetch: topics missing"
