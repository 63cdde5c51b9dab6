"""Record data that a client got wrong passes the proxy: the broker is to refuse it, not we."""

import pytest

from brokertrial.faults.proxy.observer import _headers
from brokertrial.wire.records import Record, build_batch

GOOD = build_batch([Record(None, b"a")])


@pytest.mark.parametrize("wrong", [b"", GOOD[:30], GOOD[:-1], build_batch([Record(None, b"a")], magic=3), b"\xff" * 99])
def test_what_is_no_batch_is_left_out(wrong):
    assert [header.last_offset for header in _headers(GOOD + wrong)] == [0]
