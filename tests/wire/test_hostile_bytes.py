"""No bytes make a decoder raise anything but Malformed, hang, or allocate beyond proportion."""

import tracemalloc
from random import Random

import pytest
from hypothesis import example as given_example
from hypothesis import given, settings
from hypothesis import strategies as st

from brokertrial.wire import apis
from brokertrial.wire.codec import Malformed, decode, encode, part_of
from brokertrial.wire.frames import decode_request, decode_response, encode_request, request_header
from brokertrial.wire.records import Record, batches, build_batch
from campaigns.hostile.frames import wounded
from tests.support.examples import example
from tests.support.worst_frames import CONSTANT_BYTES, PROMISE, decode_peak, worst_frames

MESSAGES = [(api.name, direction) for api in apis.ALL for direction in ("request", "response")]
quick = settings(max_examples=5, deadline=None, derandomize=True, database=None)
thorough = settings(max_examples=300, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(("name", "direction"), MESSAGES)
@quick
@given(seed=seeds)
def test_mutated_and_random_messages_are_read_or_malformed(name: str, direction: str, seed: int) -> None:
    rng = Random(seed)
    versions = part_of(name, direction).versions
    for version in range(versions.low, versions.high + 1):
        frame = encode(example(rng, name, direction, version, unknown_tags=True), version)
        tries = [wounded(rng, frame) for _ in range(8)]
        for data in (*tries, frame[: rng.randrange(len(frame) + 1)], rng.randbytes(rng.randrange(60)), b""):
            try:
                decode(name, direction, version, data)
            except Malformed as wrong:
                assert wrong.offset <= len(data) + 16
                assert name in str(wrong)


@thorough
@given(data=st.binary(max_size=80))
def test_headers_and_whole_frames(data: bytes) -> None:
    for read in (request_header, decode_request, lambda d: decode_response("Fetch", 12, d)):
        try:
            read(data)
        except Malformed:
            continue


@thorough
@given(seed=seeds)
def test_mutated_requests_through_the_frame_door(seed: int) -> None:
    rng = Random(seed)
    api = rng.choice(apis.ALL)
    version = rng.randint(api.min_version, api.max_version)
    frame = encode_request(example(rng, api.name, "request", version), version, 7, "me")[4:]
    try:
        decode_request(wounded(rng, frame))
    except Malformed:
        return


@thorough
@given(seed=seeds, codec=st.sampled_from(["none", "gzip", "snappy", "snappy-raw", "lz4", "zstd"]))
@given_example(seed=0, codec="lz4")
def test_mutated_record_batches(seed: int, codec: str) -> None:
    rng = Random(seed)
    records = [Record(b"k", rng.randbytes(rng.randrange(40)), (("h", None),), 1_000) for _ in range(rng.randrange(5))]
    data = wounded(rng, build_batch(records, compression=codec) * 2)
    if rng.random() < 0.3 and len(data) > 20:
        data = data[:16] + bytes([rng.choice((0, 1, 3, 255))]) + data[17:]
    try:
        for batch in batches(data):
            batch.crc_ok()
            for _ in batch.records(1 << 20):
                pass
            batch.marker()
    except Malformed:
        return


@pytest.mark.parametrize(("name", "direction"), MESSAGES)
def test_the_worst_frames_stay_below_the_promise(name: str, direction: str) -> None:
    part = part_of(name, direction)
    low, high = part.versions.low, part.versions.high
    for version in sorted({low, high, max(low, min(part.flexible.low, high))}):
        for what, frame in worst_frames(name, direction, version, 60):
            decode(name, direction, version, frame)
            tracemalloc.start()
            try:
                peak = decode_peak(name, direction, version, frame)
            finally:
                tracemalloc.stop()
            assert peak <= PROMISE * len(frame) + CONSTANT_BYTES, f"{name} {direction} v{version} {what}"


@pytest.mark.parametrize(
    "body",
    [
        bytes.fromhex("00000000ffffffff0f"),  # an array of 2^32 - 2: aborts the process elsewhere
        bytes.fromhex("0000000002ffffffff0f"),
        bytes.fromhex("00000000010001ffffffff0f"),
    ],
)
def test_announced_lengths_are_never_allocated(body: bytes) -> None:
    with pytest.raises(Malformed):
        decode("Metadata", "response", 12, body)
    tracemalloc.start()
    try:
        with pytest.raises(Malformed):
            decode("Metadata", "response", 12, body)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", ["gzip", "snappy", "snappy-raw", "lz4", "zstd"])
def test_a_compression_bomb_costs_the_limit_and_no_more(codec: str) -> None:
    bomb = build_batch([Record(None, bytes(32 << 20))], compression=codec)
    [batch] = batches(bomb)
    limit = 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="limit"):
            list(batch.records(limit))
        assert tracemalloc.get_traced_memory()[1] < 3 * limit + 2 * len(bomb)
    finally:
        tracemalloc.stop()
