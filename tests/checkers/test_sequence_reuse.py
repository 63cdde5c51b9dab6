"""A client that reuses a sequence number for other records is answered for the first ones: not the broker's doing."""

import pytest

from histories.rows import Batch


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
