"""Schedules are data: they come back from JSON as they were, read like a story, and refuse nonsense."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokertrial.faults.kinds import all_kinds, fault_of, kind_of, schedule_text, window_text
from brokertrial.faults.kinds.cut import cut
from brokertrial.faults.kinds.delay import delay
from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.faults.kinds.hold import hold
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.kinds.restart import restart
from brokertrial.faults.match import Match, ordinal
from brokertrial.faults.schedule import BadSchedule, Schedule, Window, Windows
from brokertrial.faults.seeded_random import seeded_random
from brokertrial.faults.triggers import (
    AT_HEAL,
    After,
    RunProgress,
    Trigger,
    after,
    at_op,
    elapsed,
    is_due,
    message,
    next_ms,
)

names = st.sampled_from(["any", "1", "leader(t,0)", "coordinator(g)"])
matches = st.builds(
    Match,
    client=st.sampled_from(["*", "p-*"]),
    node=names,
    api=st.lists(st.sampled_from(["Produce", "Fetch"]), max_size=2).map(tuple),
    topic=st.none() | st.just("t"),
    partition=st.none() | st.integers(0, 3),
    fields=st.sampled_from([{}, {"acks": -1}]),
    skip=st.integers(0, 9),
    every=st.integers(1, 9),
    count=st.none() | st.integers(1, 9),
)
leaves = st.one_of(
    st.integers(0, 999).map(at_op),
    st.integers(0, 999).map(elapsed),
    st.just(AT_HEAL),
    st.builds(lambda match, n: Trigger(msg=match, n=n), matches, st.integers(1, 9)),
)
triggers = leaves | st.lists(leaves, min_size=1, max_size=3).map(lambda parts: Trigger(any=tuple(parts)))
windows = st.one_of(
    st.builds(lambda m, b, e: Window(kind="drop_response", match=m, begin=b, end=e), matches, triggers, triggers),
    st.builds(lambda t, b: Window(kind="pause", target=t, begin=b, model="timing", needs=("pause",)), names, triggers),
    st.builds(lambda m: Window(kind="delay", params={"ms": 3.5}, match=m), matches),
)


@given(st.lists(windows, max_size=5), st.integers(0, 2**63))
def test_a_schedule_comes_back_as_it_was_and_every_window_has_words(made: list[Window], seed: int) -> None:
    schedule = Schedule.of(*made, seed=seed)
    again = Schedule.from_json(schedule.json())
    assert again == schedule and again.json() == schedule.json()
    assert len(schedule_text(schedule).splitlines()) == len(made)


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (
            drop_response(api="Produce", node="leader(t,0)", skip=6, times=1, begin=at_op(200)),
            "at op 200: drop 1 Produce response from leader(t,0) after 6",
        ),
        (drop_response(api="Produce", every=7, times=20), "at the start: drop 20 Produce responses, each 7th"),
        (delay(300), "at the start: delay every message (300 ms)"),
        (
            hold(api="EndTxn", times=1, begin=message(3, api="EndTxn"), end=at_op(500)),
            "at the 3rd EndTxn request: hold 1 EndTxn request, until op 500",
        ),
        (
            cut(client="p1", node=2, direction="answers", begin=elapsed(50), end=after("f9", "hit", 20)),
            "at 50 ms: cut every message at node 2 of p1 (direction answers), until 20 ms after f9 hit",
        ),
        (kill("leader(t,0)", begin=at_op(5)), "at op 5: kill leader(t,0)"),
        (pause(3, end=after("f1", delay_ms=9)), "at the start: pause node 3, until 9 ms after f1 began"),
        (restart("any", how="terminate", begin=after("f1", "end")), "after f1 ended: restart any (how terminate)"),
        (
            edit_answer("topics[].partitions[].offset", add=1, api="ListOffsets"),
            "at the start: edit every ListOffsets response (path topics[].partitions[].offset, add 1)",
        ),
    ],
)
def test_a_window_reads_like_a_story(window: Window, text: str) -> None:
    assert window_text(window) == text


def test_ids_are_given_by_position_and_removing_one_changes_no_other() -> None:
    schedule = Windows(kill(1), pause(2, id="freeze"), delay(3))
    assert [window.id for window in schedule] == ["f1", "freeze", "f3"]
    assert [window.id for window in schedule.without("freeze")] == ["f1", "f3"]
    assert schedule.needs() == {"kill", "restart", "pause", "proxy"}


def test_names_of_a_run_are_put_in() -> None:
    schedule = Windows(kill("leader({topic},0)"), drop_response(topic="{topic}")).naming(topic="bt-1")
    assert schedule.windows[0].target == "leader(bt-1,0)"
    assert schedule.windows[1].match is not None and schedule.windows[1].match.topic == "bt-1"


def test_nonsense_is_refused_with_a_sentence() -> None:
    with pytest.raises(BadSchedule, match="two windows have the id"):
        Windows(kill(1, id="a"), kill(2, id="a"))
    with pytest.raises(BadSchedule, match="waits for a fault 'f7'"):
        Windows(kill(1, begin=after("f7")))
    with pytest.raises(BadSchedule, match="not a schedule"):
        Schedule.from_json('{"windows":[{"kind":"kill","tarjet":"1"}]}')
    with pytest.raises(BadSchedule, match="format 9"):
        Schedule.from_json('{"version":9}')
    with pytest.raises(BadSchedule, match=r"there are .*cut, .*delay"):
        kind_of("explode")
    with pytest.raises(BadSchedule, match="ms"):
        fault_of(Window(kind="delay", params={"ms": "long"}))
    with pytest.raises(ValueError, match="exactly one"):
        Trigger(op=1, elapsed_ms=1)
    with pytest.raises(LookupError, match="NO_SUCH"):
        from brokertrial.faults.kinds.error_after import error_after

        error_after("NO_SUCH")


def test_every_kind_can_be_imported_by_cases_and_says_what_it_models() -> None:
    for name, kind in all_kinds().items():
        module = importlib.import_module(kind.__module__)
        assert callable(getattr(module, name))
        assert kind.model and kind.needs and kind.verb
        assert kind.__doc__ and "Leaves" in kind.__doc__, f"{name} does not say what it leaves true"


def test_triggers_come_true() -> None:
    seen = RunProgress(ops=5, now_ms=100, edges={("f1", "begin"): 50})
    assert is_due(at_op(5), "w", seen) and not is_due(at_op(6), "w", seen)
    assert is_due(elapsed(100), "w", seen) and not is_due(elapsed(101), "w", seen)
    assert is_due(after("f1", delay_ms=50), "w", seen) and not is_due(after("f1", delay_ms=51), "w", seen)
    assert not is_due(after("f1", "end"), "w", seen) and not is_due(AT_HEAL, "w", seen)
    third = message(3, api="Produce")
    assert not is_due(third, "w", seen)
    seen.messages.add(("w", third.json()))
    assert is_due(third, "w", seen) and not is_due(third, "other", seen)
    both, either = Trigger(all=(at_op(5), elapsed(200))), Trigger(any=(at_op(9), elapsed(90)))
    assert not is_due(both, "w", seen) and is_due(either, "w", seen)
    assert next_ms(both, seen) == 200
    assert next_ms(Trigger(after=After("f1", delay_ms=70)), seen) == 120
    assert next_ms(after("f2"), seen) is None
    assert list(both.windows()) == [] and list(after("f1").windows()) == ["f1"]
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 22, 113)] == ["1st", "2nd", "3rd", "4th", "11th", "22nd", "113th"]


def test_one_stream_for_each_window() -> None:
    assert seeded_random(1, "f1").random() == seeded_random(1, "f1").random() != seeded_random(1, "f2").random()
    assert seeded_random(1, "f1", "p1", 0).random() != seeded_random(2, "f1", "p1", 0).random()
