"""One reader and one writer of `host:port` for everybody."""

import pytest

from brokertrial.wire.addresses import all_parsed, all_written, parsed, reached


def test_what_is_written_is_parsed_again() -> None:
    text = "127.0.0.1:9092,broker-1.example:19092,[::1]:9093"
    addresses = [("127.0.0.1", 9092), ("broker-1.example", 19092), ("::1", 9093)]
    assert all_parsed(text) == addresses
    assert all_parsed(" 127.0.0.1:9092, broker-1.example:19092 ,[::1]:9093") == addresses
    assert all_written(addresses) == text


@pytest.mark.parametrize("text", ["", "9092", ":9092", "host", "host:", "host:kafka", "host:0", "host:65536", "h:٣"])
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address of the form host:port"):
        parsed(text)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ({}, ("broker", 9092)),
        ({"other": "127.0.0.1"}, ("broker", 9092)),
        ({"broker:9092": "127.0.0.1:19092"}, ("127.0.0.1", 19092)),
        ({"broker:9093": "127.0.0.1:19092"}, ("broker", 9092)),
        ({"broker": "127.0.0.1"}, ("127.0.0.1", 9092)),
        ({"broker": "127.0.0.1:19092"}, ("127.0.0.1", 19092)),
        ({"broker": "[::1]:19092", "broker:9093": "x"}, ("::1", 19092)),
    ],
)
def test_an_advertised_address_is_looked_up(table: dict[str, str], found: tuple[str, int]) -> None:
    assert reached("broker", 9092, table) == found
