"""Every fault to bytes bites at a real Toxiproxy server; healed, all passes again; a stuck server is survived."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from brokertrial.faults.kind import ByteFault
from brokertrial.faults.kinds import all_kinds, fault_of
from brokertrial.faults.kinds.latency import latency
from brokertrial.faults.kinds.limit_bandwidth import limit_bandwidth
from brokertrial.faults.kinds.limit_data import limit_data
from brokertrial.faults.kinds.reset_peer import reset_peer
from brokertrial.faults.kinds.slicer import slicer
from brokertrial.faults.kinds.slow_close import slow_close
from brokertrial.faults.kinds.timeout import timeout
from brokertrial.faults.owners import owner
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy import client
from brokertrial.faults.toxiproxy.node_lines import NodeLines, remove_orphans
from brokertrial.faults.toxiproxy.toxic import Toxic, ToxiproxyFailed
from brokertrial.suites.toxiproxy import program
from brokertrial.suites.toxiproxy.server import ToxiproxyServer
from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies
from brokertrial.suites.toxiproxy.tried import counts_ended_connections


def _missing() -> str:
    try:
        program.server()
    except program.ToxiproxyMissing as problem:
        return str(problem)
    return ""


pytestmark = pytest.mark.skipif(bool(why := _missing()), reason=why or "there is one")
PATIENCE_S = 10.0


class Echo:
    """A node that sends everything back, and says when a client went away."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = self.server.getsockname()[:2]
        self.ends: list[float] = []
        self.stands_still = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one: socket.socket) -> None:
        try:
            while data := one.recv(65_536):
                one.sendall(data)
        except OSError:
            pass
        self.ends.append(time.monotonic())
        one.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: Any) -> Iterator[ToxiproxyServer]:
    with ToxiproxyServer(program.server(), tmp_path_factory.mktemp("toxiproxy")) as running:
        yield running


@pytest.fixture
def echo() -> Iterator[Echo]:
    node = Echo()
    yield node
    node.server.close()


@pytest.fixture
def lines(server: ToxiproxyServer, echo: Echo) -> Iterator[NodeLines]:
    with NodeLines(server.client, {1: echo.address}, {}, server.renew) as made:
        yield made
    assert server.client.proxies() == {}


@pytest.fixture
def during(lines: NodeLines) -> Iterator[Any]:
    """Does what a window says, until the test is over; then nothing of it may be left, and bytes pass."""
    done: list[str] = []

    def begin(window: Window) -> None:
        fault = fault_of(window)
        assert isinstance(fault, ByteFault)
        done.append(f"w{len(done)}")
        lines.apply(done[-1], [1], fault.toxics())

    yield begin
    for window in done:
        assert window in lines.left()
        lines.heal(window)
    assert lines.left() == frozenset()
    with connected(lines) as one:
        assert answer(one, b"healed") == b"healed"


def connected(lines: NodeLines) -> socket.socket:
    (place,) = lines.reach.values()
    host, _, port = place.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def answer(one: socket.socket, text: bytes) -> bytes:
    """What comes back until it is as long as the text, or the connection ends."""
    one.sendall(text)
    return all_of(one, len(text))


