"""Retention and cleaning: nothing early, the last of each key kept, offsets kept."""

import pytest

SECOND = 1_000_000_000


def log(story, settings, *keys, **producer):
    tale = story()
    tale.producer("p", **producer)
    tale.reader("r")
    tale.event("topic", topic="t", fields="{" + settings + "}")
    for offset, key in enumerate(keys):
        tale.send(10 + offset, at=offset, call=offset * SECOND, ret=offset * SECOND + 1)
        tale.rows[-1].key, tale.rows[-1].timestamp = key, 5_000 + offset * 1_000
    return tale


def look(tale, *offsets, end):
    number = tale.read(*((offset, 10 + offset) for offset in offsets))
    tale.event("final-read", topic="t", partition=0, offset=end, client="r")
    return number


KEPT = '"cleanup_policy":"delete","retention_ms":60000,"retention_bytes":-1'
COMPACT = '"cleanup_policy":"compact"'
LAG = '"cleanup_policy":"compact","min_compaction_lag_ms":60000'


@pytest.mark.parametrize(
    ("settings", "told_s", "count"),
    [
        pytest.param(KEPT, 30, 1, id="too young"),
        pytest.param(KEPT, 90, 0, id="old enough"),
        pytest.param(KEPT.replace("60000", "-1"), 90, 1, id="kept for ever"),
    ],
)
def test_retention_takes_nothing_early(story, settings, told_s, count):
    tale = log(story, settings, 1, 2, 3)
    asked = tale.op("list_offsets", "r", call=told_s * SECOND, ret=told_s * SECOND + 1, log_start=2)
    judged = tale.judge("early-deletion")

    assert [(each.offsets, each.operations) for each in judged.anomalies] == [((0, 2), (1 + 1, asked))] * count
    assert judged.judged


def test_a_timestamp_of_the_past_is_old_by_right(story):
    tale = log(story, KEPT, 1, 2, 3)
    tale.rows[-3].timestamp = tale.rows[-1].timestamp = 10
    tale.op("list_offsets", "r", call=30 * SECOND, ret=30 * SECOND + 1, log_start=3)

    assert [each.offsets for each in tale.anomalies("early-deletion")] == [(0, 3)]


@pytest.mark.parametrize("why", ["cut on request", "limits unknown", "bounded by size", "nothing is gone"])
def test_what_says_nothing_of_retention(story, why):
    settings = {"limits unknown": '"cleanup_policy":"delete"', "bounded by size": KEPT.replace("-1", "9")}
    tale = log(story, settings.get(why, KEPT), 1, 2, 3)
    if why == "cut on request":
        tale.op("delete_records", base_offset=2, log_start=2)
    tale.op("list_offsets", "r", call=30 * SECOND, ret=31 * SECOND, log_start=0 if why == "nothing is gone" else 2)

    assert "early-deletion" in tale.judge("early-deletion").not_applicable


def test_records_without_times_withhold_a_pass(story):
    tale = log(story, KEPT, 1, 2, 3)
    for row in tale.rows:
        if hasattr(row, "timestamp"):
            row.timestamp = None
    tale.op("list_offsets", "r", call=30 * SECOND, ret=31 * SECOND, log_start=2)

    assert "times of the records" in tale.judge("early-deletion").inconclusive["early-deletion"]


def test_cleaning_keeps_the_last_of_each_key(story):
    tale = log(story, COMPACT, 1, 2, 1)
    look(tale, 1, end=3)
    found = tale.only("lost-latest")

    assert (found.offsets, found.values) == ((2,), (12,))


@pytest.mark.parametrize("why", ["kept", "a tombstone", "a newer one may exist", "above what was read", "acks 1"])
def test_no_last_of_a_key_was_lost(story, why):
    tale = log(story, COMPACT, 1, 2, 1, acks=1 if why == "acks 1" else -1)
    if why == "a tombstone":
        tale.rows[-1].tombstone = True
    if why == "a newer one may exist":
        tale.send(13, outcome="info")
        tale.rows[-1].key = 1
    look(tale, *((1, 2) if why == "kept" else (1,)), end=2 if why == "above what was read" else 3)

    assert tale.anomalies("lost-latest") == []


def test_without_a_last_look_nothing_is_said_of_cleaning(story):
    tale = log(story, COMPACT, 1, 2, 1)
    tale.read((1, 11))

    assert "was not read to its end" in tale.judge("lost-latest").inconclusive["lost-latest"]
    assert "lost-latest" in log(story, KEPT, 1).judge("lost-latest").not_applicable


@pytest.mark.parametrize(("read_s", "count"), [(30, 1), (90, 0)])
def test_cleaning_waits_for_its_lag(story, read_s, count):
    tale = log(story, LAG, 1, 1, 1)
    poll = tale.read((0, 10), (2, 12), call=read_s * SECOND, ret=read_s * SECOND + 1)
    judged = tale.judge("cleaned-early")

    assert [(each.offsets, each.values, each.operations[-1]) for each in judged.anomalies] == [
        ((1, 2), (11,), poll)
    ] * count
    assert judged.judged


def test_without_a_reader_nothing_is_said_of_the_lag(story):
    assert "no consumer read" in log(story, LAG, 1, 1).judge("cleaned-early").inconclusive["cleaned-early"]
    assert "cleaned-early" in log(story, COMPACT, 1, 1).judge("cleaned-early").not_applicable


@pytest.mark.parametrize(
    ("settings", "at", "count"),
    [
        pytest.param(COMPACT, 1, 1, id="moved down"),
        pytest.param(COMPACT, 2, 0, id="where it was"),
        pytest.param(KEPT, 1, None, id="not compacted: other checks say so"),
    ],
)
def test_cleaning_moves_nothing(story, settings, at, count):
    tale = log(story, settings, 1, 2, 1)
    tale.read((at, 12))
    judged = tale.judge("moved-record")

    assert [(each.offsets, each.values) for each in judged.anomalies] == [((1, 2), (12,))] * (count or 0)
    assert bool(judged.judged) == (count is not None)


def test_a_producer_that_may_send_twice_proves_no_move(story):
    tale = log(story, COMPACT, 1, 2, 1, idempotence=False)
    tale.read((1, 12))

    assert tale.anomalies("moved-record") == []
