"""What was acknowledged is there, once, as it was sent: each check finds its anomaly and keeps silent beside it."""

import pytest


@pytest.fixture
def told(story):
    """One idempotent producer p and one reader r on a cluster of three nodes."""

    def begin(**header):
        tale = story(**header)
        tale.producer("p")
        tale.reader("r")
        return tale

    return begin


# lost-write


def test_a_record_passed_by_is_lost(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2), (13, 3)):
        tale.send(value, at=offset)
    tale.read((0, 10), (1, 11))
    last = tale.read((3, 13))

    found = tale.only("lost-write")

    assert (found.topic, found.partition, found.offsets, found.values) == ("t", 0, (2, 3), (12,))
    assert found.operations == (3, last)
    assert found.strength == "durability"
    assert "12" in found.sentence and "offset 2" in found.sentence


def test_a_record_read_by_any_reader_is_not_lost(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2)):
        tale.send(value, at=offset)
    tale.read((0, 10), (2, 12))
    tale.read((1, 11), client="r", stream=2, start=1)

    assert tale.anomalies("lost-write") == []


def test_a_record_above_all_reads_is_not_lost(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))

    assert tale.anomalies("lost-write") == []


def test_a_reader_that_began_above_proves_nothing(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11), start=1)

    assert tale.anomalies("lost-write") == []


def test_a_reader_from_the_beginning_that_starts_too_late_proves_the_loss(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11), start=0)

    assert tale.only("lost-write").offsets == (0, 1)


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_what_was_not_acknowledged_cannot_be_lost(told, outcome):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1, outcome=outcome)
    tale.send(12, at=2)
    tale.read((0, 10), (2, 12))

    assert tale.anomalies("lost-write") == []


@pytest.mark.parametrize(("acks", "nodes", "lost"), [(-1, 3, 1), (1, 3, 0), (1, 1, 1), (0, 1, 0), (1, None, 0)])
def test_what_an_acknowledgement_is_worth(story, acks, nodes, lost):
    tale = story(nodes=nodes)
    tale.producer("p", acks=acks, idempotence=False)
    tale.reader()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))

    assert len(tale.anomalies("lost-write")) == lost


def test_an_unclean_election_may_lose(told):
    tale = told(unclean_election=True)
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))

    assert tale.anomalies("lost-write") == []


def test_what_was_cut_off_is_not_lost(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2)):
        tale.send(value, at=offset)
    tale.op("delete_records", base_offset=2, log_start=2)
    tale.read((2, 12))

    assert tale.anomalies("lost-write") == []


def test_above_the_cut_it_is(told):
    tale = told()
    for value, offset in ((10, 0), (11, 1), (12, 2)):
        tale.send(value, at=offset)
    tale.op("delete_records", base_offset=1, log_start=1)
    tale.read((2, 12))

    assert tale.only("lost-write").offsets == (1, 2)


def test_a_compacted_topic_may_lose_old_values(told):
    tale = told()
    tale.event("topic", topic="t", fields='{"cleanup_policy":"compact"}')
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))

    assert tale.anomalies("lost-write") == []


def test_a_final_read_that_ends_above_passes_by(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))
    tale.final_read(2)

    assert tale.only("lost-write").offsets == (1, 2)


@pytest.mark.parametrize(("end", "lost"), [("commit_txn", 1), ("abort_txn", 0), (None, 0)])
def test_a_record_in_a_transaction_is_owed_when_that_committed(told, end, lost):
    tale = told()
    tale.send(10, at=0, txn=1)
    tale.send(11, at=1)
    if end:
        tale.op(end, txn=1)
    tale.read((1, 11))

    assert len(tale.anomalies("lost-write")) == lost


def test_one_visible_record_proves_a_commit_without_an_answer(told):
    tale = told()
    tale.reader("c", isolation="read_committed")
    tale.send(10, at=0, txn=1)
    tale.send(11, at=1, txn=1)
    tale.op("commit_txn", txn=1, outcome="info")
    tale.read((1, 11), client="c")

    assert tale.only("lost-write").offsets == (0, 1)


def test_without_reads_there_is_no_pass(told):
    tale = told()
    tale.send(10, at=0)
    judged = tale.judge("lost-write")

    assert judged.anomalies == []
    assert judged.inconclusive == {"lost-write": "nothing was read"}


# unseen


def test_an_acknowledged_record_that_the_final_read_did_not_find_is_unseen(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))
    tale.final_read(1)

    assert tale.only("unseen").values == (11,)