def all_of(one: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size and (data := one.recv(65_536)):
        got += data
    return got


def test_without_a_toxic_all_passes(lines: NodeLines) -> None:
    with connected(lines) as one:
        assert answer(one, bytes(100_000)) == bytes(100_000)


def test_a_long_line_delays_what_is_open_and_what_is_new(lines: NodeLines, during: Any) -> None:
    with connected(lines) as old:
        assert answer(old, b"x") == b"x"
        during(latency(1, 150, direction="both"))
        with connected(lines) as new:
            for one in (old, new):
                began = time.monotonic()
                assert answer(one, b"x") == b"x" and time.monotonic() - began > 0.28


def test_a_narrow_line_takes_its_time(lines: NodeLines, during: Any) -> None:
    during(limit_bandwidth(1, kbit_per_s=800))
    with connected(lines) as one:
        began = time.monotonic()
        assert answer(one, bytes(50_000)) == bytes(50_000) and time.monotonic() - began > 0.4


def test_slices_are_small_and_all_arrive(lines: NodeLines, during: Any) -> None:
    during(slicer(1, size=20, delay_us=20_000, direction="answers"))
    with connected(lines) as one:
        text = bytes(range(200))
        one.sendall(text)
        first = one.recv(65_536)
        assert 0 < len(first) <= 100 and first + all_of(one, len(text) - len(first)) == text


def test_a_connection_ends_after_so_many_bytes(lines: NodeLines, during: Any) -> None:
    before = lines.ended_bytes([1])
    during(limit_data(1, size=1_000))
    with connected(lines) as one:
        assert len(answer(one, bytes(5_000))) <= 1_000 and one.recv(10) == b""
    assert counted_more(lines, before)


def test_an_end_is_heard_late(lines: NodeLines, during: Any, echo: Echo) -> None:
    during(slow_close(1, 400))
    with connected(lines) as one:
        assert answer(one, b"x") == b"x"
        ended = time.monotonic()
    wait_for(lambda: bool(echo.ends))
    assert echo.ends[0] - ended > 0.35


def test_a_new_connection_is_reset_once_bytes_flow(lines: NodeLines, during: Any) -> None:
    before = lines.ended_bytes([1])
    during(reset_peer(1, 0))
    with connected(lines) as one, pytest.raises(ConnectionResetError):
        while answer(one, b"x"):
            pass
    assert counted_more(lines, before)


def test_what_is_swallowed_is_never_heard_of(lines: NodeLines, during: Any) -> None:
    during(timeout(1, direction="answers"))
    with connected(lines) as one:
        one.settimeout(0.3)
        with pytest.raises(TimeoutError):
            answer(one, b"x")


def test_idle_connections_end(lines: NodeLines, during: Any) -> None:
    during(timeout(1, 100, direction="both"))
    with connected(lines) as one:
        assert answer(one, b"x") == b""


def test_every_fault_to_bytes_has_its_proof() -> None:
    text = Path(__file__).read_text()
    for name, kind in all_kinds().items():
        if issubclass(kind, ByteFault):
            assert f"during({name}(" in text, name


def test_what_is_not_read_back_did_not_happen(lines: NodeLines) -> None:
    with pytest.raises(ToxiproxyFailed, match="latency was set on"):
        lines.apply("w", [1], [Toxic("latency", "upstream", {"latencyy": 300})])
    lines.heal("w")
    with pytest.raises(ToxiproxyFailed, match="invalid toxic type"):
        lines.apply("w", [1], [Toxic("latenzy", "upstream")])
    with pytest.raises(ToxiproxyFailed, match="proxy not found"):
        lines.server.add("nobody", {"w": Toxic("latency", "upstream", {"latency": 1})})


def test_a_port_that_somebody_took_is_no_success(server: ToxiproxyServer, echo: Echo) -> None:
    with ExitStack() as later:
        lines = later.enter_context(NodeLines(server.client, {1: echo.address}, {}))
        (name,) = server.client.proxies()
        host, _, port = next(iter(lines.reach.values())).rpartition(":")
        server.client.remove(name)
        taken = later.enter_context(socket.socket())
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, int(port)))
        taken.listen()
        with pytest.raises(ToxiproxyFailed, match="make a proxy"):
            lines.make()


@pytest.mark.parametrize("fault", [limit_bandwidth(1, 800), latency(1, 15_000, direction="both")], ids=lambda w: w.kind)
def test_a_reader_that_stands_still_does_not_block_the_heal(lines: NodeLines, fault: Window) -> None:
    """Deleted in place, these toxics hold the server's lock for seconds, or for good."""
    lines.apply("w", [1], fault_of(fault).toxics())  # type: ignore[union-attr]
    with connected(lines) as one:
        one.setblocking(False)
        try:
            while True:
                one.send(bytes(65_536))  # and nobody reads what comes back
        except BlockingIOError:
            pass
        began = time.monotonic()
        lines.heal("w")
        assert time.monotonic() - began < 10 and lines.renewed == 0


