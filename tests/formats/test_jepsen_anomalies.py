"""For each of Jepsen's anomalies a history that must fail, and a near miss that must not."""

import pytest

from tests.formats.conftest import names, only

SENT = "9 info send send x 1 2 3 4 5 6 7 8"
"""Whoever polls these did not make them up."""

PAIRS = {
    "duplicate": [
        # acknowledged at 1, polled at 3
        (["0 ok send send x 1@1", "1 info send send x 2", "2 ok poll poll x 2@2 1@3"],
         ["0 ok send send x 1@1", "1 info send send x 2", "2 ok poll poll x 1@1 2@2", "2 fail poll poll x 1@1"]),
        # a failed poll tells of a copy; a failed send's own offset does not
        (["0 ok send send x 1@1", "1 fail poll poll x 1@11", "2 ok poll poll x 1@1"],
         ["0 fail send send x 1@1", "1 fail poll poll x 1@11"]),
        # an offset conflict does not hide it
        (["0 ok send send x 1@0", "0 ok send send x 2@0", "1 ok poll poll x 1@1 2@1"],
         ["0 ok send send x 1@0", "0 ok send send x 2@1", "1 ok poll poll x 1@0 2@1"]),
    ],
    "inconsistent-offsets": [
        (["0 ok send send x 1@7", "1 ok send send x 2@7", "2 ok poll poll x 1@? 2@?"],
         ["0 ok send send x 1@7", "1 ok send send x 2@8", "2 ok poll poll x 1@7 2@8"]),
        # the unknown send counts once a poll has shown another of its values
        (["0 info send send x 1@0 send y 1", "1 ok send send x 2@0", "2 ok poll poll y 1@5", "2 ok poll poll x 2@0"],
         ["0 info send send x 1@0 send y 1", "1 ok send send x 2@0", "2 ok poll poll x 2@0"]),
    ],
    "G1a": [
        (["0 fail send send x 2", "1 ok poll poll x 2@0"],
         ["0 info send send x 2", "1 ok poll poll x 2@0"]),
        # only successful polls count
        (["0 fail txn send x 2", "1 ok txn poll x 2@0"],
         ["0 fail txn send x 2", "1 info txn poll x 2@0", "1 fail txn poll x 2@0"]),
    ],
    "precommitted-read": [
        (["0 ok txn send x 1@0 poll x 1@0"],
         ["0 ok txn send x 1@0 poll y 1@0", "0 ok txn poll x 1@0", "3 info send send y 1"]),
        # whatever became of the operation
        (["0 fail txn send x 1@0 poll x 1@0"], ["0 fail txn send x 1@0 poll", "1 ok poll poll x"]),
    ],
    "lost-write": [
        (["0 ok send send x 1@0", "1 info send send x 3", "2 ok poll poll x 3@2"],
         ["0 ok send send x 1@3", "1 info send send x 3", "2 ok poll poll x 3@2"]),
        # the bound is the first place of a value: 2 lies at 0 and at 2, and only 0 is sure
        (["0 ok send send x 1@1", "1 info send send x 2", "2 ok poll poll x 2@2"],
         ["0 ok send send x 1@1", "1 info send send x 2", "2 ok poll poll x 2@0 2@2"]),
        # one visible write proves the whole transaction; none proves nothing
        (["0 info send send x 1 send y 2@0", "1 info send send y 3", "2 ok poll poll x 1@0", "2 ok poll poll y 3@1"],
         ["0 info send send x 1 send y 2@0", "1 info send send y 3", "2 ok poll poll y 3@1"]),
        # known to the log by a failed poll alone: the writer must have committed
        (["0 ok send send x 1", "1 info send send x 3", "2 fail poll poll x 1@0", "2 ok poll poll x 3@1"],
         ["0 info send send x 1", "1 info send send x 3", "2 fail poll poll x 1@0", "2 ok poll poll x 3@1"]),
    ],
    "unseen": [
        (["0 ok send send x 1@0 2@1", "1 ok poll poll x 1@0"],
         ["0 ok send send x 1@0 2@1", "1 ok poll poll x 1@0 2@1"]),
        (["0 ok send send x 1@0", "1 fail poll poll x 1@0"], ["0 info send send x 1@0", "1 ok poll poll x"]),
    ],
    "int-poll-skip": [
        ([SENT, "0 ok poll poll x 1@1 4@4", "1 ok poll poll x 2@2"],
         [SENT, "0 ok poll poll x 1@1 4@4", "1 ok poll poll x 5@5"]),
        # in two polls of an operation that failed
        ([SENT, "0 fail poll poll x 1@1 poll x 4@4", "1 ok poll poll x 2@2"],
         [SENT, "0 fail poll poll x 1@1", "0 fail poll poll x 4@4", "1 ok poll poll x 2@2"]),
    ],
    "int-nonmonotonic-poll": [
        ([SENT, "0 ok poll poll x 3@3 1@1"], [SENT, "0 ok poll poll x 1@1 3@3"]),
        ([SENT, "0 info poll poll x 3@3 poll x 3@3"], [SENT, "0 ok poll poll x 3@3", "1 ok poll poll x 3@3"]),
    ],
    "poll-skip": [
        ([SENT, "0 ok poll poll x 1@1 2@2", "1 ok poll poll x 3@3", "0 ok poll poll x 4@4"],
         [SENT, "0 ok poll poll x 1@1 2@2", "1 ok poll poll x 3@3", "0 ok assign y", "0 ok poll poll x 4@4"]),
        # an assign that names the key keeps the position, a failed one changes nothing
        ([SENT, "0 ok poll poll x 1@1", "1 ok poll poll x 2@2", "0 ok assign x y", "0 ok poll poll x 3@3"],
         [SENT, "0 ok poll poll x 1@1", "1 ok poll poll x 2@2", "0 info assign y", "0 ok poll poll x 3@3"]),
        ([SENT, "0 ok poll poll x 1@1", "1 ok poll poll x 2@2", "0 fail assign y", "0 info poll poll x 3@3"],
         [SENT, "0 ok poll poll x 1@1", "1 ok poll poll x 2@2", "2 info poll poll x 3@3"]),
        # only successful polls move the position
        ([SENT, "0 ok poll poll x 1@1", "0 fail poll poll x 2@2 3@3", "0 ok poll poll x 4@4"],
         [SENT, "0 ok poll poll x 1@1", "0 fail poll poll x 2@2 3@3", "0 ok poll poll x 2@2 3@3 4@4"]),
    ],
    "nonmonotonic-poll": [
        ([SENT, "0 ok poll poll x 1@1 2@2 3@3", "0 ok poll poll x 2@2"],
         [SENT, "0 ok poll poll x 1@1 2@2 3@3", "1 ok poll poll x 2@2"]),
        ([SENT, "0 ok poll poll x 3@3", "0 fail poll poll x 3@3"],
         [SENT, "0 fail poll poll x 3@3", "0 ok poll poll x 3@3"]),
    ],
    "nonmonotonic-send": [
        (["0 ok send send x 3@3 4@4", "0 ok send send x 1@1 2@2", "1 ok poll poll x 1@1 2@2 3@3 4@4"],
         ["0 ok send send x 3@3 4@4", "1 ok send send x 1@1 2@2", "1 ok poll poll x 1@1 2@2 3@3 4@4"]),
        # unknown ones count, failed ones do not
        (["0 info send send x 3", "0 ok send send x 1@1", "1 ok poll poll x 1@1 3@3"],
         ["0 fail send send x 3", "0 ok send send x 1@1", "1 info poll poll x 1@1 3@3", "1 ok poll poll x 1@1"]),
        (["0 ok send send x 3@3", "0 ok assign x", "0 ok send send x 1@1", "1 ok poll poll x 1@1 3@3"],
         ["0 ok send send x 3@3", "0 ok assign y", "0 ok send send x 1@1", "1 ok poll poll x 1@1 3@3"]),
    ],
    "int-nonmonotonic-send": [
        (["0 ok send send x 3@3 1@1", "1 ok poll poll x 1@1 3@3"],
         ["0 ok send send x 1@1 3@3", "1 ok poll poll x 1@1 3@3"]),
        # the order is known from a poll alone
        (["0 info send send x 4 2", "1 ok poll poll x 2@2 4@4"], ["0 info send send x 4 2", "1 ok poll poll x 2@2"]),
    ],
    "phantom": [
        (["0 ok send send x 1@0", "1 ok poll poll x 1@0 66@1"], ["0 ok send send x 1@0", "1 ok poll poll x 1@0"]),
        (["0 ok send send x 1@0", "1 fail poll poll y 1@0", "1 ok poll poll x 1@0"],
         ["0 fail send send y 1", "1 fail poll poll y 1@0", "0 ok send send x 1@0", "1 ok poll poll x 1@0"]),
    ],
}  # fmt: skip

