"""Carries out a schedule: opens its windows when their time comes, and heals all of them, whatever happens."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from brokertrial.faults.chosen_nodes import ChosenNodes
from brokertrial.faults.clock import OperationTicks
from brokertrial.faults.journal import FaultJournal
from brokertrial.faults.kind import ByteFault, NetworkFault, ProcessFault
from brokertrial.faults.kinds import fault_of, schedule_text, window_text
from brokertrial.faults.network_faults import NetworkFaults
from brokertrial.faults.packets import NetworkControl, NetworkFailed
from brokertrial.faults.process_faults import ProcessFaults
from brokertrial.faults.proxy_process import FaultProxy, ProxyFailed
from brokertrial.faults.schedule import Schedule, Window
from brokertrial.faults.toxic_faults import ToxicFaults
from brokertrial.faults.triggers import Edge, RunProgress, Trigger, is_due, next_ms
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Row

if TYPE_CHECKING:
    from brokertrial.faults.toxiproxy.node_lines import NodeLines

LOG = logging.getLogger("brokertrial.faults")
POLL_SECONDS = 0.05
HEAL_SECONDS = 30.0


class HistoryWriter(Protocol):
    """What a recorder is to a schedule."""

    def add(self, row: Row) -> None: ...
    def event(self, kind: str, **fields: Any) -> None: ...


@contextmanager
def applied(
    schedule: Schedule,
    links: FaultProxy,
    node_controls: Mapping[int, Any],
    history: HistoryWriter,
    clients_clock: OperationTicks,
    *,
    heal_within_s: float = HEAL_SECONDS,
    network: NetworkControl | None = None,
    lines: NodeLines | None = None,
) -> Iterator[Applied]:
    """Runs a schedule while the block runs; leaving it heals everything in reverse order and reads back that it did.

    The object that it gives tells `hits` by window, what is `active`, and after the block what is `unhealed`, with
    the reason. `network` is that of the nodes, where they have one of their own; `lines` lead through Toxiproxy.
    """
    faults = Applied(schedule, links, node_controls, history, clients_clock, network, lines)
    try:
        faults.start()
        yield faults
    finally:
        faults.stop_and_heal(heal_within_s)


class Applied:
    """A schedule at work. One thread waits for conditions and acts; the proxy acts by itself where a message is the
    condition."""

    def __init__(
        self,
        schedule: Schedule,
        links: FaultProxy,
        node_controls: Mapping[int, Any],
        history: HistoryWriter,
        clock: OperationTicks,
        network: NetworkControl | None = None,
        lines: NodeLines | None = None,
    ) -> None:
        self.schedule = schedule
        self.unhealed: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        """Windows that could not be opened, and why: then the run proves nothing."""
        self._links = links
        self._history = history
        self._clock = clock
        self._journal = FaultJournal(links.journal) if links.journal is not None else None
        chosen = ChosenNodes(node_controls, links, schedule.seed)
        self._nodes = ProcessFaults(node_controls, chosen, self._journal)
        self._network = NetworkFaults(network, chosen)
        self._lines = lines
        self._toxics = ToxicFaults(lines, links, schedule.seed) if lines is not None else None
        self._progress = RunProgress()
        self._began: list[Window] = []
        self._open: dict[str, Window] = {}
        self._over: set[str] = set()
        self._hits: dict[str, int] = {window.id: 0 for window in schedule}
        self._wake = threading.Condition()
        self._stopping = False
        self._closed = False
        self._started_ns = now_ns()
        self._thread = threading.Thread(target=self._run, name="fault schedule", daemon=True)

    @property
    def hits(self) -> dict[str, int]:
        """How often each window has bitten so far."""
        if self._links.alive() and not self._closed:
            seen: dict[str, int] = self._links.hits()
            self._hits.update({name: count for name, count in seen.items() if name in self._hits})
        return dict(self._hits)

    @property
    def active(self) -> list[str]:
        """The windows that are open now, for people."""
        with self._wake:
            return [window_text(window) for window in self._open.values()]

    @property
    def holds_a_node(self) -> bool:
        """Whether a window is open that keeps a node from its work."""
        with self._wake:
            return any(self._ours(window) is not None for window in self._open.values())

    @property
    def finished(self) -> bool:
        """Whether every window has come and gone (those that last until the heal: has come)."""
        with self._wake:
            return all(w.id in self._over or (w.id in self._open and w.end.heal) for w in self.schedule)

    def start(self) -> None:
        """Arms what the proxy decides by itself and starts to wait."""
        self._links.forget_hits()
        self._links.on_edge, self._links.on_reached = self._on_edge, self._on_reached
        for window in self.schedule:
            if window.begin.msg is not None and self._ours(window) is None:
                self._links.arm(window)
            else:
                self._watch(window, window.begin)
        self._history.event("schedule", text=schedule_text(self.schedule))
        self._thread.start()

    def stop_and_heal(self, within_s: float) -> None:
        """Ends every window in reverse order, then reads the state back: nothing open, nothing kept, every node alive
        and moving."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        self._clock.on_tick(lambda: None, None)
        if self._thread.ident is not None:
            self._thread.join(within_s)
        for window in reversed(self.schedule.windows):
            self._heal(window)
        for ours in (self._nodes, self._network, self._toxics):
            self.unhealed |= ours.unhealed(self._began) if ours is not None else {}
        self._count_what_they_met()
        if self._lines is not None and self._lines.renewed:
            self._history.event("toxiproxy-restarted", times=self._lines.renewed)
        if self._links.alive():
            self.hits  # noqa: B018 - the last count
            self.unhealed |= self._still_open()
            self._closed = True
        self._links.on_edge, self._links.on_reached = lambda *_: None, lambda *_: None
        self._drain()
        for window in self._began:
            if window.id not in self.unhealed:
                self._tell("window-healed", window, hits=self._hits[window.id])
        if self._journal is not None:
            self._journal.close()

    # --- the waiting thread

    def _run(self) -> None:
        while True:
            self._come_and_go()
            with self._wake:
                if self._stopping:
                    return
                self._progress.ops = self._clock.operations()
                self._progress.now_ms = self._now_ms()
                due = self._due()
                if not due:
                    self._wait()
                    continue
            for window, edge in due:
                if not self._stopping:
                    self._act(window, edge)
            self._drain()

    def _ours(self, window: Window) -> ProcessFaults | NetworkFaults | ToxicFaults | None:
        """Who does it, where that is not the proxy: of faults to bytes Toxiproxy, or the kernel where there is none."""
        fault = fault_of(window)
        if isinstance(fault, ProcessFault):
            return self._nodes
        if isinstance(fault, ByteFault) and self._toxics is not None:
            return self._toxics
        return self._network if isinstance(fault, NetworkFault) else None

    def _come_and_go(self) -> None:
        for window in list(self._open.values()):
            if self._ours(window) is self._network and not self._stopping:
                try:
                    self._network.tick(window)
                except NetworkFailed as problem:
                    self._fail(window, problem)
        self._count_what_they_met()

    def _count_what_they_met(self) -> None:
        """A rule bites when it meets its first packet, a toxic with its first request or the first connection's end."""
        for window in self.schedule:
            ours = self._ours(window)
            if not isinstance(ours, NetworkFaults | ToxicFaults):
                continue
            count = ours.hits_of(window)
            if count and not self._hits[window.id]:
                self._edge(window.id, "hit", now_ns())
                self._tell("hit", window, **_who(ours.nodes_of(window)), decision=window.kind, n=1)
            self._hits[window.id] = max(self._hits[window.id], count)

    def _due(self) -> list[tuple[Window, Edge]]:
        found: list[tuple[Window, Edge]] = []
        for window in self.schedule:
            if window.id in self._open:
                if is_due(window.end, window.id, self._progress):
                    found.append((window, "end"))
            elif window.id not in self._over and is_due(window.begin, window.id, self._progress):
                found.append((window, "begin"))
        return found

    def _wait(self) -> None:
        """Until a call, the clock or the proxy makes something come true."""
        waiting = [w.end if w.id in self._open else w.begin for w in self.schedule if w.id not in self._over]
        ops = [op for trigger in waiting for op in _ops(trigger) if op > self._progress.ops]
        times = [time for trigger in waiting if (time := next_ms(trigger, self._progress)) is not None]
        soonest = min((time for time in times if time > self._progress.now_ms), default=None)
        self._clock.on_tick(self._ticked, min(ops, default=None))
        pause = POLL_SECONDS if soonest is None else min(POLL_SECONDS, (soonest - self._now_ms()) / 1000)
        if self._clock.operations() < min(ops, default=1 << 62):
            self._wake.wait(max(pause, 0.0005))
        self._drain()

    def _ticked(self) -> None:
        """The call that something waited for was invoked. Never blocks the client: the thread looks again by itself
        soon."""
        if self._wake.acquire(blocking=False):
            try:
                self._wake.notify_all()
            finally:
                self._wake.release()

    def _act(self, window: Window, edge: Edge) -> None:
        try:
            if edge == "begin":
                self._begin(window)
            else:
                self._end(window)
        except Exception as problem:  # noqa: BLE001 - a target's own errors too; the others must still be healed
            self._fail(window, problem)

    def _begin(self, window: Window) -> None:
        with self._wake:
            self._open[window.id] = window
            self._began.append(window)
        if (ours := self._ours(window)) is not None:
            nodes = ours.begin(window)
            self._edge(window.id, "begin", now_ns())
            self._tell("window-begin", window, **_who(nodes), text=window_text(window))
            if ours is self._nodes:
                self._hits[window.id] += len(nodes)
                self._edge(window.id, "hit", now_ns())
                for number, node in enumerate(nodes, 1):
                    self._tell("hit", window, node=node, decision=window.kind, n=number)
            self._watch(window, window.end)
        else:
            self._links.apply(window)
            if window.end.msg is None:
                self._watch(window, window.end)

    def _end(self, window: Window) -> None:
        if (ours := self._ours(window)) is not None:
            ours.undo(window)
            self._edge(window.id, "end", now_ns())
            self._tell("window-end", window, **_who(ours.nodes_of(window)))
        else:
            self._links.heal(window.id)
        with self._wake:
            self._open.pop(window.id, None)
            self._over.add(window.id)

    def _fail(self, window: Window, problem: Exception) -> None:
        said = str(problem) or type(problem).__name__
        with self._wake:
            self._open.pop(window.id, None)
            self._over.add(window.id)
            self.failed[window.id] = said
        self._tell("window-failed", window, why=said, traceback=traceback.format_exc())

    def _watch(self, window: Window, trigger: Trigger) -> None:
        for condition in trigger.messages():
            self._links.watch(window.id, condition)

    # --- healing

    def _heal(self, window: Window) -> None:
        try:
            if (ours := self._ours(window)) is not None:
                if ours.undo(window):
                    self._tell("window-end", window, **_who(ours.nodes_of(window)))
            elif self._links.alive():
                self._links.heal(window.id)
        except Exception as problem:  # noqa: BLE001 - as above
            self.unhealed[window.id] = str(problem) or type(problem).__name__
            self._tell("window-unhealed", window, why=self.unhealed[window.id])
        with self._wake:
            if self._open.pop(window.id, None) is not None:
                self._over.add(window.id)

    def _still_open(self) -> dict[str, str]:
        """What the proxy still does or keeps although it should not."""
        try:
            state = self._links.state()
        except ProxyFailed as problem:
            return {window.id: str(problem) for window in self._began if self._ours(window) is None}
        return {name: "the proxy says that it is still open." for name in state["open"] if name in self._hits}

    # --- what the proxy tells (called on the channel's thread)

    def _on_edge(self, window_id: str, edge: str, ns: int) -> None:
        window = next((w for w in self.schedule if w.id == window_id), None)
        if window is None:
            return
        self._edge(window_id, edge, ns)  # type: ignore[arg-type]
        with self._wake:
            if edge == "begin" and window_id not in self._open:
                self._open[window_id] = window
                self._began.append(window)
            elif edge == "end":
                self._open.pop(window_id, None)
                self._over.add(window_id)
            self._wake.notify_all()
        self._drain()
        if edge != "hit":
            self._tell(f"window-{edge}", window, at_ns=ns, **({"text": window_text(window)} if edge == "begin" else {}))

    def _on_reached(self, window_id: str, condition: str) -> None:
        with self._wake:
            self._progress.messages.add((window_id, condition))
            self._wake.notify_all()

    def _edge(self, window_id: str, edge: Edge, ns: int) -> None:
        with self._wake:
            self._progress.edges.setdefault((window_id, edge), (ns - self._started_ns) / 1e6)

    def _tell(self, kind: str, window: Window, **fields: Any) -> None:
        self._history.event(kind, window=window.id, **fields)
        LOG.info(kind, extra={"fault": window.id, **fields})

    def _drain(self) -> None:
        self._links.drain(self._history.add)

    def _now_ms(self) -> float:
        return (now_ns() - self._started_ns) / 1e6


def _who(nodes: tuple[int, ...]) -> dict[str, Any]:
    """The nodes of a window in an event: its column holds one, several are named beside it."""
    return {"node": nodes[0]} if len(nodes) == 1 else {"nodes": list(nodes)} if nodes else {}


def _ops(trigger: Trigger) -> Iterator[int]:
    if trigger.op is not None:
        yield trigger.op
    for part in trigger.any + trigger.all:
        yield from _ops(part)
