"""A client that reuses a sequence number for other records is answered for the first ones: not the broker's doing."""

import pytest

from brokertrial.histories.rows import Batch


def asked(story, at, sequence, *, when, answered=True, producer_id=7, epoch=0):
    """A Produce request as a link saw it."""
    story.rows.append(
        Batch(
            topic="t", partition=0, base_offset=at if answered else -1, last_offset=at if answered else 0,
            producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, error=0 if answered else None,
            client="p", request_ns=when, response_ns=when + 1 if answered else None, seen_at="produce",
        )
    )  # fmt: skip


def reused(story, *, sequence=3, stored_sequence=3, first_by="p"):
    """The send of 1 is stored at 0 and never answered; the send of 2 is told that it is at 0."""
    tale = story(nodes=1)
    tale.producer("p")
    tale.producer("q")
    tale.reader("r")
    tale.send(1, client=first_by, outcome="info")
    asked(tale, 0, 3, when=12, answered=False)
    tale.send(2, at=0)
    asked(tale, 0, sequence, when=22)
    tale.read((0, 1))
    tale.batch(0, stored_sequence)
    return tale


def test_the_second_send_under_one_sequence_is_the_clients(story):
    found = reused(story).only("inconsistent-offsets")

    assert (found.attribution, found.offsets, found.values) == ("client", (0,), (1, 2))


@pytest.mark.parametrize(
    "otherwise",
    [
        {"sequence": 4},  # the broker took a new sequence for an old one
        {"stored_sequence": 9},  # what lies there was stored under another sequence
        {"first_by": "q"},  # what lies there is somebody else's
    ],
)
def test_anything_else_is_the_brokers(story, otherwise):
    assert reused(story, **otherwise).only("inconsistent-offsets").attribution == "broker"


def misreported(story, *, error=46, named=False, seen=True, wire=False):
    """p sent 1 and 2 twice, the second time answered DUPLICATE_SEQUENCE_NUMBER; its library says that 2 is at 0."""
    tale = story(nodes=1)
    tale.producer("p", **({"library": "wire"} if wire else {}))
    tale.producer("q")
    tale.reader("r")
    tale.send(9, at=0, client="q")
    tale.send(1, client="p")
    tale.send(2, at=0, client="p")
    tale.rows.append(
        Batch(
            topic="t", partition=0, base_offset=-1, last_offset=0, producer_id=7, producer_epoch=0, base_sequence=0,
            error=error, client="p", request_ns=30, response_ns=31, seen_at="produce",
        )
    )  # fmt: skip
    if named:
        asked(tale, 0, 3, when=32)
    tale.read((0, 9), (1, 1), *([(2, 2)] if seen else [(2, 3)]))
    return tale


def test_an_offset_that_only_the_library_counted_is_the_clients(story):
    assert {found.attribution for found in misreported(story).anomalies() if 2 in found.values} == {"client"}


@pytest.mark.parametrize(
    "otherwise",
    [
        {"error": 45},  # no duplicate: the library had no reason to report success
        {"named": True},  # an answer of the broker names that very offset
        {"seen": False},  # the record is nowhere: that is lost, wherever it was said to be
        {"wire": True},  # a raw client reports what it read
    ],
)
def test_an_offset_that_the_broker_named_or_a_record_that_is_gone_is_the_brokers(story, otherwise):
    assert "broker" in {found.attribution for found in misreported(story, **otherwise).anomalies() if 2 in found.values}