def freeze(server: ToxiproxyServer) -> None:
    """Returns when each of its threads stands still: one that runs when the signal is sent may answer once more."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    tasks = Path(f"/proc/{server.pid}/task")
    wait_for(lambda: all(one.read_text().rpartition(")")[2].split()[0] == "T" for one in tasks.glob("*/stat")))


def test_a_server_that_is_stuck_is_said_in_time_and_started_anew(
    server: ToxiproxyServer, lines: NodeLines, monkeypatch: Any
) -> None:
    monkeypatch.setattr(client, "CALL_WITHIN_S", 0.5)
    lines.apply("w", [1], [Toxic("latency", "downstream", {"latency": 300})])
    lines.apply("stays", [1], [Toxic("latency", "downstream", {"latency": 200})])
    place = lines.reach
    freeze(server)
    with pytest.raises(ToxiproxyFailed, match=r"did not answer within 0.5 s"):
        lines.left()
    with pytest.raises(ToxiproxyFailed, match="did not answer"):
        lines.apply("late", [1], [Toxic("latency", "downstream", {"latency": 100})])
    lines.heal("w")
    assert lines.renewed == 1 and lines.reach == place and lines.left() == {"stays", "late"}
    with connected(lines) as one:
        assert answer(one, b"x") == b"x"
    lines.heal("stays")
    lines.heal("late")


def test_a_stuck_server_of_others_stays_so(server: ToxiproxyServer, echo: Echo, monkeypatch: Any) -> None:
    with NodeLines(server.client, {1: echo.address}, {}) as lines:
        lines.apply("w", [1], [Toxic("latency", "downstream", {"latency": 300})])
        freeze(server)
        monkeypatch.setattr(client, "CALL_WITHIN_S", 0.5)
        try:
            with pytest.raises(ToxiproxyFailed, match="did not answer"):
                lines.heal("w")
        finally:
            assert server.pid is not None
            os.kill(server.pid, signal.SIGCONT)
            monkeypatch.undo()


def test_a_server_that_runs_is_used_and_cleared_of_what_the_dead_left(server: ToxiproxyServer, echo: Echo) -> None:
    assert counts_ended_connections(server.client)
    dead = owner().rsplit("-", 2)[0]
    server.client.create(f"{dead}-999999999-1-node-1", echo.address, ("127.0.0.1", 0))
    elsewhere = "brokertrial-0f0f0f0f-999999999-1-node-1"
    server.client.create(elsewhere, echo.address, ("127.0.0.1", 0))
    server.client.create("theirs", echo.address, ("127.0.0.1", 0))
    found = Toxiproxies.found(server.client.address)
    assert found.capabilities == {"bandwidth", "latency", "toxiproxy"}
    assert set(server.client.proxies()) == {"theirs", elsewhere} and remove_orphans(server.client) == []
    server.client.remove("theirs")
    server.client.remove(elsewhere)


def test_nothing_is_left_of_a_harness_that_was_killed(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from brokertrial.suites.toxiproxy import program\n"
        "from brokertrial.suites.toxiproxy.server import ToxiproxyServer\n"
        "server = ToxiproxyServer(program.server(), Path(sys.argv[1])); server.start()\n"
        "print(server.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code, str(tmp_path)], capture_output=True, text=True)
    left = Path(f"/proc/{int(done.stdout)}/stat")
    wait_for(lambda: not left.exists() or left.read_text().rpartition(")")[2].split()[0] == "Z")


def counted_more(lines: NodeLines, before: int) -> bool:
    wait_for(lambda: lines.ended_bytes([1]) > before)
    return True


def wait_for(what: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)
