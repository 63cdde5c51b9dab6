"""Progress after faults, the longest gap, and at-least-once from end to end."""

import pytest

SECOND = 1_000_000_000


@pytest.fixture
def healed(story):
    tale = story()
    tale.producer("p", library="wire")
    tale.event("window-begin", window="w1")
    tale.event("window-healed", window="w1")
    return tale


def send(tale, call_s, return_s, outcome="info", **fields):
    fields = {"call": int(call_s * SECOND), "ret": None if return_s is None else int(return_s * SECOND), **fields}
    return tale.op("send", outcome=outcome, **fields)


def test_nothing_is_acknowledged_for_a_minute(healed):
    first, last = send(healed, 1, 30), send(healed, 40, 70)
    found = healed.only("no-progress")

    assert (found.operations, found.partition, found.attribution) == ((first, last), 0, "broker")


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        pytest.param((40, 41, "ok"), None, id="one was acknowledged"),
        pytest.param((40, 50, "info"), "less than a minute", id="not for a minute"),
        pytest.param((2, 5, "info"), None, id="for a moment"),
    ],
)
def test_progress_or_too_short_a_time(healed, again, reason):
    send(healed, 1, 4)
    send(healed, again[0], again[1], outcome=again[2])
    judged = healed.judge("no-progress")

    assert judged.anomalies == []
    assert (reason is None and not judged.inconclusive) or reason in judged.inconclusive["no-progress"]


def test_what_only_a_library_tried_accuses_nobody(healed):
    healed.rows[0].library = "librdkafka"
    send(healed, 1, 70)

    assert healed.only("no-progress").attribution == "unknown"


@pytest.mark.parametrize("healing", [True, False])
def test_before_the_heal_nothing_is_owed(story, healing):
    tale = story()
    tale.producer("p")
    tale.event("window-begin", window="w1")
    send(tale, 1, 70)
    if healing:
        tale.event("window-healed", window="w1")
        tale.rows[-1].at_ns = 80 * SECOND

    assert "no-progress" in tale.judge("no-progress").not_applicable


def test_the_longest_gap_is_measured_and_held_against_nobody(healed):
    send(healed, 1, 2, "ok")
    before, after = send(healed, 1, 2.1, "ok"), send(healed, 2, 5.6, "ok", partition=1)
    judged = healed.judge("longest-gap")

    assert judged.anomalies == [] and judged.totals == {}
    (found,) = judged.permitted
    assert found.operations == (before, after)
    assert "3500 ms" in found.sentence and "w1" in found.sentence


def test_the_fault_beside_the_gap_is_the_one_that_began_last_and_not_the_last_by_name(healed):
    for window, at_s in (("f9", 1.0), ("f12", 1.5), ("f90", 5.7)):
        healed.event("window-begin", window=window)
        healed.rows[-1].at_ns = int(at_s * SECOND)
    send(healed, 1, 2, "ok"), send(healed, 2, 5.6, "ok")
    (found,) = healed.judge("longest-gap").permitted

    assert "(last fault: f12)" in found.sentence


@pytest.mark.parametrize("place", [1, 2, 9, 17, 38])
def test_the_longest_gap_is_found_wherever_it_lies(healed, place):
    """Forty sends, 10 ms apart but for one, so that gaps are shorter than the slots in which they are looked for."""
    ops = [send(healed, 1, 2 + number / 100 + (number >= place) / 1000, "ok") for number in range(40)]
    (found,) = healed.judge("longest-gap").permitted

    assert found.operations == (ops[place - 1], ops[place])
    assert "11 ms" in found.sentence


def test_acknowledgements_of_one_moment_leave_no_gap(healed):
    send(healed, 1, 2, "ok"), send(healed, 2, 2, "ok")

    assert healed.judge("longest-gap").permitted == []


def test_without_acknowledgements_there_is_no_gap(healed):
    send(healed, 1, 2)

    assert "longest-gap" in healed.judge("longest-gap").not_applicable


@pytest.fixture
def copying(story):
    """Three inputs, acknowledged; copies go to t-1 without transactions."""
    tale = story()
    tale.producer("p")
    tale.reader("r")
    for value in range(3):
        tale.send(10 + value, at=value)
    return tale


def copies(tale, *sources, outcome="ok"):
    for source in sources:
        tale.send(source + 100, at=source - 10, partition=1, outcome=outcome)
        tale.rows[-1].derived_from = source


def commits_and_reads(tale, offset, *seen, end=3):
    number = tale.op("commit", "p", group="g", committed_offset=offset)
    tale.read(*((value - 110, value) for value in seen), partition=1)
    if end is not None:
        tale.final_read(end, partition=1)
    return number


def test_a_copy_that_was_acknowledged_before_its_input_was_committed_is_gone(copying):
    copies(copying, 10, 11, 12)
    commit = commits_and_reads(copying, 3, 110, 112)
    found = copying.only("at-least-once")

    assert (found.offsets, found.values, found.attribution) == ((1, 3), (11,), "broker")
    assert commit in found.operations


def test_an_input_that_was_committed_without_a_copy_is_the_clients_doing(copying):
    copies(copying, 10, 12)
    commits_and_reads(copying, 3, 110, 112)

    assert copying.only("at-least-once").attribution == "client"


def test_twice_is_right_and_what_was_not_committed_is_not_owed(copying):
    copies(copying, 10, 11)
    copying.send(210, at=2, partition=1)
    copying.rows[-1].derived_from = 10
    commits_and_reads(copying, 2, 110, 111)
    judged = copying.judge("at-least-once")

    assert (judged.anomalies, judged.judged) == ([], ["at-least-once"])


def test_an_output_that_was_not_read_withholds_a_pass(copying):
    copies(copying, 10, 11, 12)
    commits_and_reads(copying, 3, 110, 112, end=None)
    judged = copying.judge("at-least-once")

    assert judged.anomalies == []
    assert "was not read to its end" in judged.inconclusive["at-least-once"]


def test_copies_outside_transactions_are_promised_once_at_least_and_not_at_most(copying):
    copying.reader("c", isolation="read_committed")
    copies(copying, 10, 11)
    copying.send(210, at=2, partition=1)
    copying.rows[-1].derived_from = 10
    copying.read((0, 110), (1, 111), (2, 210), client="c", partition=1)
    judged = copying.judge("exactly-once")

    assert judged.not_applicable == {"exactly-once": "nothing was copied in transactions"}
