"""What the batches of a log prove: each anomaly, its near miss, and when nothing can be said."""

import pytest

from brokertrial.histories.rows import Batch


@pytest.fixture
def log(story):
    tale = story()
    tale.producer("p", transactional_id="tx")
    tale.reader("r")
    return tale


def lay(tale, *batches, seen_at="final", **common):
    """Batches of one record each: (offset, sequence), and what else there is to say of each; asked for by somebody."""
    if batches:
        tale.op("list_offsets", "r", topic="elsewhere")
    for offset, sequence, *more in batches:
        fields = {"producer_id": 7, "producer_epoch": 0, "seen_at": seen_at, **common, **(more[0] if more else {})}
        span = fields.pop("span", 0)
        tale.rows.append(
            Batch(
                topic="t", partition=0, base_offset=offset, last_offset=offset + span, base_sequence=sequence, **fields
            )
        )


def marker(offset, kind, **more):
    return (offset, -1, {"control": kind, "transactional": True, **more})


def ended(tale, kind, txn=1, outcome="ok"):
    return tale.op(kind, txn=txn, topic=None, partition=None, outcome=outcome)


WRONG = {
    "one place, two producers": ("divergence", [(0, 0), (0, 0, {"producer_id": 8})], (0, 0)),
    "one place, two lengths": ("divergence", [(0, 0), (0, 0, {"span": 1})], (0, 0)),
    "one place, two leader epochs": ("divergence", [(0, 0, {"leader_epoch": 1}), (0, 0, {"leader_epoch": 2})], (0, 0)),
    "a batch inside another": ("divergence", [(0, 0, {"span": 3}), (2, 2, {"span": 3})], (3, 2)),
    "a sequence is left out": ("sequence-gap", [(0, 0), (1, 1), (2, 5)], (1, 2)),
    "a new epoch begins late": ("sequence-gap", [(0, 0), (1, 3, {"producer_epoch": 1})], (0, 1)),
    "a sequence is there twice": ("sequence-repeat", [(0, 0), (1, 1), (2, 1)], (1, 2)),
    "an old epoch writes on": ("zombie-append", [(0, 0), (1, 0, {"producer_epoch": 1}), (2, 1)], (1, 2)),
    "leader epochs fall": (
        "leader-epoch-regression",
        [(0, 0, {"leader_epoch": 3}), (1, 1, {"leader_epoch": 2})],
        (0, 1),
    ),
    "an old coordinator writes a marker": (
        "coordinator-epoch-regression",
        [marker(0, "COMMIT", coordinator_epoch=2), marker(1, "ABORT", coordinator_epoch=1)],
        (0, 1),
    ),
}
RIGHT = {
    "the same from two readers": ("divergence", [(0, 0, {"leader_epoch": 1}), (0, 0, {"node": 2})]),
    "side by side": ("divergence", [(0, 0, {"span": 1}), (2, 2)]),
    "one after the other": ("sequence-order", [(0, 0), (1, 1), (2, 2)]),
    "sequences wrap": ("sequence-order", [(0, 2**31 - 2, {"span": 1}), (2, 0)]),
    "what lies between was not handed out": ("sequence-order", [(0, 0), (5, 5)]),
    "a new epoch begins anew": ("sequence-order", [(0, 4), (1, 0, {"producer_epoch": 1})]),
    "two producers": ("sequence-order", [(0, 0), (1, 0, {"producer_id": 8}), (2, 1)]),
    "the first one of a producer that was forgotten": ("sequence-order", [(0, 17), (1, 18)]),
    "leader epochs rise": ("leader-epoch-regression", [(0, 0, {"leader_epoch": 2}), (1, 1, {"leader_epoch": 4})]),
    "coordinators of two producers": (
        "coordinator-epoch-regression",
        [marker(0, "COMMIT", coordinator_epoch=2), marker(1, "ABORT", coordinator_epoch=1, producer_id=8)],
    ),
}
FILES = {"sequence-gap": "sequence-order", "sequence-repeat": "sequence-order", "zombie-append": "sequence-order"}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_broker_may_store(log, case):
    name, batches, offsets = WRONG[case]
    lay(log, *batches)
    found = log.only(FILES.get(name, name))

    assert (found.name, found.offsets, found.attribution) == (name, offsets, "broker")