FLAT = [(name, number, bad, near) for name, pairs in PAIRS.items() for number, (bad, near) in enumerate(pairs)]


@pytest.mark.parametrize(("name", "bad"), [pytest.param(n, b, id=f"{n}-{i}") for n, i, b, _ in FLAT])
def test_it_is_found(judged, name, bad):
    found = judged(*bad)

    assert name in names(found)
    assert found.status == 1


@pytest.mark.parametrize(("name", "near"), [pytest.param(n, b, id=f"{n}-{i}") for n, i, _, b in FLAT])
def test_a_near_miss_is_not(judged, name, near):
    assert name not in names(judged(*near), judged=None)


def test_another_message_between_two_sends_is_listed_and_permitted(judged):
    ops = ["0 ok send send x 1@1 3@3", "1 info send send x 2", "2 ok poll poll x 1@1 2@2 3@3"]

    assert names(judged(*ops), judged=False) >= {"int-send-skip"}
    assert judged(*ops).status == 0


def test_it_is_told_with_offsets_values_operations_and_the_key(judged):
    found = only(judged("0 ok send send x 5@0", "1 info send send x 7", "2 ok poll poll x 7@2"), "lost-write")

    assert found["key"] == "x"
    assert found["offsets"] == [0, 2]
    assert found["values"] == [5]
    assert found["operations"] == [0, 2]
    assert found["guarantee"] == "prod-002"
    assert found["judged"] is True
    assert "offset 0 of key x" in found["sentence"]


