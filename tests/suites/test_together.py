"""What is sent together leaves together, and a wait inside never waits for what was held back."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from brokertrial.suites.probe.exchanger import LiveExchanger, ReadTimeout, TranscriptEntry

FRAME = b"\0\0\0\2hi"
AT_ONCE_S, PATIENCE_S = 0.05, 10.0


@pytest.fixture
def tape() -> list[TranscriptEntry]:
    return []


@pytest.fixture
def served(tape: list[TranscriptEntry]) -> Iterator[tuple[LiveExchanger, dict[str, socket.socket]]]:
    """An exchanger with connections "a" and "b", and the other ends of them."""
    exchanger = LiveExchanger(tape.append)
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        ends = {}
        for name in "ab":
            exchanger.open(name, 1, listening.getsockname(), PATIENCE_S)
            ends[name], _ = listening.accept()
        yield exchanger, ends
    exchanger.close_all()
    for end in ends.values():
        end.close()


def arrived(end: socket.socket, within_s: float) -> bytes:
    end.settimeout(within_s)
    try:
        return end.recv(100)
    except TimeoutError:
        return b""


def test_nothing_leaves_before_the_end(served, tape):
    exchanger, ends = served
    with exchanger.together():
        for name in "ab":
            exchanger.send(name, FRAME)
        assert not arrived(ends["a"], AT_ONCE_S)
    assert [arrived(ends[name], PATIENCE_S) for name in "ab"] == [FRAME, FRAME]
    assert [entry.connection for entry in tape if entry.kind == "request"] == ["a", "b"]


def test_afterwards_each_leaves_at_once(served):
    exchanger, ends = served
    with exchanger.together():
        pass
    exchanger.send("a", FRAME)
    assert arrived(ends["a"], PATIENCE_S) == FRAME


def test_who_waits_inside_has_sent_what_was_held(served):
    exchanger, ends = served
    with exchanger.together():
        exchanger.send("a", FRAME)
        with pytest.raises(ReadTimeout):
            exchanger.receive("b", AT_ONCE_S)
        assert arrived(ends["a"], PATIENCE_S) == FRAME
        exchanger.send("b", FRAME)
        assert not arrived(ends["b"], AT_ONCE_S)
    assert arrived(ends["b"], PATIENCE_S) == FRAME


def test_what_was_held_leaves_also_when_the_case_ends_inside(served):
    exchanger, ends = served
    with pytest.raises(ZeroDivisionError), exchanger.together():
        exchanger.send("a", FRAME)
        raise ZeroDivisionError
    assert arrived(ends["a"], PATIENCE_S) == FRAME
