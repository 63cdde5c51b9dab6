"""inconsistent-offsets: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.offsets import by_offset, pair, values
from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Two sightings differ, or a sighting differs from the one value that was acknowledged there."""
    for place, rows in by_offset(facts).items():
        seen, sent = values(rows, "seen"), values(rows, "sent")
        if len(seen) > 1 or (len(seen) == 1 and len(sent) == 1 and seen != sent):
            yield pair(place, rows)


def inject_inconsistent_offsets(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.see(one, value=w.sent(where=lambda row: row.value != one.value and plain(row)).value)
    return w.told("inconsistent-offsets", one, offset_a=one.offset)


def test_two_readers_that_disagree(told):
    tale = told()
    tale.send(10)
    tale.send(11)
    one = tale.read((0, 10))
    other = tale.read((0, 11), stream=2)
    found = tale.only("inconsistent-offsets")

    assert (found.offsets, found.values, found.operations) == ((0,), (10, 11), (one, other))


def test_two_readers_that_agree(told):
    tale = told()
    tale.send(10)
    tale.read((0, 10))
    tale.read((0, 10), stream=2)

    assert tale.anomalies("inconsistent-offsets") == []


def test_an_acknowledgement_that_reads_contradict(told):
    tale = told()
    send = tale.send(10, at=0)
    tale.send(11, at=1)
    poll = tale.read((0, 11))
    found = tale.only("inconsistent-offsets")

    assert (found.offsets, found.values, found.operations) == ((0,), (10, 11), (send, poll))


def test_an_unclean_election_may_give_an_offset_again_under_a_new_epoch(told):
    tale = told(unclean_election=True)
    tale.send(10)
    tale.send(11)
    tale.read((0, 10), leader_epoch=1)
    tale.read((0, 11), stream=2, leader_epoch=2)

    assert tale.anomalies("inconsistent-offsets") == []


def test_but_not_within_one_epoch(told):
    tale = told(unclean_election=True)
    tale.send(10)
    tale.send(11)
    tale.read((0, 10), leader_epoch=1)
    tale.read((0, 11), stream=2, leader_epoch=1)

    assert tale.only("inconsistent-offsets").values == (10, 11)


def test_reuse_is_not_reported_as_inconsistent_too(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=0)
    tale.read((0, 11))

    assert tale.anomalies("inconsistent-offsets") == []
