"""A death is proven by a refused connection; a connection that ends proves nothing, whoever ended it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.histories.clock import now_ns
from brokertrial.suites.probe.traffic import Traffic
from brokertrial.suites.running import death_watch
from brokertrial.suites.running.death_watch import DeathWatch
from brokertrial.suites.targets.listeners import all_gone, listeners
from brokertrial.wire.ports import free_ports


class Listener:
    """A port on which everything is accepted and nothing said."""

    def __init__(self, port: int = 0) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen()
        self.place: tuple[str, int] = self.socket.getsockname()

    def accept(self) -> socket.socket:
        return self.socket.accept()[0]


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.socket.close()


@pytest.fixture
def watch(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeathWatch]:
    monkeypatch.setattr(death_watch, "LOOKS_S", 0.2)
    made = DeathWatch()
    made.watch([listener.place])
    yield made
    made.stop()


def test_one_that_is_gone_and_back_has_died(listener: Listener, watch: DeathWatch) -> None:
    line, before = listener.accept(), now_ns()
    listener.socket.close()
    line.close()
    assert before < watch.death_ns() < now_ns()
    back = Listener(listener.place[1])
    assert watch.death_ns(), "what is known stays known"
    watch.watch([listener.place])
    assert not watch.death_ns(), "until somebody stands there again"
    watch.stop()
    back.socket.close()


SERVES = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print("serves", flush=True)
kept = []
while True:
    kept.append(s.accept())
"""


def serving(port: int) -> subprocess.Popen[bytes]:
    """A process in a session of its own that accepts connections; another may serve the same port."""
    made = subprocess.Popen([sys.executable, "-c", SERVES, str(port)], stdout=subprocess.PIPE, start_new_session=True)
    assert made.stdout is not None
    made.stdout.readline()
    return made


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who listens")
@pytest.mark.parametrize("known", [True, False])
def test_one_that_another_process_replaced_at_once_has_died(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is ever refused: it is the processes that tell."""
    monkeypatch.setattr(death_watch, "LOOKS_S", 0.2)
    port = free_ports(1)[0]
    first = serving(port)
    watch = DeathWatch((lambda place: listeners(place[1], first.pid)) if known else (lambda place: frozenset()))
    watch.watch([("127.0.0.1", port)])
    second = serving(port)
    try:
        assert listeners(port, first.pid) and not watch.death_ns()
        first.kill()
        first.wait()
        assert bool(watch.death_ns()) is known
        assert bool(watch.cut_ns()) is not known
        assert {number for number, _ in listeners(port, second.pid)} == {second.pid}
    finally:
        watch.stop()
        second.kill()
        second.wait()


def test_nobody_listens_at_a_port_of_others() -> None:
    assert listeners(1, 1) == frozenset()
    assert all_gone(frozenset({(2**22 + 1, "1")}))


def test_one_that_closes_what_is_idle_lives(listener: Listener, watch: DeathWatch) -> None:
    listener.accept().close()
    assert not watch.death_ns()


def test_one_that_stands_has_seen_nothing(watch: DeathWatch) -> None:
    assert not watch.death_ns()


def test_what_we_end_ourselves_is_no_death(listener: Listener, watch: DeathWatch) -> None:
    watch.stop()
    listener.socket.close()
    assert not watch.death_ns()


def test_a_node_that_cannot_be_reached_is_not_watched() -> None:
    nobody = Listener()
    nobody.socket.close()
    watch = DeathWatch()
    watch.watch([nobody.place])
    assert not watch.death_ns()


def test_what_was_sent_and_answered_after_the_death_has_no_part_in_it() -> None:
    """The broker was back and answered others before anybody looked."""
    traffic = Traffic()
    traffic.sent("a", "node 1", b"first", "first", ns=100)
    traffic.answered("a", None, 110)
    traffic.sent("b", "node 1", b"deadly", "deadly", ns=200)
    traffic.closed("b")
    traffic.sent("c", "node 1", b"after", "after", ns=900)
    traffic.answered("c", None, 910)
    assert [sent.name for sent in traffic.under_way(300)] == ["deadly bytes"]


def test_a_frame_of_which_nobody_heard_is_shown_with_the_one_that_was_lost() -> None:
    traffic = Traffic()
    traffic.sent("own", "node 1", b"deadly", "deadly", ns=200)
    traffic.sent("main", "node 1", b"innocent", "innocent", ns=210)
    traffic.closed("main")
    assert [sent.name for sent in traffic.under_way()] == ["deadly bytes", "innocent bytes"]


def test_where_nothing_was_under_way_the_last_that_was_sent_is_shown() -> None:
    traffic = Traffic()
    assert not traffic.under_way() and not traffic.suspects()
    traffic.sent("a", "node 1", b"first", "first", ns=100)
    traffic.answered("a", None, 110)
    assert [sent.name for sent in traffic.under_way(300)] == ["first bytes"] == [s.name for s in traffic.suspects()]
