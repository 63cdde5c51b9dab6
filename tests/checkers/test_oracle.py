"""The queries agree with the naive oracle on thousands of random small histories, many histories in one query."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.linearizability.log import APPEND, EXACT, NEVER, SAW, LogOperations, violations
from brokertrial.checkers.linearizability.registers import EVER, Access, conflicts
from tests.checkers.agreement import compare, random_tales, relations
from tests.checkers.evidence import oracles
from tests.checkers.oracle.commits import RegisterAccess as NaiveAccess
from tests.checkers.oracle.commits import linearizable
from tests.checkers.oracle.logs import impossible

MANY = 300


@pytest.fixture(scope="module")
def crowd():
    tales = random_tales(range(MANY))
    with DuckDBEngine.over_tables(relations(tales)) as duck:
        yield tales, duck


def test_every_check_has_an_oracle():
    searching = {"log-order", "log-recency", "stale-read", "commit-order", "dependency-cycle"}
    assert oracles().keys() | searching == all_checks().keys()


@pytest.mark.parametrize("check", sorted(oracles()))
def test_the_query_agrees_with_the_oracle(crowd, check):
    tales, duck = crowd
    asked = duck.ask(all_checks()[check].query)

    compare(check, tales, asked)
    guilty = {row["history"] for row in asked}
    assert 5 < len(guilty) < MANY - (30 if check != "longest-gap" else 0), "the random histories do not try this check"


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=MANY, max_value=2**31))
def test_they_agree_on_histories_that_nobody_chose(seed):
    tales = random_tales(range(seed, seed + 20))
    with DuckDBEngine.over_tables(relations(tales)) as duck:
        for check in oracles():
            compare(check, tales, duck.ask(all_checks()[check].query))


def random_log(rng):
    operations = []
    end = 0
    for op in range(rng.randrange(2, 9)):
        call = rng.randrange(0, 20)
        ret = NEVER if rng.random() < 0.1 else call + rng.randrange(0, 8)
        kind = rng.choice([APPEND, APPEND, EXACT, SAW])
        size = rng.choice([1, 1, 2]) if kind == APPEND else 0
        low = end if kind == APPEND else rng.randrange(0, 6)
        end += size
        operations.append((kind, op, call, ret, low, size))
    return operations


def test_the_fast_path_of_the_log_agrees_with_all_pairs():
    verdicts = Counter()
    for seed in range(2_000):
        operations = random_log(Random(seed))
        log = LogOperations(*(np.array(column, dtype=np.int64) for column in zip(*operations, strict=True)))
        found = {(violation.name, violation.p) for violation in violations(log)}
        expected = impossible(operations)
        assert {p for _, p in found} == {p for _, p in expected}, operations
        assert bool(found) == bool(expected)
        verdicts[bool(found)] += 1
    assert min(verdicts.values()) > 150


def random_register(rng):
    accesses = []
    for value in range(rng.randrange(1, 4)):
        call = rng.randrange(0, 12)
        ret = 2**63 - 1 if rng.random() < 0.1 else call + rng.randrange(0, 8)
        accesses.append((value, call, ret, True))
    for _ in range(rng.randrange(0, 4)):
        value = rng.randrange(-1, len(accesses)) if rng.random() < 0.9 else -1
        start = rng.randrange(0, 16)
        accesses.append((min(value, 2), start, start + rng.randrange(0, 6), False))
    return accesses


def test_zones_agree_with_trying_every_order():
    verdicts = Counter()
    for seed in range(1_000):
        accesses = random_register(Random(seed))
        written = {value: call for value, call, _, is_write in accesses if is_write}
        if any(not w and v >= 0 and (v not in written or r < written[v]) for v, _, r, w in accesses):
            continue  # names no write, or ended before it began: another check says so
        read = {value for value, _, _, is_write in accesses if not is_write}
        kept = [each for each in accesses if not (each[3] and each[2] > 10**6 and each[0] not in read)]
        fast = [Access(0, -1, EVER, EVER, True)]
        fast += [Access(op, *access) for op, access in enumerate(kept, start=1)]
        legal = linearizable([NaiveAccess(*access) for access in kept])
        assert (not list(conflicts(fast))) == legal, kept
        verdicts[legal] += 1
    assert min(verdicts.values()) > 60
