"""The order of streams and of producers, within one poll and across polls."""

import pytest


@pytest.fixture
def told(story):
    def begin(**header):
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        tale.reader("c", isolation="read_committed")
        for value in (10, 11, 12, 13):
            tale.send(value, at=value - 10)
        return tale

    return begin


def test_a_skip_across_polls(told):
    tale = told()
    witness = tale.read((0, 10), (1, 11), (2, 12))
    before = tale.read((0, 10), stream=2)
    skip = tale.read((2, 12), stream=2)
    found = tale.only("poll-skip")

    assert (found.name, found.offsets, found.values) == ("poll-skip", (1, 2), (11, 12))
    assert found.operations == (skip, witness, before)


def test_a_skip_within_a_poll(told):
    tale = told()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((0, 10), (2, 12), stream=2)

    assert tale.only("poll-skip").name == "int-poll-skip"


def test_a_new_stream_may_begin_anywhere(told):
    tale = told()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((0, 10), stream=2)
    tale.read((2, 12), stream=3, start=None)

    assert tale.anomalies("poll-skip", "nonmonotonic-poll") == []


def test_a_stream_that_begins_after_its_start_skips(told):
    tale = told()
    tale.read((0, 10), (1, 11))
    tale.read((1, 11), stream=2, start=0)

    assert tale.only("poll-skip").offsets == (0, 1)


def test_an_offset_that_nobody_ever_saw_is_no_record(told):
    tale = told()
    tale.read((0, 10), (2, 12))

    assert tale.anomalies("poll-skip") == []


@pytest.mark.parametrize(
    ("client", "ending", "found"), [("r", "abort_txn", 1), ("c", "abort_txn", 0), ("c", "commit_txn", 1)]
)
def test_a_committed_stream_may_pass_what_was_not_committed(told, client, ending, found):
    tale = told()
    tale.producer("q", transactional_id="tx")
    tale.send(20, at=4, client="q", txn=1)
    tale.op(ending, txn=1)
    tale.read((4, 20), client="r", stream=9, start=4)
    tale.read((3, 13), (6, 14), client=client, stream=2, start=3)

    assert len(tale.anomalies("poll-skip")) == found


def test_what_was_cut_off_may_be_passed(told):
    tale = told()
    tale.read((0, 10), (1, 11), (2, 12))
    tale.op("delete_records", base_offset=2, log_start=2)
    tale.read((2, 12), stream=2, start=0)

    assert tale.anomalies("poll-skip") == []


def test_a_compacted_topic_may_be_passed(told):
    tale = told()
    tale.event("topic", topic="t", fields='{"cleanup_policy":"compact,delete"}')
    tale.read((0, 10), (1, 11), (2, 12))
    tale.read((2, 12), stream=2)

    assert tale.anomalies("poll-skip") == []


def test_going_back_across_polls(told):
    tale = told()
    first = tale.read((0, 10), (1, 11))
    again = tale.read((1, 11))
    found = tale.only("nonmonotonic-poll")

    assert (found.name, found.offsets, found.operations) == ("nonmonotonic-poll", (1, 1), (first, again))


def test_going_back_within_a_poll(told):
    tale = told()
    tale.read((0, 10), (2, 12), (1, 11))

    assert tale.only("nonmonotonic-poll").name == "int-nonmonotonic-poll"


def test_a_seek_may_go_back(told):
    tale = told()
    tale.read((0, 10), (1, 11))
    tale.read((0, 10), (1, 11), stream=2)

    assert tale.anomalies("nonmonotonic-poll", "poll-skip") == []


def test_two_partitions_have_two_orders(told):
    tale = told()
    tale.read((5, 10), partition=0, start=5)
    tale.read((0, 11), partition=1)

    assert tale.anomalies("nonmonotonic-poll", "poll-skip") == []


# nonmonotonic-send


def test_one_producers_records_in_another_order(story):
    tale = story()
    tale.producer("p")
    first, second = tale.send(10, at=1), tale.send(11, at=0)
    tale.batch(0, sequence=1)
    tale.batch(1, sequence=0)
    found = tale.only("nonmonotonic-send")

    assert (found.offsets, found.values, found.operations) == ((1, 0), (10, 11), (first, second))
    assert found.attribution == "broker"


def test_sequences_in_the_wrong_order_accuse_the_client(story):
    tale = story()
    tale.producer("p")
    tale.send(10, at=1)
    tale.send(11, at=0)
    tale.batch(0, sequence=0)
    tale.batch(1, sequence=1)

    assert tale.only("nonmonotonic-send").attribution == "client"


@pytest.mark.parametrize(
    ("asked", "nodes", "attribution"),
    [((1, 2), (1, 1), "broker"), ((2, 1), (1, 1), "unknown"), ((1, 2), (1, 2), "unknown")],
    ids=["asked in order", "asked in disorder", "asked of two leaders"],
)
def test_without_sequences_the_order_of_the_requests_decides(story, asked, nodes, attribution):
    tale = story()
    tale.producer("p", idempotence=False, retries=0)
    for value, offset, request_ns, node in zip((10, 11), (1, 0), asked, nodes, strict=True):
        tale.send(value, at=offset)
        tale.batch(offset, sequence=-1, producer_id=-1)
        batch = tale.rows[-1]
        batch.seen_at, batch.client, batch.request_ns, batch.node = "produce", "p", request_ns, node

    assert tale.only("nonmonotonic-send").attribution == attribution


def test_an_unanswered_send_lies_where_it_was_seen(story):
    tale = story()
    tale.producer("p")
    tale.reader()
    tale.send(10, outcome="info")
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert tale.only("nonmonotonic-send").values == (10, 11)


def test_two_producers_have_no_order(story):
    tale = story()
    tale.producer("p")
    tale.producer("q")
    tale.send(10, at=1, client="p")
    tale.send(11, at=0, client="q")

    assert tale.anomalies("nonmonotonic-send") == []


@pytest.mark.parametrize(
    ("settings", "outcome", "found"),
    [
        ({"idempotence": False, "retries": 3}, "ok", 0),
        ({"idempotence": False, "retries": 0, "library": "wire"}, "ok", 1),
        ({"idempotence": False, "retries": 0, "library": "wire"}, "info", 0),
        ({"idempotence": True}, "info", 1),
    ],
)
def test_who_is_promised_an_order(story, settings, outcome, found):
    tale = story()
    tale.producer("p", **settings)
    tale.reader()
    tale.send(10, at=1 if outcome == "ok" else None, outcome=outcome)
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert len(tale.anomalies("nonmonotonic-send")) == found