def test_what_was_skipped_is_listed(judged):
    found = only(judged(SENT, "0 ok poll poll x 1@1", "1 ok poll poll x 2@2 3@3", "0 ok poll poll x 4@4"), "poll-skip")

    assert (found["values"], found["offsets"], found["operations"]) == ([2, 3], [2, 3], [1, 3, 2])


def test_a_rebalance_explains_what_polls_of_that_key_do_within_an_operation(judged):
    poll = {"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"x": [[3, 3], [1, 1]]}]]}

    assert "int-nonmonotonic-poll" in names(judged(SENT, poll | {"rebalance-log": [{"keys": ["y"]}]}))


def test_a_rebalance_of_the_key_itself_is_an_exemption(judged):
    poll = {"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"x": [[3, 3], [1, 1]]}]]}

    assert "int-nonmonotonic-poll" not in names(judged(SENT, poll | {"rebalance-log": [{"keys": ["x"]}]}), None)


G0 = ["0 ok send send x 1@0 send y 1@1", "1 ok send send x 2@1 send y 2@0", "2 ok poll poll x 1@0 2@1 poll y 2@0 1@1"]
G1C = ["0 ok txn send x 1@0 poll y 2@0", "1 ok txn send y 2@0 poll x 1@0"]


def test_write_cycles_are_listed_and_never_held_against_a_broker(judged):
    found = judged(*G0)

    assert names(found, judged=False) == {"G0", "PL-1-cycle-exists"}
    assert found.status == 0


def test_circular_information_is_listed_while_the_order_of_writes_counts(judged):
    found = judged(*G1C)

    assert names(found, judged=False) == {"G1c", "PL-2-cycle-exists"}
    assert found.status == 0


@pytest.mark.parametrize(
    ("ops", "name", "judged_names"),
    [
        pytest.param(G1C, "ww=off", {"G1c", "PL-2-cycle-exists"}, id="reads alone are judged"),
        pytest.param(G1C, "ww=off,isolation=read_uncommitted", set(), id="but not of readers at read_uncommitted"),
        pytest.param(G0, "ww=off", set(), id="writes are not looked at"),
    ],
)
def test_without_the_order_of_writes(judged, ops, name, judged_names):
    assert names(judged(*ops, assume=name)) == judged_names


def test_a_value_read_before_its_send_was_called_is_a_cycle_with_time(judged):
    invoke = {"process": 0, "type": "invoke", "f": "send", "value": [["send", "x", 1]]}
    found = judged("1 ok poll poll x 1@0", invoke, "0 ok send send x 1@0", assume="ww=off")

    assert names(found) == {"G1c-realtime", "strong-PL-2-cycle-exists"}


def test_overlapping_calls_are_no_cycle(judged):
    invoke = {"process": 0, "type": "invoke", "f": "send", "value": [["send", "x", 1]]}
    found = judged(invoke, "1 ok poll poll x 1@0", "0 ok send send x 1@0", assume="ww=off")

    assert names(found, None) == set()


def test_one_process_that_writes_backwards_is_a_cycle_of_its_process(judged):
    ops = ["0 ok send send x 2@1", "0 ok send send x 1@0", "1 ok poll poll x 1@0 2@1"]

    assert names(judged(*ops), judged=False) >= {"G0-process", "G0-realtime", "strong-PL-1-cycle-exists"}


def test_nothing_that_depends_on_anything_is_no_pass(judged):
    found = judged("0 fail send send x 1", "1 ok poll poll x")

    assert found.status == 6
    assert list(found.reasons) == ["empty-transaction-graph"]


def test_nothing_sent_or_polled_is_nothing_judged(judged):
    assert judged("0 ok assign x").status == 5
