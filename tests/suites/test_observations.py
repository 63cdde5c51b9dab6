"""A trial passes only where its guarantees were judged on data: enough observations of a check that decides them."""

import pytest

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import Judgement
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Event, Membership, Operation
from brokertrial.histories.windows import fault_windows
from brokertrial.suites.case import all_cases
from brokertrial.suites.trials.observations import AFTERWARDS_NS, observed, spans, told, undecided

LATE = AFTERWARDS_NS + 10**9


@pytest.fixture
def history(tmp_path):
    with Recorder.create(tmp_path / "h", Header(case="a/b", target="t")) as recorder:
        for op, (call, back, outcome, kind) in enumerate(
            [(1, 2, "ok", "send"), (9, 11, "ok", "send"), (12, 13, "ok", "send"), (12, 13, "info", "send"),
             (12, None, "ok", "send"), (LATE, LATE + 1, "ok", "send"), (12, 13, "ok", "poll"),
             (12, 13, "ok", "list_offsets")]
        ):  # fmt: skip
            recorder.add(Operation(op=op, client="w", kind=kind, call_ns=call, return_ns=back, outcome=outcome))
        recorder.add(
            Operation(op=90, client="w", kind="list_offsets", call_ns=12, return_ns=13, outcome="ok", high_watermark=3)
        )
        for generation in (-1, 4):
            recorder.add(Membership(group="g", member="m", generation=generation, topic="t", partition=0, from_ns=12))
    return History.open(tmp_path / "h")


def test_only_what_a_check_judges_is_counted_and_what_came_during_the_faults(history):
    counts = observed(history, [(10, 20)], ["lost-write", "poll-skip", "log-recency", "two-owners", "aborted-read"])
    assert counts == {
        "lost-write": (4, 2),  # one ended in the window, one is in it; one came long after
        "poll-skip": (1, 1),
        "log-recency": (1, 1),  # the other answer showed no end
        "two-owners": (1, 1),
        "aborted-read": (0, 0),
    }
    assert told(counts).startswith("lost-write 4 (2), poll-skip 1 (1)")
    assert observed(history, [], ["lost-write"]) == {"lost-write": (4, 0)}


@pytest.mark.parametrize(
    ("counts", "needed", "faulty", "why"),
    [
        ({"log-recency": (50, 5)}, 5, True, None),
        ({"log-recency": (50, 4)}, 5, True, "log-recency judged 4 observations during the faults"),
        ({"log-recency": (50, 0)}, 5, False, None),
        ({"stale-read": (50, 50)}, 5, True, "no check decides it"),  # suspended under faults: it decides nothing
        ({}, 5, True, "log-recency: no end of a partition was listed"),
    ],
)
def test_a_guarantee_is_decided_by_a_check_that_had_enough_to_judge(counts, needed, faulty, why):
    absent = {} if counts else {"log-recency": "no end of a partition was listed"}
    found = undecided(["repl-011"], Judgement(not_applicable=absent), counts, needed, faulty)
    assert (found is None) == (why is None)
    assert why is None or (found.startswith("repl-011 was not decided: it needs 5 observations") and why in found)


def test_what_a_fault_did_is_seen_for_a_while_after_it_or_until_the_final_read_where_a_process_ended():
    schedule = {"windows": [{"id": "f1", "kind": "kill"}, {"id": "f2", "kind": "pause"}]}
    edges = (("f1", "begin", 10), ("f1", "end", 20), ("f2", "begin", 30), ("f2", "end", 40))
    events = [Event(at_ns=at, kind=f"window-{edge}", window=window) for window, edge, at in edges]
    windows = fault_windows(events, schedule)
    assert spans(events, windows) == [(10, 1 << 62), (30, 40 + AFTERWARDS_NS)]
    read = Event(at_ns=10**9, kind="phase", fields='{"phase":"final read"}')
    assert spans([read], windows) == [(10, 10**9), (30, 10**9)]


def test_every_guarantee_of_a_trial_is_decided_by_a_check_that_is_made_there():
    for case in all_cases():
        if case.kind == "trial":
            named = case.function().checks
            made = [check for check in all_checks().values() if check.default or check.name in named]
            for guarantee in case.guarantees:
                deciding = [check.name for check in made if guarantee in check.decides and check.observes is not None]
                assert deciding, f"{case.id} names {guarantee}, which no check of it decides"


def test_checks_of_cleaning_expiry_and_ownership_are_fed_by_trials_that_name_them():
    """Nothing but a trial over a compacted or an expiring topic, a group left alone or a pipeline gives these data."""
    named = {guarantee for case in all_cases() if case.kind == "trial" for guarantee in case.guarantees}
    fed = (
        "lost-latest",
        "moved-record",
        "cleaned-early",
        "early-deletion",
        "orphan-partition",
        "at-least-once",
        "zombie-commit",
    )
    for name in fed:
        assert named & set(all_checks()[name].decides), f"no trial feeds {name}"
