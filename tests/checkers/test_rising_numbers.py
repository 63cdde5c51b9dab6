"""Numbers that only rise: each fall, its near miss, and when nothing can be said."""

import pytest

HIGH, STABLE, START, EPOCH = "high_watermark", "last_stable", "log_start", "leader_epoch"

FALLS = {
    "high-watermark-regression": (HIGH, {"leader_epoch": 4}),
    "lso-regression": (STABLE, {"leader_epoch": 4}),
    "log-start-regression": (START, {}),
}


def told(tale, call, ret, kind="fetch", **fields):
    return tale.op(kind, "r", call=call, ret=ret, **fields)


@pytest.fixture
def asked(story):
    tale = story()
    tale.reader("r")
    return tale


@pytest.mark.parametrize("check", FALLS)
def test_it_fell(asked, check):
    column, more = FALLS[check]
    first = told(asked, 0, 1, **{column: 9}, **more)
    second = told(asked, 2_000_001, 2_000_002, **{column: 7}, **more)
    found = asked.only(check)

    assert (found.offsets, found.operations) == ((9, 7), (first, second))
    assert "2 " in found.sentence and "2.000 ms" in found.sentence


@pytest.mark.parametrize("check", FALLS)
def test_what_was_asked_before_the_first_answer_may_be_older(asked, check):
    column, more = FALLS[check]
    told(asked, 0, 5, **{column: 9}, **more)
    told(asked, 5, 8, **{column: 7}, **more)
    judged = asked.judge(check)

    assert (judged.anomalies, judged.judged) == ([], [check])


@pytest.mark.parametrize("check", ["high-watermark-regression", "lso-regression"])
@pytest.mark.parametrize("epochs", [(4, 5), (None, None)])
def test_a_new_leader_may_know_of_less(asked, check, epochs):
    column, _ = FALLS[check]
    told(asked, 0, 1, **{column: 9}, leader_epoch=epochs[0])
    told(asked, 2, 3, **{column: 7}, leader_epoch=epochs[1])

    assert asked.anomalies(check) == []


def test_one_node_without_faults_needs_no_epoch(story):
    tale = story(nodes=1)
    tale.reader("r")
    told(tale, 0, 1, high_watermark=9)
    told(tale, 2, 3, high_watermark=7)
    assert tale.only("high-watermark-regression").offsets == (9, 7)

    tale = story(nodes=1)
    tale.reader("r")
    told(tale, 0, 1, high_watermark=9)
    told(tale, 2, 3, high_watermark=7)
    tale.event("window-begin", window="w1")
    assert "high-watermark-regression" in tale.judge("high-watermark-regression").not_applicable


def test_the_start_of_a_log_may_go_back_after_a_crash(asked):
    asked.event("hit", window="w1", fields='{"decision":"kill"}')
    told(asked, 20, 21, log_start=9)
    told(asked, 22, 23, log_start=7)

    assert "log-start-regression" in asked.judge("log-start-regression").not_applicable


def test_what_is_stable_is_committed(asked):
    told(asked, 0, 1, last_stable=9, high_watermark=7, leader_epoch=4)
    told(asked, 2, 3, high_watermark=8, leader_epoch=4)
    found = asked.only("lso-regression")

    assert (found.name, found.offsets) == ("lso-above-high-watermark", (9, 8))


@pytest.mark.parametrize("later", [{"high_watermark": 9, "leader_epoch": 4}, {"high_watermark": 8, "leader_epoch": 5}])
def test_what_is_stable_may_be_read_after_the_high_watermark_beside_it(asked, later):
    """Kafka's Partition.readRecords reads one after the other, and the log goes on in between."""
    told(asked, 0, 1, last_stable=9, high_watermark=7, leader_epoch=4)
    told(asked, 2, 3, **later)

    assert asked.anomalies("lso-regression") == []


@pytest.mark.parametrize(("node", "count"), [(1, 1), (2, 0)])
def test_one_node_does_not_forget_an_epoch(asked, node, count):
    told(asked, 0, 1, node=1, leader_epoch=4)
    told(asked, 2, 3, node=node, leader_epoch=3)

    assert len(asked.anomalies("leader-epoch-regression")) == count


def test_the_epoch_of_an_old_record_is_no_answer_about_now(asked):
    told(asked, 0, 1, node=1, leader_epoch=4, high_watermark=5)
    told(asked, 2, 3, kind="list_offsets", node=1, leader_epoch=3, log_start=0)

    assert asked.anomalies("leader-epoch-regression") == []


def listed(tale, end, call, ret):
    return tale.op("list_offsets", "r", call=call, ret=ret, high_watermark=end)


@pytest.mark.parametrize(
    ("fault_at", "leader_at", "judged"),
    [
        pytest.param(None, None, True, id="nothing disturbed it"),
        pytest.param(1, None, False, id="a fault had begun"),
        pytest.param(None, 1, False, id="it had another leader"),
        pytest.param(3_000_009, 3_000_009, True, id="that came later"),
    ],
)
def test_an_end_that_is_told_too_short_has_a_size(asked, fault_at, leader_at, judged):
    asked.producer("p")
    append = asked.send(1, at=0, call=0, ret=1)
    asked.send(2, at=1, call=2, ret=3)
    late = listed(asked, 0, 2_000_003, 2_000_004)
    if fault_at is not None:
        asked.event("window-begin", window="w1")
        asked.rows[-1].at_ns = fault_at
    for epoch in [1] if leader_at is None else [1, 2]:
        asked.event("leader", topic="t", partition=0, leader_epoch=epoch)
        asked.rows[-1].at_ns = 0 if epoch == 1 else leader_at
    answer = asked.judge("stale-read")
    (found,) = answer.anomalies + answer.permitted

    assert (found.name, found.offsets, found.operations) == ("stale-read", (2, 0), (append + 1, late))
    assert "2 record(s) behind, requests 2.000 ms apart" in found.sentence
    assert (answer.totals == {"stale-read": 1}) == judged


def test_an_end_that_was_asked_for_at_the_same_time_is_not_stale(asked):
    asked.producer("p")
    asked.send(1, at=0, call=0, ret=5)
    listed(asked, 0, 4, 6)
    answer = asked.judge("stale-read")

    assert (answer.anomalies, answer.permitted, answer.judged) == ([], [], ["stale-read"])
