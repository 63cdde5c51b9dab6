"""The fault windows of a history: one definition of begin, end and words for every reader."""

from brokertrial.histories.rows import Event
from brokertrial.histories.windows import fault_windows

SCHEDULE = {"windows": [{"id": "f1", "kind": "cut", "match": {"client": "*m1*"}}, {"id": "f2", "kind": "kill"}]}


def event(kind, window, at_ns, text=None):
    return Event(kind=kind, window=window, at_ns=at_ns, fields=None if text is None else f'{{"text":"{text}"}}')


def spans(*events, schedule=SCHEDULE):
    return [(found.id, found.begin_ns, found.end_ns, found.over) for found in fault_windows(events, schedule)]


def test_a_window_ends_where_its_end_was_recorded_though_it_was_healed_later():
    (found,) = fault_windows(
        [event("window-begin", "f1", 5, "cut"), event("window-end", "f1", 9), event("window-healed", "f1", 20)],
        SCHEDULE,
    )
    assert (found.begin_ns, found.end_ns, found.healed_ns, found.kind) == (5, 9, 20, "cut")
    assert found.name == "fault f1 cut"
    assert found.planned["match"] == {"client": "*m1*"}


def test_without_an_end_it_ends_as_it_is_healed_and_else_with_the_last_event():
    assert spans(event("window-begin", "f2", 1), event("window-healed", "f2", 7)) == [("f2", 1, 7, True)]
    assert spans(event("window-begin", "f2", 1), Event(kind="phase", at_ns=30)) == [("f2", 1, 30, False)]


def test_a_window_that_never_began_is_none_and_the_others_are_in_the_order_of_time():
    late, early = event("window-begin", "f2", 8), event("window-begin", "f1", 3)
    assert spans(late, event("window-healed", "f3", 4), early) == [("f1", 3, 8, False), ("f2", 8, 8, False)]


def test_what_begins_twice_began_at_the_first_time_and_an_end_is_never_before_the_begin():
    assert spans(event("window-begin", "f1", 3), event("window-begin", "f1", 6), event("window-end", "f1", 2)) == [
        ("f1", 3, 3, True)
    ]


def test_a_history_without_a_schedule_is_taken_by_its_words():
    for schedule in (None, [], {}, "none"):
        (found,) = fault_windows([event("window-begin", "f9", 1, "pause node 2")], schedule)
        assert found.kind == "pause"
    (found,) = fault_windows([Event(kind="window-begin", window="f9", at_ns=1, fields="no JSON")], None)
    assert (found.kind, found.text, found.name) == ("f9", "", "fault f9")
