"""A call of the client library that never returns is given up in time, and what it had under way is recorded."""

import threading
import time

import pytest

from brokertrial.suites.workloads.bounded import Hung, bounded
from brokertrial.suites.workloads.transactional_session import TransactionalSession


def test_a_call_that_returns_is_as_if_it_were_called_here():
    assert bounded(lambda: 3, 5) == 3
    assert bounded(lambda: None, 5) is None
    with pytest.raises(ValueError, match="oops"):
        bounded(lambda: int("oops"), 5)


def test_a_call_that_never_returns_is_given_up():
    forever, began = threading.Event(), time.monotonic()
    with pytest.raises(Hung, match=r"did not return within 0\.2 s"):
        bounded(forever.wait, 0.2)
    assert time.monotonic() - began < 5
    forever.set()


class Recorder:
    def event(self, *_, **__):
        """Nobody reads it."""


class Stage:
    def __init__(self):
        self.told = []
        self.recorder = Recorder()
        self.hung = self.told.append


class Writer:
    given_up = False

    def abandon(self):
        self.given_up = True


def test_a_session_whose_call_never_returns_is_over_and_its_writer_given_up(monkeypatch):
    monkeypatch.setattr("brokertrial.suites.workloads.transactional_session.CALL_S", 0.1)
    monkeypatch.setattr("brokertrial.suites.workloads.transactional_session.PATIENCE_S", 0.1)
    session, forever = object.__new__(TransactionalSession), threading.Event()
    session.context, session.writer, session.client = Stage(), Writer(), "producer-1"
    session.over = session.hung = False
    assert session.retried("send_offsets", lambda seconds: forever.wait()) == "error"
    assert (session.over, session.hung, session.writer.given_up) == (True, True, True)
    assert session.context.told == ["client producer-1, send_offsets: the client library did not return within 0.2 s"]
    session.close()
    forever.set()