def test_without_a_final_read_it_is_inconclusive(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((0, 10))
    judged = tale.judge("unseen")

    assert judged.anomalies == []
    assert "t-0" in judged.inconclusive["unseen"]


def test_everything_seen_needs_no_final_read(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10))
    judged = tale.judge("unseen")

    assert (judged.anomalies, judged.inconclusive, judged.judged) == ([], {}, ["unseen"])


def test_what_was_passed_by_is_lost_and_not_unseen_as_well(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(11, at=1)
    tale.read((1, 11))
    tale.final_read(2)

    assert [found.name for found in tale.anomalies("lost-write", "unseen")] == ["lost-write"]


# duplicate


def test_one_value_at_two_offsets_is_a_duplicate(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))
    tale.batch(0, sequence=5)
    tale.batch(1, sequence=5)
    found = tale.only("duplicate")

    assert (found.offsets, found.values, found.attribution) == ((0, 1), (10,), "broker")


def test_another_sequence_number_accuses_the_client(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))
    tale.batch(0, sequence=5)
    tale.batch(1, sequence=0, epoch=1)

    assert tale.only("duplicate").attribution == "client"


def test_without_wire_evidence_nobody_is_accused(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))

    assert tale.only("duplicate").attribution == "unknown"


def test_sequences_count_within_batches(told):
    tale = told()
    tale.send(10, at=1)
    tale.read((1, 10), (4, 10))
    tale.batch(0, sequence=5, count=2)
    tale.batch(3, sequence=5, count=2)

    assert tale.only("duplicate").attribution == "broker"


def test_a_record_read_twice_is_no_duplicate(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10))
    tale.read((0, 10), stream=2)

    assert tale.anomalies("duplicate") == []


def test_retries_without_idempotence_may_duplicate(story):
    tale = story()
    tale.producer("p", idempotence=False, retries=5)
    tale.reader()
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))
    judged = tale.judge("duplicate")

    assert judged.anomalies == []
    assert "duplicate" in judged.not_applicable


@pytest.mark.parametrize(("disturbed", "found"), [(False, 1), (True, 0)])
def test_without_retries_only_a_fault_explains_a_second_copy(story, disturbed, found):
    tale = story()
    tale.producer("p", library="wire", idempotence=False, retries=0)
    tale.reader()
    if disturbed:
        tale.event("window-begin", window="w1")
    tale.send(10, at=0)
    tale.read((0, 10), (1, 10))

    assert [each.attribution for each in tale.anomalies("duplicate")] == ["broker"] * found


def test_a_value_sent_twice_may_lie_there_twice(told):
    tale = told()
    tale.send(10, at=0)
    tale.send(10, at=1)
    tale.read((0, 10), (1, 10))

    assert tale.anomalies("duplicate") == []


# phantom


def test_a_record_that_nobody_sent_is_a_phantom(told):
    tale = told()
    tale.send(10, at=0)
    poll = tale.read((0, 10), (1, 99))
    found = tale.only("phantom")

    assert (found.offsets, found.values, found.operations) == ((1,), (99,), (poll,))


def test_a_record_that_names_nobody_is_a_phantom(told):
    tale = told()
    tale.send(10, at=0)
    tale.read((0, 10), (1, None))

    assert tale.only("phantom").offsets == (1,)


def test_a_damaged_record_is_a_phantom(told):
    tale = told()
    send = tale.send(10, at=0)
    poll = tale.read((0, 10), intact=False)
    found = tale.only("phantom")

    assert found.operations == (poll, send)
    assert "not as it was sent" in found.sentence


def test_a_record_of_another_partition_is_a_phantom(told):
    tale = told()
    tale.send(10, at=0, partition=1)
    tale.send(11, at=0, partition=0)
    tale.read((0, 10), partition=0)

    assert "another partition" in tale.only("phantom").sentence


def test_a_record_whose_partition_was_never_learnt_may_be_anywhere(told):
    tale = told()
    tale.send(10, outcome="info", partition=-1)
    tale.read((0, 10), partition=2)

    assert tale.anomalies("phantom") == []


@pytest.mark.parametrize("outcome", ["info", "fail", "ok"])
def test_whatever_was_sent_is_no_phantom(told, outcome):
    tale = told()
    tale.send(10, outcome=outcome)
    tale.read((0, 10))

    assert tale.anomalies("phantom") == []