@pytest.mark.parametrize("case", RIGHT)
def test_what_looks_like_it_and_is_right(log, case):
    check, batches = RIGHT[case]
    lay(log, *batches)
    judged = log.judge(check)

    assert (judged.anomalies, judged.judged) == ([], [check])


@pytest.mark.parametrize("check", sorted({FILES.get(name, name) for name, *_ in WRONG.values()}))
def test_without_batches_there_is_nothing_to_judge(log, check):
    log.send(1, at=0)

    assert check in log.judge(check).not_applicable


def test_cleaning_may_empty_batches(log):
    log.event("topic", topic="t", fields='{"cleanup_policy":"compact"}')
    lay(log, (0, 0, {"span": 3}), (2, 2))

    assert "divergence" in log.judge("divergence").not_applicable


def test_an_unclean_election_may_begin_the_log_anew_in_another_epoch(story):
    tale = story(unclean_election=True)
    lay(tale, (0, 0, {"leader_epoch": 1}), (0, 0, {"leader_epoch": 2, "producer_id": 8}))

    assert tale.anomalies("divergence") == []


def test_what_was_cut_off_may_have_been_the_first_of_a_producer(log):
    log.op("delete_records", base_offset=1, log_start=1)
    lay(log, (0, 0), (1, 5))

    assert log.anomalies("sequence-order") == []


@pytest.mark.parametrize(
    ("second", "acks", "count"),
    [
        pytest.param((3, 5), -1, 1, id="told another offset"),
        pytest.param((0, 5), -1, 0, id="told the first offset again"),
        pytest.param((3, 6), -1, 0, id="another batch"),
        pytest.param((3, 5), 1, 0, id="one leader of several may have lost the first"),
    ],
)
def test_a_batch_sent_again_is_told_its_first_offset(story, second, acks, count):
    tale = story()
    tale.producer("p", acks=acks)
    lay(tale, (0, 5), second, seen_at="produce", client="p", error=0)
    judged = tale.judge("dedup-ack")

    assert len(judged.anomalies) == count
    assert [found.offsets for found in judged.anomalies] == [(0, 3)] * count
    assert ("dedup-ack" in judged.not_applicable) == (acks == 1)


TRANSACTIONS = [
    pytest.param("COMMIT", "ABORT", "commit_txn", "info", {"fractured-transaction"}, id="halves that differ"),
    pytest.param("ABORT", "ABORT", "commit_txn", "ok", {"wrong-marker"}, id="told committed, written as aborted"),
    pytest.param("COMMIT", "COMMIT", "abort_txn", "ok", {"wrong-marker"}, id="told aborted, written as committed"),
    pytest.param("COMMIT", "COMMIT", "commit_txn", "ok", set(), id="committed"),
    pytest.param("ABORT", "ABORT", "commit_txn", "info", set(), id="a commit without an answer, aborted"),
    pytest.param("ABORT", "ABORT", "abort_txn", "ok", set(), id="aborted"),
]


@pytest.mark.parametrize(("one", "other", "end", "outcome", "names"), TRANSACTIONS)
def test_the_markers_of_a_transaction_agree(log, one, other, end, outcome, names):
    log.send(10, at=0, txn=1)
    log.send(11, at=0, txn=1, partition=1)
    ended(log, end, outcome=outcome)
    lay(log, (0, 0, {"transactional": True}), marker(1, one))
    lay(log, (0, 0, {"transactional": True}), marker(1, other))
    for row in log.rows[-2:]:
        row.partition = 1
    judged = log.judge("fractured-transaction")

    assert {found.name for found in judged.anomalies} == names
    assert all(found.offsets == (0, 1) for found in judged.anomalies)
    assert judged.judged


def test_a_transaction_without_a_marker_may_be_open(log):
    log.send(10, at=0, txn=1)
    ended(log, "commit_txn")
    lay(log, (0, 0, {"transactional": True}))

    assert "fractured-transaction" in log.judge("fractured-transaction").not_applicable
