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
