"""A stored case is judged again from its tape: the same verdict, and nothing else is accepted."""

import os

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.case import Case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.exchanger import ConnectRefused
from brokertrial.suites.probe.failures import TranscriptMismatch
from brokertrial.suites.probe.replay import ReplayExchanger
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.transcript import TranscriptWriter, read_transcript
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.running.rejudge import judge_stored, measured_nodes
from tests.suites.scripted import SCENE, TOPIC, ScriptedExchanger, produced, wire_to


def a_case(function):
    function.__doc__ = function.__doc__ or "Something MUST hold."
    return Case("tests/case", function, ("prod-001",), (), {}, {}, False, None)


def run(function, **handlers):
    wire, exchanger = wire_to(**handlers)
    return attempt(a_case(function), wire, exchanger, {}, lambda: True), exchanger.tape


def play(function, tape):
    exchanger = ReplayExchanger(tape)
    return attempt(a_case(function), Wire(exchanger, SCENE, [("", 0)]), exchanger, {}, lambda: True), exchanger


def two_sends(wire):
    wire.produce(TOPIC, batch("a", timestamp=wire.now_ms())).must_be_at(4)
    wire.produce(TOPIC, batch("b")).must_be_at(5)


def test_the_same_verdict_and_the_same_proof():
    live, tape = run(two_sends, Produce=produced(offset=4))
    assert live.verdict is Verdict.FAIL
    again, exchanger = play(two_sends, tape)
    assert again == live
    assert exchanger.left == 0


def test_silence_is_played_back_too():
    live, tape = run(two_sends, Produce=lambda asked: None)
    assert (live.verdict, live.reason.kind) == (Verdict.FAIL, "no-answer")
    again, _ = play(two_sends, tape)
    assert again == live


def test_a_case_that_asks_something_else_is_stopped():
    _, tape = run(two_sends, Produce=produced(offset=4))

    def other(wire):
        wire.produce(TOPIC, batch("c")).must_be_at(4)

    with pytest.raises(TranscriptMismatch):
        play(other, tape)


def test_a_changed_answer_changes_the_verdict_or_is_refused():
    def one_send(wire):
        wire.produce(TOPIC, batch("a")).must_be_at(4)

    live, tape = run(one_send, Produce=produced(offset=4))
    assert live.verdict is Verdict.PASS
    answers = [entry for entry in tape if entry.kind == "answer" and entry.api == "Produce"]
    answers[0].data = answers[0].data.replace((4).to_bytes(8, "big"), (5).to_bytes(8, "big"))
    again, _ = play(one_send, tape)
    assert again.verdict is Verdict.FAIL


def test_what_was_left_unplayed_is_counted():
    _, tape = run(two_sends, Produce=produced(offset=4))
    exchanger = ReplayExchanger(tape)

    assert exchanger.left == len([entry for entry in tape if entry.kind != "close"])


def test_the_tape_survives_the_disk(tmp_path):
    with Recorder.create(tmp_path / "h", Header(case="tests/case", target="scripted")) as recorder:
        writer = TranscriptWriter(recorder)
        wire, exchanger = wire_to(Produce=lambda asked: None if asked.acks == 0 else produced(offset=4)(asked))
        exchanger.tape = Forwarding(writer)  # type: ignore[assignment]

        def case(wire):
            wire.produce(TOPIC, batch("lost"), acks=0)
            two_sends(wire)

        live = attempt(a_case(case), wire, exchanger, {}, lambda: True)
        writer.close()
        written = list(exchanger.tape)
    read = read_transcript(History.open(tmp_path / "h"))
    assert [(e.kind, e.connection, e.data, e.text, e.ns) for e in read] == [
        (e.kind, e.connection, e.data, e.text, e.ns) for e in written
    ]
    again, _ = play(case, read)
    assert again == live


class Forwarding(list):
    """Keeps the entries and writes them."""

    def __init__(self, writer):
        super().__init__()
        self.writer = writer

    def append(self, entry):
        super().append(entry)
        self.writer(entry)


def test_the_double_is_an_exchanger():
    assert ScriptedExchanger().clock()[1] > 0


def test_a_stored_case_knows_how_many_addresses_it_had(tmp_path, monkeypatch):
    """Where the first address refuses, the next one is asked: on the tape as live."""
    exchanger = RefusedOnce(Produce=produced(offset=4))
    case = a_case(two_sends)
    live = attempt(case, Wire(exchanger, SCENE, [("gone", 9), ("h", 9)]), exchanger, {}, lambda: True)
    assert "refused" in [entry.kind for entry in exchanger.tape] and live.verdict is Verdict.FAIL

    settings = {"scene": msgspec.to_builtins(SCENE), "content": case.content_hash, "addresses": 2}
    with Recorder.create(tmp_path / "h", Header(case=case.id, target="scripted", settings=settings)) as recorder:
        writer = TranscriptWriter(recorder)
        for entry in exchanger.tape:
            writer(entry)
        writer.close()
    monkeypatch.setattr("brokertrial.suites.running.rejudge.case_named", {case.id: case}.get)
    again = judge_stored(tmp_path / "h")
    assert (again.verdict, again.reason) == (live.verdict, live.reason)


class RefusedOnce(ScriptedExchanger):
    """Takes no connection at the first address."""

    def open(self, connection, node, address, timeout_s):
        if address == ("gone", 9):
            self._note("refused", connection, text="refused")
            raise ConnectRefused("refused")
        super().open(connection, node, address, timeout_s)


class Process:
    """A node that is a process of ours: this one, whose memory can be read."""

    pid = os.getpid()


def test_what_a_node_held_is_played_back(tmp_path):
    """Only a target that we started has nodes to measure; `check` has none, and has the figures on the tape."""

    def case(wire, nodes):
        before = nodes.memory()
        wire.produce(TOPIC, batch("a")).must_be_at(4)
        nodes.must_stay_small(before, within_mib=1 << 20, because="one record")

    def measured(exchanger, nodes):
        return attempt(a_case(case), Wire(exchanger, SCENE, [("", 0)]), exchanger, nodes, lambda: True)

    wire, exchanger = wire_to(Produce=produced(offset=4))
    assert attempt(a_case(case), wire, exchanger, {1: Process()}, lambda: True).verdict is Verdict.PASS
    tape = exchanger.tape
    assert next(entry.connection for entry in tape if entry.kind == "action") == "memory 1"
    played = ReplayExchanger(tape)
    assert measured(played, measured_nodes(tape)).verdict is Verdict.PASS and played.left == 0
    with pytest.raises(TranscriptMismatch):  # the near miss: nobody says which nodes there were
        measured(ReplayExchanger(tape), {})
