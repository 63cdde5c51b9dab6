"""Availability: latencies, gaps and recovery of histories whose times are known."""

import pytest

from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.histories.availability import QUERY, Sums, kinds, profile, series

MS = 1_000_000
FAULT = {"windows": [{"id": "w1", "kind": "kill"}]}


def acknowledge(story, begin_ms, end_ms, *, every=10, latency=5):
    for at in range(begin_ms, end_ms, every):
        begun = story.base + (at - latency) * MS
        story.op("send", call=begun, ret=begun + latency * MS)


def faulty(story, begin_ms, healed_ms):
    for kind, at in (("window-begin", begin_ms), ("window-end", healed_ms)):
        story.event(kind, window="w1", at_ns=story.base + at * MS)


@pytest.fixture
def told(story):
    """A story whose clock begins at a round second, and its profile."""
    made = story(schedule=FAULT)
    made.base = 10**9
    made.event = lambda kind, **fields: made.rows.append(_event(kind, **fields))
    made.producer()
    return made


def _event(kind, **fields):
    from brokertrial.histories.rows import Event

    return Event(kind=kind, **fields)


def profile_of(story):
    history = story.history()
    history.title.started_ns = story.base
    with DuckDBEngine.over([history]) as duck:
        rows = duck.ask(QUERY)
    return profile(rows, history), rows


def test_latencies_and_rate_are_those_of_the_acknowledged_writes(told):
    acknowledge(told, 0, 10_000)
    told.op("send", call=told.base, ret=told.base + 9_000 * MS, outcome="info")

    found, _ = profile_of(told)

    assert found.acknowledged == 1_000
    assert found.p50_ms == pytest.approx(5, rel=0.04) and found.p999_ms == pytest.approx(5, rel=0.04)
    assert found.per_second == pytest.approx(100, rel=0.01)
    assert found.longest_gap_s < 0.2 and found.windows == ()


def test_a_gap_and_a_recovery_are_measured_around_the_window(told):
    acknowledge(told, 0, 10_000)
    faulty(told, 10_000, 12_000)
    acknowledge(told, 12_500, 14_500, every=50, latency=100)
    acknowledge(told, 14_500, 20_000)

    found, _ = profile_of(told)

    (window,) = found.windows
    assert window.kind == "kill"
    assert window.gap_s == pytest.approx(2.51, abs=0.02)
    assert window.recovered_s == pytest.approx(2.5, abs=0.2), "slow until 14.5 s, healed at 12 s"
    assert window.p99_before_ms == pytest.approx(5, rel=0.04)
    (kind,) = kinds([found, found])
    assert (kind.kind, kind.windows, kind.not_recovered) == ("kill", 2, 0)
    assert kind.recovered_p99_s == pytest.approx(window.recovered_s)


def test_what_never_comes_back_has_not_recovered(told):
    acknowledge(told, 0, 5_000)
    faulty(told, 5_000, 9_000)

    found, _ = profile_of(told)

    assert found.windows[0].recovered_s is None
    assert found.windows[0].gap_s == pytest.approx(4.01, abs=0.02)
    assert kinds([found])[0].not_recovered == 1


def test_a_fault_that_disturbs_nobody_costs_nothing(told):
    acknowledge(told, 0, 10_000)
    faulty(told, 5_000, 6_000)

    found, _ = profile_of(told)

    assert found.windows[0].gap_s < 0.2 and found.windows[0].recovered_s < 0.2


def test_the_series_holds_every_acknowledgement(told):
    acknowledge(told, 0, 10_000)

    _, rows = profile_of(told)
    rate, median, _ = series(Sums(rows, told.base), 20, 10.0)

    assert sum(rate) * 0.5 == pytest.approx(1_000)
    assert all(value == pytest.approx(5, rel=0.04) for value in median)
