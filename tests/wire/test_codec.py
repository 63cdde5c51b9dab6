"""Messages, defaults, versions and unknown tags; golden frames; the two encoders against each other."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokertrial.wire import apis, errors
from brokertrial.wire.codec import Malformed, decode, decode_versioned, encode, encode_buffers, encode_versioned
from brokertrial.wire.codec import part_of as schema_of
from brokertrial.wire.frames import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    unchecked_request,
    unchecked_response,
)
from brokertrial.wire.messages import child, data, request, response
from brokertrial.wire.schema_text import FOLDER
from brokertrial.wire.unchecked import unchecked_body
from tests.support.examples import example

MESSAGES = [(api.name, direction) for api in apis.ALL for direction in ("request", "response")]
HEADS = [path.read_text().splitlines()[0] for path in FOLDER.glob("*.txt")]
DATA = sorted(head.split(" versions")[0].split()[-1] for head in HEADS if head.startswith("data "))
few = settings(max_examples=4, deadline=None, derandomize=True, database=None)


def produce(**fields: object) -> object:
    return request("Produce", acks=-1, topic_data=[{"name": "t", "partition_data": [{"index": 1, **fields}]}])


@pytest.mark.parametrize(("name", "direction"), [*MESSAGES, *((name, "data") for name in DATA)])
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_decode_then_encode_is_byte_identical_with_unknown_tags(name: str, direction: str, seed: int) -> None:
    rng = Random(seed)
    versions = schema_of(name, direction).versions
    for version in range(versions.low, versions.high + 1):
        message = example(rng, name, direction, version, unknown_tags=True)
        body = encode(message, version)
        again = decode(name, direction, version, body)
        assert again == message
        assert encode(again, version) == body
        assert decode(name, direction, version, memoryview(bytearray(body))) == message
        assert b"".join(encode_buffers(again, version)) == body
        assert unchecked_body(message, version) == body


def test_golden_frames() -> None:
    """Bytes as real clients and brokers send them, checked by hand against the protocol guide."""
    asked = request("ApiVersions", client_software_name="librdkafka", client_software_version="2.16.1")
    frame = encode_request(asked, 3, 1, "rdkafka")
    software = "0b" + b"librdkafka".hex() + "07" + b"2.16.1".hex()
    assert frame.hex() == "0000002500120003000000010007" + b"rdkafka".hex() + "00" + software + "00"
    assert encode_request(request("Metadata", topics=[{"name": "t"}]), 1, 5, None).hex() == (
        "00000011" + "00030001" + "00000005" + "ffff" + "00000001" + "000174"
    )
    answer = response("ApiVersions", api_keys=[{"api_key": 18, "min_version": 0, "max_version": 4}])
    assert encode_response(answer, 3, 9).hex() == (
        "00000013" + "00000009" + "0000" + "02" + "00120000000400" + "00000000" + "00"
    )


def test_api_versions_answers_have_the_old_header_and_others_the_new_one() -> None:
    assert apis.by_name("ApiVersions").response_header_version(4) == 0
    assert apis.by_name("Metadata").response_header_version(9) == 1
    assert decode_response("Metadata", 9, encode_response(response("Metadata"), 9, 3)[4:])[0] == 3


def test_records_are_views_of_the_frame() -> None:
    frame = bytearray(encode(produce(records=b"abc"), 9))
    records = decode("Produce", "request", 9, frame).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"abc")] = ord("X")
    assert bytes(records) == b"Xbc"


def test_large_records_are_not_copied_by_encode_buffers() -> None:
    records = bytes(100_000)
    assert any(piece is records for piece in encode_buffers(produce(records=records), 9))


def test_a_field_that_a_version_lacks_is_refused_unless_it_may_be_ignored() -> None:
    encode(request("Fetch", rack_id="r"), 4)  # ignorable
    with pytest.raises(ValueError, match="replica_state"):
        encode(request("Fetch", replica_state={"replica_id": 3}), 4)
    with pytest.raises(ValueError, match="preferred_read_replica"):
        encode(response("Fetch", responses=[{"partitions": [{"preferred_read_replica": 1}]}]), 10)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (request("Produce", acks=40_000), 9),
        (request("Produce", acks=None), 9),
        (request("Metadata", topics=None), 0),
        (request("Heartbeat", group_id=None), 4),
        (request("Heartbeat", group_id="x" * 40_000), 0),
        (request("Produce"), 2),
        (request("Produce"), 99),
        (response("Heartbeat", _unknown_tags=((1, b""),)), 0),
    ],
)
def test_what_cannot_be_encoded_is_a_value_error(message: object, version: int) -> None:
    with pytest.raises(ValueError):
        encode(message, version)


def test_unknown_names_are_refused_at_once() -> None:
    with pytest.raises(TypeError):
        request("Produce", topics=[])
    with pytest.raises(TypeError):
        request("Produce", topic_data=[{"nome": "t"}])
    with pytest.raises(LookupError, match="Produce"):
        apis.by_name("Prodce")
    assert apis.by_key(9999) is None


def test_structs_compare_by_value_and_defaults_are_fresh() -> None:
    one, other = request("Metadata"), request("Metadata")
    assert one == other and one != request("Metadata", topics=[{"name": "t"}])
    one.topics.append(child("Metadata", "request", "topics")(name="x"))
    assert other.topics == [] and request("Metadata").topics == []
    other.topics = ()
    assert other == request("Metadata")
    assert response("Fetch").responses == [] and request("Fetch").replica_state.replica_id == -1


def test_zero_ids_and_null_structs() -> None:
    body = encode(response("ConsumerGroupHeartbeat", assignment=None), 0)
    assert decode("ConsumerGroupHeartbeat", "response", 0, body).assignment is None
    topics = [{"topic_id": UUID(int=7), "partitions": [1, 2]}, {"topic_id": UUID(int=0)}]
    message = response("ConsumerGroupHeartbeat", assignment={"topic_partitions": topics})
    assert decode("ConsumerGroupHeartbeat", "response", 0, encode(message, 0)) == message


def test_malformed_says_which_message_where_and_why() -> None:
    with pytest.raises(Malformed) as caught:
        decode("Metadata", "response", 12, bytes.fromhex("00000000ffffffff0f"))
    assert str(caught.value) == (
        "malformed Metadata response v12 at byte 9: brokers: 4294967294 elements announced, 0 bytes left"
    )
    with pytest.raises(Malformed, match="group_id: not UTF-8"):
        decode("Heartbeat", "request", 0, b"\0\x01\xff")
    with pytest.raises(Malformed, match="left over"):
        decode("Heartbeat", "response", 0, b"\0\0\0")
    with pytest.raises(Malformed, match="the bytes end here"):
        decode("Heartbeat", "response", 0, b"\0")
    with pytest.raises(Malformed, match="no API has this key"):
        decode_request(b"\x27\x0f" + bytes(8))


def test_data_messages_carry_their_version() -> None:
    name = "ConsumerProtocolSubscription"
    stored = encode_versioned(data(name, topics=["a"]), 1)
    assert stored[:2] == b"\0\x01"
    assert decode_versioned(name, stored) == (1, data(name, topics=["a"]))
    assert decode_versioned(name, b"\0\x09" + encode(data(name), 3))[0] == 9


def test_error_codes() -> None:
    assert (errors.NONE, errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_SERVER_ERROR) == (0, 45, -1)
    assert errors.name(27) == "REBALANCE_IN_PROGRESS" and errors.name(9999) == "UNKNOWN(9999)"
    assert errors.retriable(errors.NOT_LEADER_OR_FOLLOWER) and not errors.retriable(errors.OFFSET_OUT_OF_RANGE)
    assert not errors.retriable(9999)


class TestUncheckedFrames:
    def test_without_overrides_they_are_right(self) -> None:
        message = produce(records=b"abc")
        assert unchecked_request(message, 9, 3, "me") == encode_request(message, 9, 3, "me")
        answer = response("Fetch", responses=[{"topic": "t"}])
        assert unchecked_response(answer, 12, 3) == encode_response(answer, 12, 3)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"lengths": {"topic_data": 2**31 - 1}},
            {"lengths": {"topic_data[0].partition_data[0].records": 4}},
            {"replace": {"topic_data[0].name": b"\x03\xff\xff"}},
            {"omit": {"timeout_ms"}},
            {"trailing": b"x"},
            {"cut": 3},
            {"api_version": 99},
            {"api_key": 999},
            {"header_version": 1},
            {"header": b"\0"},
        ],
    )
    def test_wrong_ones_are_malformed(self, wrong: dict[str, object]) -> None:
        frame = unchecked_request(produce(records=b"abc"), 9, 3, "me", **wrong)  # type: ignore[arg-type]
        with pytest.raises(Malformed):
            decode_request(frame[4:])

    def test_tags_can_be_doubled_and_unsorted_and_numbers_wrap(self) -> None:
        message = produce(records=b"abc")
        message.acks = 70_000  # type: ignore[attr-defined]
        frame = unchecked_request(message, 9, tags={"": [(9, b"x"), (8, b""), (9, b"y")]})
        seen = decode_request(frame[4:])[1]
        assert seen._unknown_tags == ((9, b"x"), (8, b""), (9, b"y")) and seen.acks == 70_000 - 65_536
        assert unchecked_request(message, 9, size=-1)[:4] == b"\xff\xff\xff\xff"
