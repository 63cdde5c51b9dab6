"""commit-changed: its definition once more, as loops, how it is put into a legal history, examples."""

from collections.abc import Iterator

import pytest

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.commits import writes
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.picks import older_answer
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Told what nobody committed, or what was certainly no longer in force."""
    automatic = {client.group for client in facts.clients.values() if client.auto_commit}
    for told in offset_fetches(facts):
        if told.group in automatic or told.return_ns is None or told.committed_offset is None:
            continue
        here = [write for write in writes(facts) if _register(write.row) == _register(told)]
        sources = [
            write
            for write in here
            if write.row.committed_offset == told.committed_offset
            and write.call <= told.return_ns
            and (told.commit_id is None or write.row.commit_id in (None, told.commit_id))
        ]
        nothing = told.committed_offset < 0
        replaced = max((write.done for write in sources), default=None)
        later = [
            write
            for write in here
            if write.done < told.call_ns and (nothing or (replaced is not None and write.call > replaced))
        ]
        lowest = min((write.row.committed_offset or 0 for write in later), default=None)
        back = bool(sources) and not nothing and lowest is not None and told.committed_offset < lowest
        if later or (not nothing and not sources):
            yield {
                "name": "commit-regression" if back else "commit-changed",
                "group_id": told.group,
                "topic": told.topic,
                "partition": told.partition,
                "offset_a": told.committed_offset,
                "offset_b": lowest,
                "op_a": told.op,
                "op_b": min((write.row.op for write in sources), default=None),
                "op_c": min((write.row.op for write in later), default=None),
            }


def offset_fetches(facts: Facts) -> list[Operation]:
    """Answers about committed offsets of groups that nobody deleted."""
    deleting = ("delete_group", "delete_groups", "delete_offsets")
    deleted = {row.group for row in facts.operations if row.kind in deleting and row.outcome != "fail"}
    return [
        row
        for row in facts.operations
        if row.kind == "committed"
        and row.outcome == "ok"
        and row.topic is not None
        and row.return_ns is not None
        and row.committed_offset is not None
        and (row.group is None or row.group not in deleted)
    ]


def _register(row: Operation) -> tuple[str | None, str | None, int | None]:
    return row.group, row.topic, row.partition


def inject_commit_changed(w: Wound) -> Expected:
    told, old = older_answer(w, higher=True)
    return w.told("commit-changed", told, offset_a=old.committed_offset, op_a=told.op)


def inject_commit_regression(w: Wound) -> Expected:
    told, old = older_answer(w, higher=False)
    return w.told("commit-changed", told, "commit-regression", offset_a=old.committed_offset, op_a=told.op)


@pytest.fixture
def told(story):
    def begin(**header):
        tale = story(**header)
        tale.reader("r", group="g")
        tale.ids = iter(range(1, 100))

        def commit(offset, **more):
            return tale.op("commit", "r", committed_offset=offset, commit_id=next(tale.ids), group="g", **more)

        def told_offset(offset, commit_id=None, **more):
            return tale.op("committed", "r", committed_offset=offset, commit_id=commit_id, group="g", **more)

        tale.commit, tale.told = commit, told_offset
        return tale

    return begin


BOTH = ("commit-changed", "commit-order")


def test_the_last_commit_is_what_is_told(told):
    tale = told()
    tale.commit(10)
    tale.commit(20)
    tale.told(20, 2)
    tale.commit(15)
    tale.told(15, 3)

    assert tale.anomalies(*BOTH) == []


def test_an_older_commit_is_told(told):
    tale = told()
    old, new = tale.commit(10), tale.commit(20)
    recall = tale.told(10, 1)
    found = tale.only("commit-changed")

    assert (found.group, found.topic, found.offsets, found.operations) == ("g", "t", (10, 20), (recall, old, new))


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_a_commit_that_was_not_acknowledged_need_not_be_told(told, outcome):
    tale = told()
    tale.commit(10)
    tale.commit(20, outcome=outcome)
    tale.told(10, 1)

    assert tale.anomalies(*BOTH) == []


def test_a_commit_without_an_answer_may_be_told_late(told):
    tale = told()
    tale.commit(10, outcome="info", ret=None)
    tale.commit(20)
    tale.told(20, 2)
    tale.told(10, 1)

    assert tale.anomalies(*BOTH) == []


def test_a_refused_commit_is_told(told):
    tale = told()
    tale.commit(10, outcome="fail")
    tale.told(10, 1)

    assert "no client had committed" in tale.only("commit-changed").sentence


def test_an_offset_that_nobody_committed(told):
    tale = told()
    tale.commit(10)
    tale.told(11, None)

    assert tale.only("commit-changed").offsets[0] == 11


def test_the_right_offset_with_another_id(told):
    tale = told()
    tale.commit(10)
    tale.told(10, 77)

    assert len(tale.anomalies("commit-changed")) == 1


def test_a_commit_is_forgotten(told):
    tale = told()
    commit = tale.commit(10)
    recall = tale.told(-1)
    found = tale.only("commit-changed")

    assert found.operations == (recall, commit)


def test_nothing_before_the_first_commit(told):
    tale = told()
    tale.told(-1)
    tale.commit(10)

    assert tale.anomalies(*BOTH) == []


def test_a_commit_under_way_may_be_told_or_not(told):
    tale = told()
    tale.commit(10, call=0, ret=100)
    tale.told(-1, call=10, ret=20)
    tale.told(10, 1, call=30, ret=40)

    assert tale.anomalies(*BOTH) == []


def test_but_not_be_told_and_then_not(told):
    tale = told()
    tale.commit(10, call=0, ret=100)
    tale.told(10, 1, call=10, ret=20)
    tale.told(-1, call=30, ret=40)

    assert len(tale.anomalies("commit-order")) == 1


def test_two_commits_under_way_told_in_turns(told):
    tale = told()
    tale.commit(10, call=0, ret=100)
    tale.commit(20, call=0, ret=100)
    tale.told(10, 1, call=10, ret=11)
    tale.told(20, 2, call=20, ret=21)
    tale.told(10, 1, call=30, ret=31)

    assert len(tale.anomalies("commit-order")) == 1
    assert tale.anomalies("commit-changed") == []


@pytest.mark.parametrize(("asked", "found"), [(10, 0), (11, 1)])
def test_a_moment_that_touches_is_concurrent(told, asked, found):
    tale = told()
    tale.commit(10, call=1, ret=2)
    tale.commit(20, call=3, ret=10)
    tale.told(10, 1, call=asked, ret=20)

    assert [len(tale.anomalies(check)) for check in BOTH] == [found, found]


def test_a_deleted_group_may_forget(told):
    tale = told()
    tale.commit(10)
    tale.op("delete_group", "r", group="g", topic=None, partition=None)
    tale.told(-1)

    assert tale.anomalies(*BOTH) == []


def test_a_group_that_commits_by_itself_is_not_judged(told):
    tale = told()
    tale.reader("auto", group="g", auto_commit=True)
    tale.commit(10)
    tale.told(11)

    assert "commit-changed" in tale.judge("commit-changed").not_applicable


@pytest.mark.parametrize(("ending", "outcome", "recalled", "found"), [
    ("commit_txn", "ok", 20, 0), ("commit_txn", "ok", 10, 1), ("abort_txn", "ok", 20, 1), ("abort_txn", "ok", 10, 0),
    ("commit_txn", "info", 20, 0), ("commit_txn", "info", 10, 0),
])  # fmt: skip
def test_a_commit_in_a_transaction_counts_when_that_commits(told, ending, outcome, recalled, found):
    tale = told()
    tale.commit(10)
    tale.commit(20, txn=1)
    tale.op(ending, txn=1, outcome=outcome, topic=None, partition=None)
    tale.told(recalled, recalled // 10)

    assert len(tale.anomalies("commit-changed")) == found


def test_before_that_it_does_not(told):
    tale = told()
    tale.commit(10)
    tale.commit(20, txn=1)
    tale.told(20, 2)
    tale.op("commit_txn", txn=1, topic=None, partition=None)

    assert len(tale.anomalies("commit-changed")) == 1


def test_two_groups_do_not_share_offsets(told):
    tale = told()
    tale.commit(10)
    tale.op("committed", "r", committed_offset=-1, group="other")

    assert tale.anomalies(*BOTH) == []
