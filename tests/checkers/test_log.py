"""The fast path for the log: the golden vectors, and what the tables of a history turn into."""

import numpy as np
import pytest

from brokertrial.checkers.linearizability.log import APPEND, EXACT, NEVER, SAW, LogOperations, violations


def A(call, ret, base, records):
    return (APPEND, call, ret, base, records)


def E(call, ret, end):
    return (EXACT, call, ret, end, 0)


def L(call, ret, end):
    return (SAW, call, ret, end, 0)


def log_of(operations):
    rows = [(kind, op, call, ret, low, size) for op, (kind, call, ret, low, size) in enumerate(operations, start=1)]
    return LogOperations(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


GOLDEN = [
    ([A(0, 1, 0, 1), E(2, 3, 1), A(4, 5, 1, 1), E(6, 7, 2)], None),
    ([A(0, 10, 1, 1), A(1, 9, 0, 1)], None),
    ([A(0, 1, 1, 1), A(2, 3, 0, 1)], "append-order"),
    ([A(0, 2, 1, 1), A(2, 3, 0, 1)], None),
    ([A(0, 1, 0, 1), E(2, 3, 0)], "stale-read"),
    ([A(0, 5, 0, 1), E(2, 3, 0)], None),
    ([A(0, 5, 0, 1), E(2, 3, 1)], None),
    ([A(0, 9, 0, 1), E(1, 2, 1), E(3, 4, 0)], "end-regression"),
    ([E(0, 1, 1), A(2, 3, 0, 1)], "read-from-future"),
    ([A(0, 9, 0, 3), E(1, 2, 2)], "torn-batch"),
    ([A(0, 9, 0, 3), L(1, 2, 1), E(3, 4, 0)], "end-regression"),
    ([A(0, 9, 0, 1), A(0, 9, 1, 1), L(1, 2, 1), E(3, 4, 2)], None),
    ([A(0, NEVER, 0, 1), E(5, 6, 1)], None),
    ([E(0, 1, 1), A(5, NEVER, 0, 1)], "read-from-future"),
    ([A(0, 1, 1, 1), A(5, NEVER, 0, 1)], "append-order"),
    ([A(0, NEVER, 1, 1), A(5, 6, 0, 1)], None),
]


@pytest.mark.parametrize(("operations", "verdict"), GOLDEN)
def test_golden_vector(operations, verdict):
    assert [found.name for found in violations(log_of(operations))][:1] == ([verdict] if verdict else [])


def test_the_proof_is_a_pair():
    found = next(violations(log_of([A(0, 1, 0, 1), A(0, 9, 1, 1), A(2, 3, 2, 1), E(10, 11, 1)])))

    assert (found.q, found.p, found.after, found.before) == (3, 4, 3, 1)


@pytest.fixture
def told(story):
    def begin(**header):
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        return tale

    return begin


def test_a_later_append_below_an_acknowledged_one(told):
    tale = told()
    first = tale.send(10, at=1)
    second = tale.send(11, at=0)
    found = tale.only("log-order")

    assert (found.name, found.operations) == ("append-order", (first, second))


def test_overlapping_appends_may_lie_either_way(told):
    tale = told()
    tale.send(10, at=1, call=0, ret=50)
    tale.send(11, at=0, call=40, ret=60)

    assert tale.anomalies("log-order") == []


def test_an_acknowledgement_by_one_of_three_does_not_bind(story):
    tale = story(nodes=3)
    tale.producer("p", acks=1, idempotence=False)
    tale.reader()
    tale.send(10, at=1)
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert tale.anomalies("log-order") == []


def test_a_record_read_before_it_was_sent(told):
    tale = told()
    poll = tale.read((0, 10))
    send = tale.send(10, at=0)
    found = tale.only("log-order")

    assert (found.name, found.operations) == ("read-from-future", (poll, send))


def test_an_unanswered_send_that_was_read_before_it_began(told):
    tale = told()
    tale.read((0, 10))
    tale.send(10, outcome="info", ret=None)

    assert tale.only("log-order").name == "read-from-future"


def test_an_unanswered_send_may_land_late(told):
    tale = told()
    tale.send(10, outcome="info", ret=None)
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert tale.anomalies("log-order") == []


def test_an_end_inside_a_batch(told):
    tale = told(nodes=1)
    tale.op("send", base_offset=0, count=3)
    tale.op("list_offsets", "r", high_watermark=2)

    assert tale.only("log-order").name == "torn-batch"


def test_an_end_that_is_too_short_is_reported_when_asked_for(told):
    tale = told()
    send = tale.send(10, at=0)
    listed = tale.op("list_offsets", "r", high_watermark=0)
    judged = tale.judge()

    assert "log-recency" not in judged.judged
    found = tale.only("log-recency")
    assert (found.name, found.operations, found.strength) == ("stale-read", (send, listed), "recency")


def test_a_fetch_may_name_an_older_high_watermark(told):
    tale = told()
    tale.send(10, at=0)
    tale.op("fetch", "r", high_watermark=0)

    assert tale.anomalies("log-recency", "log-order") == []


def test_a_high_watermark_beyond_a_later_append(told):
    tale = told()
    tale.op("fetch", "r", high_watermark=1)
    tale.send(10, at=0)

    assert tale.only("log-order").name == "read-from-future"
