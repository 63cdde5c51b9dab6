"""The plot of a profile: every slot of time holds as many ticks as any other, so that a steady rate is drawn steady."""

import numpy as np
import pytest

from brokertrial.ci.reports.timeline import BUCKETS, Series, draw, slots
from brokertrial.histories.availability import TICK_NS, Sums, series


@pytest.mark.parametrize("seconds", [0.3, 1.0, 20.6, 61.0, 3_600.0])
def test_a_steady_rate_is_drawn_steady(seconds):
    count, length = slots(seconds)
    ticks = round(length * 1e9 / TICK_NS)
    start = 7 * TICK_NS + TICK_NS // 3
    rows = [
        {"tick": tick, "step": 1, "acks": 10, "first_ns": max(start, tick * TICK_NS), "last_ns": tick * TICK_NS}
        for tick in range(7, 7 + ticks)
    ]
    sums = Sums(rows, start)
    rate, *_ = series(sums, count, length)

    assert 1 <= count <= BUCKETS and length >= seconds
    assert len({round(each) for each in rate[:-1]}) <= 1


def test_a_great_rate_has_a_short_name_and_few_slots_fill_the_picture():
    flat = np.full(8, 5_106_496.0)
    picture = draw(Series(1.0, flat, np.full(8, 2.1), np.full(8, 2.1)))

    assert "5.1 M" in picture and "5,106,496" not in picture
    assert 'aria-label="Throughput and latency' in picture
