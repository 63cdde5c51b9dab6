"""One offset, one record: inconsistent-offsets, offset-reuse, wrong-ack-offset and what must not be taken for them."""

import pytest


@pytest.fixture
def told(story):
    def begin(**header):
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        return tale

    return begin


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


def test_an_acknowledgement_by_one_of_three_proves_nothing(story):
    tale = story(nodes=3)
    tale.producer("p", acks=1, idempotence=False)
    tale.reader()
    tale.send(10, at=0)
    tale.send(11, at=0)
    tale.read((0, 11))

    assert tale.anomalies("inconsistent-offsets", "offset-reuse") == []


@pytest.mark.parametrize(("outcome", "txn"), [("info", None), ("fail", None)])
def test_an_offset_without_an_acknowledgement_proves_nothing(told, outcome, txn):
    tale = told()
    tale.send(10, at=0, outcome=outcome, txn=txn)
    tale.send(11, at=0)
    tale.read((0, 11))

    assert tale.anomalies("inconsistent-offsets", "offset-reuse") == []


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


def test_the_same_offset_of_two_partitions_is_two_offsets(told):
    tale = told()
    tale.send(10, at=0, partition=0)
    tale.send(11, at=0, partition=1)
    tale.read((0, 10), partition=0)
    tale.read((0, 11), partition=1)

    assert tale.anomalies() == []


def test_a_topic_that_was_made_again_starts_another_log(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10))
    tale.op("delete_topic", partition=None)
    tale.send(11, at=0)
    tale.read((0, 11), stream=2)

    assert tale.anomalies() == []


def test_an_offset_acknowledged_twice_is_reused(told):
    tale = told()
    first, second = tale.send(10, at=7), tale.send(11, at=7)
    found = tale.only("offset-reuse")

    assert (found.offsets, found.values, found.operations) == ((7,), (10, 11), (first, second))


def test_reuse_is_not_reported_as_inconsistent_too(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=0)
    tale.read((0, 11))

    assert tale.anomalies("inconsistent-offsets") == []


def test_neighbours_are_no_reuse(told):
    tale = told()
    tale.send(10, at=7)
    tale.send(11, at=8)

    assert tale.anomalies("offset-reuse") == []


def test_an_acknowledgement_of_an_offset_where_the_record_is_not(told):
    tale = told(nodes=1)
    send = tale.send(10, at=9)
    poll = tale.read((5, 10))
    found = tale.only("wrong-ack-offset")

    assert (found.offsets, found.values, found.operations) == ((9, 5), (10,), (send, poll))


def test_a_record_found_where_it_was_acknowledged_and_elsewhere_is_a_duplicate_only(told):
    tale = told()
    tale.send(10, at=1)
    tale.read((0, 10), (1, 10))

    assert [found.name for found in tale.anomalies("wrong-ack-offset", "duplicate")] == ["duplicate"]


def test_a_producer_that_may_store_twice_may_have_two_copies(story):
    tale = story()
    tale.producer("p", idempotence=False, retries=3)
    tale.reader()
    tale.send(10, at=9)
    tale.read((5, 10))

    assert tale.anomalies("wrong-ack-offset") == []
