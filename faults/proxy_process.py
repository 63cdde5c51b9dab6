"""The harness's handle on the proxy: starts its process, tells it what to disturb, receives what it saw, ends it."""

import itertools
import logging
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from brokertrial.faults.channel import ControlReport, ControlRequest, Setup, Unpacker, pack
from brokertrial.faults.discovery import discover
from brokertrial.faults.proxy_bypass import Bypass, BypassDetector
from brokertrial.faults.schedule import Window
from brokertrial.faults.triggers import Trigger
from brokertrial.histories.rows import TABLES, Row

LOG = logging.getLogger("brokertrial.faults")
START_SECONDS = 60.0
"""On a machine that is busy with other things; a proxy that ends is noticed at once."""
ASK_SECONDS = 10.0
END_SECONDS = 5.0
_HOME = Path(__file__).absolute().parents[2]
# Made by one thread, as in faults/proxy_bypass.py: rows are decoded by whichever thread drains.
_TELL = msgspec.msgpack.Decoder(ControlReport)
_ROWS = {table: msgspec.msgpack.Decoder(kind) for table, kind in TABLES.items()}


class ProxyFailed(RuntimeError):
    """The proxy process did not start, refused, or is gone: ours, never the broker's fault."""


class FaultProxy:
    """The links between clients and nodes. A context manager; when this process dies, however it dies, the proxy ends
    with it."""

    def __init__(
        self, process: subprocess.Popen[bytes], channel: socket.socket, log: Any, journal: Path | None
    ) -> None:
        """Use `FaultProxy.start`."""
        self.journal = journal
        self.bootstrap = ""
        self._process = process
        self._channel = channel
        self._log = log
        self._send_lock = threading.Lock()
        self._ids = itertools.count(1)
        self._answers: dict[int, queue.SimpleQueue[ControlReport]] = {0: queue.SimpleQueue()}
        self._rows: deque[tuple[str, msgspec.Raw]] = deque()
        self._gone = threading.Event()
        self._leaks = BypassDetector()
        self.on_edge: Callable[[str, str, int], None] = lambda window, edge, ns: None
        """Called when a window began, hit first or ended by the proxy's own doing (window, edge, ns)."""
        self.on_reached: Callable[[str, str], None] = lambda window, condition: None
        """Called when a message condition came true."""
        self._reader = threading.Thread(target=self._receive, name="proxy channel", daemon=True)
        self._reader.start()

    @classmethod
    def start(
        cls, bootstrap: Iterable[tuple[str, int]], *, seed: int = 0, journal: Path | None = None, **settings: Any
    ) -> Self:
        """Starts the proxy in front of a cluster. `settings` are those of `faults.channel.Setup`: reach, record,
        leaderless, ports ..."""
        setup = Setup(bootstrap=list(bootstrap), seed=seed, **settings)
        if not setup.nodes:
            setup.nodes = discover(setup.bootstrap, reach=setup.reach)
        ours, theirs = socket.socketpair()
        log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - lives as long as the process
        path = os.pathsep.join(filter(None, (str(_HOME), os.environ.get("PYTHONPATH"))))
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "brokertrial.faults.proxy", "--control", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": path},
            )
        links = cls(process, ours, log, journal)
        try:
            links._send(pack(setup))
            links.bootstrap = links._wait_for(0, START_SECONDS, "start")["bootstrap"]
            LOG.info("proxy serves", extra={"proxy": process.pid, "bootstrap": links.bootstrap, "seed": seed})
        except BaseException:
            links.close()
            raise
        return links

    # --- what it is asked

    def apply(self, window: Window) -> None:
        """Opens a window now."""
        self.ask("begin", window=window.json())

    def arm(self, window: Window) -> None:
        """Opens a window at the message that its begin names; that message can be the first it hits."""
        self.ask("arm", window=window.json())

    def heal(self, window_id: str) -> bool:
        """Ends a window and forgets what waited for it; whether it was open. What it kept goes on its way."""
        self.ask("unwatch", window=window_id)
        return bool(self.ask("end", window=window_id))

    def watch(self, window_id: str, condition: Trigger) -> None:
        """Has `on_reached` called when a message condition comes true."""
        self.ask("watch", window=window_id, condition=condition.json())

    def state(self) -> dict[str, Any]:
        """What is at work in the proxy: `open` windows, messages `waiting` or `parked`, `connections`, `nodes`."""
        state: dict[str, Any] = self.ask("state")
        return state

    def hits(self, window_id: str | None = None) -> Any:
        """How often a window has bitten, or all of them by id."""
        hits: dict[str, int] = self.ask("hits")
        return hits if window_id is None else hits.get(window_id, 0)

    def forget_hits(self) -> None:
        """Forgets the counts of windows that are over: the next schedule may use their ids again."""
        self.ask("forget")

    def loop_lag_ms(self) -> float:
        """The worst delay of the proxy's event loop since this was last asked; above 50 ms no verdict on timing is
        possible."""
        return float(self.ask("lag")["worst"])

    def lag(self) -> dict[str, float]:
        """`worst` since last asked, `p50` and `p99` of the last minute, in ms."""
        lag: dict[str, float] = self.ask("lag")
        return lag

    def resolve(self, selector: str) -> list[int] | None:
        """The nodes that `leader(t,0)`, `followers(t,0)`, `controller` ... names now, if answers have shown them."""
        nodes: list[int] | None = self.ask("resolve", selector=selector)
        return nodes

    def nodes(self) -> list[int]:
        """Every node id that is known."""
        return sorted(self.ask("nodes"))

    def node_address(self, node_id: int) -> str:
        """`host:port` where clients reach a node through the proxy; LookupError when it is not known."""
        ports = self.ask("ports")["nodes"]
        if node_id not in ports:
            raise LookupError(
                f"node {node_id} is unknown to the proxy (known: {', '.join(map(str, sorted(ports))) or 'none'})."
            )
        return f"127.0.0.1:{ports[node_id]}"

    def ports(self) -> dict[int, int]:
        """Node id -> port, for a later proxy of the same run."""
        ports: dict[int, int] = self.ask("ports")["nodes"]
        return ports

    def requests(self) -> dict[tuple[int, str], int]:
        """How many requests the proxy saw, by node and client id."""
        return {(node, client): count for node, client, count in self.ask("requests")}

    # --- leaks

    def saw_client_address(self, client: str, address: str, requests: int = 1) -> None:
        """Reports an address (`host:port`) that a client sent requests to, by the client's own account."""
        self._leaks.saw(client, address, requests)

    def saw_client_statistics(self, client: str, statistics: str) -> None:
        """The same, from the statistics text that librdkafka hands out."""
        self._leaks.saw_librdkafka(client, statistics)

    def leaks(self) -> list[Bypass]:
        """Clients that reached a broker past the proxy: an error of the run, whatever else came out."""
        ports = self.ask("ports")
        own = {f"127.0.0.1:{port}" for port in (*ports["nodes"].values(), *ports["bootstrap"])}
        return self._leaks.leaks(own)

    # --- what it saw

    def drain(self, callback: Callable[[Row], object]) -> int:
        """Hands over every row seen since the last time, oldest first; how many."""
        done = 0
        while True:
            try:
                table, row = self._rows.popleft()
            except IndexError:
                return done
            callback(_ROWS[table].decode(row))
            done += 1

    def flush(self, *, last: bool = False) -> None:
        """Returns when everything that the proxy has seen until now can be drained. `last`: the case is over, so what
        group members still own is told too."""
        self.ask("last" if last else "state")

    # --- life

    def alive(self) -> bool:
        """Whether the proxy serves."""
        return not self._gone.is_set()

    def close(self) -> None:
        """Ends the proxy and waits until it is gone. Harmless when it is gone already; what it saw can still be
        drained."""
        try:
            self._channel.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        LOG.info("proxy ended", extra={"proxy": self._process.pid, "status": self._process.returncode})
        self._reader.join(END_SECONDS)
        self._channel.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the channel

    def ask(self, what: str, **args: Any) -> Any:
        """Asks the proxy and waits; ValueError when it refuses, ProxyFailed when it cannot be reached."""
        number = next(self._ids)
        LOG.debug("proxy is asked", extra={"what": what, "ask": number, **args})
        self._answers[number] = queue.SimpleQueue()
        self._send(pack(ControlRequest(number, what, args)))
        return self._wait_for(number, ASK_SECONDS, what)

    def _wait_for(self, number: int, seconds: float, what: str) -> Any:
        try:
            tell = self._answers[number].get(timeout=seconds)
        except queue.Empty:
            raise ProxyFailed(f"the proxy did not answer {what!r} within {seconds:g} s.{self._last_words()}") from None
        finally:
            self._answers.pop(number, None)
        if self._gone.is_set() and tell.id is None:
            raise ProxyFailed(f"the proxy ended while it was asked to {what}.{self._last_words()}")
        if tell.error is not None:
            raise ProxyFailed(tell.error) if number == 0 else ValueError(tell.error)
        return tell.result

    def _send(self, data: bytes) -> None:
        if self._gone.is_set():
            raise ProxyFailed(f"the proxy is gone.{self._last_words()}")
        try:
            with self._send_lock:
                self._channel.sendall(data)
        except OSError as problem:
            raise ProxyFailed(f"the proxy is gone ({problem.strerror}).{self._last_words()}") from problem

    def _receive(self) -> None:
        unpacker = Unpacker()
        try:
            while data := self._channel.recv(1 << 18):
                for body in unpacker.feed(data):
                    self._take(_TELL.decode(body))
        except OSError:
            pass
        self._gone.set()
        for waiting in list(self._answers.values()):
            waiting.put(ControlReport())

    def _take(self, tell: ControlReport) -> None:
        self._rows.extend(tell.rows)
        for edge in tell.edges:
            self.on_edge(*edge)
        for reached in tell.reached:
            self.on_reached(*reached)
        if tell.id is not None and (waiting := self._answers.get(tell.id)) is not None:
            waiting.put(tell)

    def _last_words(self) -> str:
        try:
            self._log.seek(0)
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        except (OSError, ValueError):
            return ""
        return f" Last output: {lines[-1]}" if lines else ""
