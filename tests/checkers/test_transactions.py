"""What a transaction did not commit stays unseen by read_committed; what a definite error refused, by everybody."""

import pytest


@pytest.fixture
def told(story):
    def begin(**header):
        tale = story(**header)
        tale.producer("p", transactional_id="tx")
        tale.reader("u", isolation="read_uncommitted")
        tale.reader("c", isolation="read_committed")
        return tale

    return begin


@pytest.mark.parametrize(
    ("ending", "outcome", "committed_reader", "uncommitted_reader"),
    [
        ("abort_txn", "ok", 1, 0),
        ("abort_txn", "info", 1, 0),
        (None, None, 1, 0),
        ("commit_txn", "fail", 1, 0),
        ("commit_txn", "ok", 0, 0),
        ("commit_txn", "info", 0, 0),
    ],
)
def test_who_may_see_what_a_transaction_wrote(told, ending, outcome, committed_reader, uncommitted_reader):
    for client, expected in (("c", committed_reader), ("u", uncommitted_reader)):
        tale = told()
        tale.send(10, at=0, txn=1)
        if ending:
            tale.op(ending, txn=1, outcome=outcome)
        tale.read((0, 10), client=client)

        assert len(tale.anomalies("aborted-read")) == expected, client


def test_an_aborted_read_names_the_send_the_read_and_the_abort(told):
    tale = told()
    send = tale.send(10, at=0, txn=1)
    abort = tale.op("abort_txn", txn=1, topic=None, partition=None)
    poll = tale.read((0, 10), client="c")
    found = tale.only("aborted-read")

    assert (found.offsets, found.values, found.operations) == ((0,), (10,), (send, poll, abort))
    assert "aborted" in found.sentence


@pytest.mark.parametrize("client", ["u", "c"])
def test_nobody_may_see_what_was_refused(told, client):
    tale = told()
    tale.producer("q")
    tale.send(10, client="q", outcome="fail")
    tale.read((0, 10), client=client)

    assert "refused" in tale.only("aborted-read").sentence


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_what_may_have_been_written_may_be_seen(told, outcome):
    tale = told()
    tale.producer("q")
    tale.send(9, client="q", outcome="fail")
    tale.send(10, client="q", outcome=outcome)
    tale.read((0, 10), client="c")

    assert tale.anomalies("aborted-read") == []


def test_a_value_sent_again_after_an_abort_may_be_seen(told):
    tale = told()
    tale.send(10, txn=1)
    tale.op("abort_txn", txn=1)
    tale.send(10, txn=2)
    tale.op("commit_txn", txn=2)
    tale.read((3, 10), client="c")

    assert tale.anomalies("aborted-read") == []


@pytest.mark.parametrize(("read_until", "found"), [(19, 1), (20, 0), (25, 0)])
def test_a_committed_reader_waits_for_the_commit_to_begin(told, read_until, found):
    tale = told()
    tale.send(10, at=0, txn=1, call=1, ret=2)
    tale.op("commit_txn", txn=1, call=20, ret=30, topic=None, partition=None)
    tale.read((0, 10), client="c", call=5, ret=read_until)

    assert len(tale.anomalies("precommitted-read")) == found


def test_an_uncommitted_reader_need_not_wait(told):
    tale = told()
    tale.send(10, at=0, txn=1, call=1, ret=2)
    tale.op("commit_txn", txn=1, call=20, ret=30)
    tale.read((0, 10), client="u", call=5, ret=9)

    assert tale.anomalies("precommitted-read") == []


def torn(told, ending="ok", second=True, read_to=4):
    """One transaction over two partitions, of which a committed reader is shown only the first."""
    tale = told()
    tale.send(10, at=0, txn=1)
    tale.send(11, at=0, txn=1, partition=1)
    tale.op("commit_txn", txn=1, outcome=ending, topic=None, partition=None)
    tale.read((0, 10), client="u")
    tale.read((0, 11), client="u", partition=1)
    tale.read((0, 10), client="c")
    if second:
        tale.read((0, 11), client="c", partition=1)
    for partition in (0, 1):
        tale.event("final-read-committed", topic="t", partition=partition, offset=read_to)
    return tale


@pytest.mark.parametrize("ending", ["ok", "info"])
def test_a_transaction_shown_in_one_partition_only_is_torn(told, ending):
    found = torn(told, ending, second=False).only("torn-transaction")

    assert (found.partition, found.offsets, found.values) == (1, (0,), (11,))


@pytest.mark.parametrize(
    "tale",
    [
        pytest.param({}, id="all of it was shown"),
        pytest.param({"second": False, "read_to": 0}, id="it may still be behind an open transaction"),
    ],
)
def test_a_transaction_that_is_whole_or_late_is_not_torn(told, tale):
    assert torn(told, **tale).anomalies("torn-transaction") == []


def test_a_committed_reader_that_stopped_early_withholds_the_pass(told):
    tale = told()
    tale.send(10, at=0, txn=1)
    tale.op("commit_txn", txn=1, topic=None, partition=None)
    tale.read((0, 10), client="c")

    assert "torn-transaction" in tale.judge("torn-transaction").inconclusive
