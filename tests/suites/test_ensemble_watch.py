"""What watches notice comes to the tape in the order in which the case took note of it, and is played from there."""

from __future__ import annotations

import threading

import pytest

from brokertrial.faults.zookeeper_control import ZooKeeperControl
from brokertrial.suites.probe.acts import came_of
from brokertrial.suites.probe.ensemble_members import frozen, servers
from brokertrial.suites.probe.ensemble_watch import EnsembleWatch, Watches, watched
from brokertrial.suites.probe.exchanger import ConnectRefused, LiveExchanger, TranscriptEntry
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.further_broker import ApartExchanger
from brokertrial.suites.probe.replay import ReplayExchanger
from brokertrial.suites.probe.znode import Znode
from brokertrial.suites.probe.zookeeper import ZooKeeper, ZooKeeperReader

GONE, AGAIN = Znode("node:/controller", False), Znode("node:/controller", True, "{}", 0, 9, 9, 5)
NAMES = Znode("children:/brokers/ids", True, children=("1", "2"))


class Server:
    """A server that can only be paused, or cannot."""

    def __init__(self, broken: bool = False) -> None:
        self.acts: list[str] = []
        self._broken = broken

    def pause(self) -> None:
        if self._broken:
            raise ProcessLookupError("it does not run")
        self.acts.append("pause")

    def resume(self) -> None:
        self.acts.append("resume")


def asked(watch: EnsembleWatch, notice) -> list[object]:
    """What a case would ask for, with news in between."""
    notice(AGAIN)
    first = [seen.czxid for seen in watch.of("/controller")]
    notice(GONE, NAMES)
    return [first, [seen.exists for seen in watch.of("/controller")], watch.children("/brokers/ids"), watch.of("/x")]


def test_the_same_is_noticed_when_the_tape_is_played() -> None:
    tape: list[TranscriptEntry] = []
    watches = Watches([], [])
    live = EnsembleWatch(ZooKeeper(LiveExchanger(tape.append), ZooKeeperReader(None)), watches)

    def notice(*news: Znode) -> None:
        thread = threading.Thread(target=lambda: [watches._notice(seen) for seen in news])
        thread.start()
        thread.join()

    expected = [[9], [True, False], [("1", "2")], []]
    assert asked(live, notice) == expected
    assert [entry.connection for entry in tape if entry.kind == "znode"] == [AGAIN.path, GONE.path, NAMES.path]
    played = ReplayExchanger(tape)
    assert asked(EnsembleWatch(ZooKeeper(played, ZooKeeperReader(None)), Watches([], [])), lambda *_: None) == expected
    assert played.left == 0


def test_the_end_of_the_session_is_no_news() -> None:
    watches = Watches([], [])
    watches.end()
    watches._notice(GONE)
    assert watches.take() == []


def test_an_ensemble_that_cannot_be_watched_makes_the_case_unclear() -> None:
    zookeeper = ZooKeeper(LiveExchanger(lambda entry: None), ZooKeeperReader(None))
    with (
        pytest.raises(Unclear, match="could not be watched: Unclear: the target has no ZooKeeper"),
        watched(zookeeper, []),
    ):
        raise AssertionError("it is watched")


def test_a_server_goes_on_whatever_comes_of_the_case() -> None:
    server, broken = Server(), Server(broken=True)
    control = ZooKeeperControl("127.0.0.1:1/kafka", {1: server, 2: broken}, lambda node_id, chroot: None)
    zookeeper = ZooKeeper(LiveExchanger(lambda entry: None), ZooKeeperReader(control))
    assert servers(zookeeper) == [1, 2] and control.root == "127.0.0.1:1"
    with pytest.raises(KeyboardInterrupt), frozen(zookeeper, 1):
        raise KeyboardInterrupt
    assert server.acts == ["pause", "resume"]
    with (
        pytest.raises(Unclear, match="2 could not be paused: ProcessLookupError: it does not run"),
        frozen(zookeeper, 2),
    ):
        raise AssertionError("it is paused")


def test_two_probes_on_one_tape_have_connections_of_their_own() -> None:
    tape: list[TranscriptEntry] = []
    live = LiveExchanger(tape.append)
    apart = ApartExchanger(live)
    assert apart.act("x", lambda: "done") == "done" and apart.observe("/y", lambda: "{}") == "{}"
    with pytest.raises(ConnectRefused, match=r"127\.0\.0\.1:1"):
        apart.open("main", 1, ("127.0.0.1", 1), 0.2)
    assert [entry.connection for entry in tape] == ["x", "/y", "further:main"]


def test_what_came_of_an_act_is_one_line() -> None:
    def fails() -> None:
        raise ValueError("first\nsecond")

    assert [came_of(lambda: None), came_of(lambda: "said"), came_of(fails)] == ["", "said", "ValueError: first"]
