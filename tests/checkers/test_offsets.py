"""One offset, one record: inconsistent-offsets, offset-reuse, wrong-ack-offset and what must not be taken for them."""

import pytest


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


def test_a_record_found_where_it_was_acknowledged_and_elsewhere_is_a_duplicate_only(told):
    tale = told()
    tale.send(10, at=1)
    tale.read((0, 10), (1, 10))

    assert [found.name for found in tale.anomalies("wrong-ack-offset", "duplicate")] == ["duplicate"]
