"""A record names its value, and any change to it shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokertrial.histories.payload import MIN_SIZE, read_back, record_for

VALUES = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@given(VALUES, st.integers(0, 300_000), st.one_of(st.just(-1), st.none(), st.integers(0, 2**63 - 1)), st.booleans())
def test_what_was_written_is_read_back(value, size, key, tombstone):
    written = record_for(value, size, key=key, tombstone=tombstone)
    seen = read_back(*written)

    assert (seen.value, seen.intact, seen.tombstone, seen.digest) == (value, True, tombstone, None)
    assert seen.key == (value % 1024 if key == -1 else key)
    if not tombstone:
        assert len(written[1]) == max(size, MIN_SIZE)


@given(VALUES, st.integers(MIN_SIZE, 200), st.data())
def test_a_changed_byte_shows(value, size, data):
    key, body, headers, timestamp = record_for(value, size)
    at = data.draw(st.integers(0, len(body) - 1))
    body = body[:at] + bytes([body[at] ^ data.draw(st.integers(1, 255))]) + body[at + 1 :]
    seen = read_back(key, body, headers, timestamp)

    assert not seen.intact
    assert seen.digest


@pytest.mark.parametrize(
    "change",
    [
        lambda key, body, headers, at: (b"\0" * 8, body, headers, at),
        lambda key, body, headers, at: (None, body, headers, at),
        lambda key, body, headers, at: (key, body[:-1], headers, at),
        lambda key, body, headers, at: (key, body + b"x", headers, at),
        lambda key, body, headers, at: (key, body, (), at),
        lambda key, body, headers, at: (key, body, headers * 2, at),
        lambda key, body, headers, at: (key, body, (("bt", b"short"),), at),
        lambda key, body, headers, at: (key, body, headers, at + 1),
    ],
)
def test_a_changed_part_shows_and_the_value_is_still_named(change):
    seen = read_back(*change(*record_for(77, 100)))

    assert (seen.value, seen.intact) == (77, False)


def test_a_broker_may_set_the_timestamp_when_that_was_agreed():
    key, body, headers, timestamp = record_for(77, 100)

    assert read_back(key, body, headers, timestamp + 5, append_time=True).intact


def test_a_record_of_others_has_a_digest_and_no_value():
    seen = read_back(None, b"hello", (), 0)

    assert (seen.value, seen.intact) == (None, False)
    assert seen.digest != read_back(None, b"hellp", (), 0).digest


def test_a_header_name_may_come_as_bytes_and_the_value_as_a_view():
    key, body, headers, timestamp = record_for(5, 64)
    headers = [(name.encode(), content) for name, content in headers]

    assert read_back(key, memoryview(body), headers, timestamp).intact
