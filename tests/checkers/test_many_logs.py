"""Many logs judged as one, and each by itself: the same violations, told in the same offsets."""

import random

import numpy as np
import pyarrow as pa
import pytest

from brokertrial.checkers.linearizability import log_rows
from brokertrial.checkers.linearizability.log import APPEND, EXACT, SAW, LogOperations, violations
from brokertrial.checkers.linearizability.many_logs import violations_of
from brokertrial.checkers.linearizability.precedence import NEVER

NAMES = ("append-order", "read-from-future", "torn-batch", "stale-read", "end-regression", "offset-divergence")


def crowd(seed):
    """Some logs of a few operations each, most of them legal by chance alone; op ids are shared between logs."""
    random_ = random.Random(seed)
    rows = []
    for log in range(random_.randrange(1, 12)):
        far = random_.choice((0, 10, 1 << 61))
        for op in range(random_.randrange(1, 9)):
            call = random_.randrange(20)
            ret = NEVER if random_.random() < 0.1 else call + random_.randrange(12)
            kind = random_.choice((APPEND, EXACT, SAW))
            size = random_.randrange(1, 4) if kind == APPEND else 0
            rows.append((log, kind, op, call, ret, far + random_.randrange(8), size))
    random_.shuffle(rows)
    number, *columns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return number, LogOperations(*columns)


def one_by_one(number, logs):
    for log in np.unique(number):
        of_log = LogOperations(*(column[number == log] for column in logs))
        yield from ((int(log), found) for found in violations(of_log))


def told(found):
    """What a witness among equals does not change: who cannot be placed, where, and how far the log had come."""
    return sorted((log, each.name, each.p, each.after, each.before) for log, each in found)


@pytest.mark.parametrize("block", range(10))
def test_the_same_is_found(block):
    seen = set()
    for seed in range(100 * block, 100 * block + 100):
        number, logs = crowd(seed)
        expected = list(one_by_one(number, logs))
        assert told(violations_of(number, logs)) == told(expected)
        seen |= {found.name for _, found in expected}
    assert seen == set(NAMES)


def test_a_witness_is_of_the_same_log():
    for seed in range(200):
        number, logs = crowd(seed)
        for log, found in violations_of(number, logs):
            assert {found.q, found.p} <= set(logs.op[number == log].tolist())


@pytest.mark.parametrize("many", [0, 10**9])
def test_rows_name_the_partition_either_way(monkeypatch, many):
    monkeypatch.setattr(log_rows, "MANY", many)
    column = {"op": [1, 2], "call_ns": [0, 5], "return_ns": [1, None]}
    appends = pa.table({"log": [2, 2], **column, "low": [7, 3], "records": [1, 1]})
    nothing = pa.table({name: pa.array([], pa.int64()) for name in ("log", *column, "low")})
    places = pa.table({"history": [4, 4], "topic": ["t", "u"], "partition": [0, 9], "log": [1, 2]})
    (row,) = log_rows.found_in(
        {"partitions": places, "appends": appends, "ends": nothing, "sights": nothing}, {"append-order"}
    )

    assert (row["history"], row["topic"], row["partition"]) == (4, "u", 9)
    assert (row["op_a"], row["op_b"], row["offset_a"], row["offset_b"]) == (1, 2, 8, 3)
