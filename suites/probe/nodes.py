"""What a wire case may do to the nodes of the target. Each act is on the tape: `check` repeats its outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from brokertrial.faults.node_control import NodeControl, TakesSettings
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.failures import BrokerAtFault, Unclear
from brokertrial.suites.probe.log_tail import damage
from brokertrial.suites.probe.memory import resident_now, resident_peak
from brokertrial.suites.probe.moved_leaders import moved_by_itself
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.probe.zookeeper import ZooKeeper, ZooKeeperReader

DONE = "done"


def _told(node_control: NodeControl, measure: Callable[[int], int | None]) -> str:
    found = None if (pid := node_control.pid) is None else measure(pid)
    return "" if found is None else str(found)


def _killed(node_control: NodeControl | None) -> str:
    return "killed" if getattr(node_control, "ended_when_asked", None) is False else ""


def _each(controllers: Collection[NodeControl], act: Callable[[NodeControl], None]) -> str:
    try:
        for controller in controllers:
            act(controller)
    except Exception as error:  # noqa: BLE001 - whatever a target raises is the outcome of the act
        return _said(error)
    return DONE


def _must_be_back(who: str, outcome: str) -> None:
    if outcome != DONE:
        failure = BrokerAtFault(f"{who} did not come back: {outcome}")
        failure.kind = "died"
        raise failure


def _said(error: Exception) -> str:
    """What happened, in one line: log lines that follow it are shown by themselves."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _choose(settings: Mapping[str, str], node_control: NodeControl) -> None:
    if not isinstance(node_control, TakesSettings):
        raise TypeError("it cannot be started with other settings")
    node_control.choose(settings)


MEMORY = "memory"
"""What such a measurement is called on a tape, before the node."""


class Nodes:
    """`nodes` in a case: `nodes.crash(nodes.of(topic))` kills and starts again. What is down at the end is started."""

    def __init__(
        self,
        wire: Wire,
        exchanger: Exchanger,
        node_controls: Mapping[int, NodeControl],
        zookeeper: ZooKeeperReader | None = None,
        controllers: Collection[NodeControl] = (),
    ) -> None:
        self.zookeeper = ZooKeeper(exchanger, zookeeper or ZooKeeperReader(None))
        self._wire = wire
        self._exchanger = exchanger
        self._node_controls = dict(node_controls)
        self._controllers = controllers
        self.hurt = False
        """Whether the case stopped or froze one."""
        self._moved_before: str | None = None
        """What had moved by itself, or nothing, when something was false and a further act followed; None before."""
        self._looked_at = 0
        self._down: list[int] = []
        self._paused: list[int] = []
        self._chosen: list[int] = []

    @property
    def ids(self) -> list[int]:
        return self._wire.nodes

    def of(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition now."""
        self._wire.refresh_metadata(topic)
        return self._wire.leader(topic, partition)

    def of_group(self, group: str) -> int:
        """The node that coordinates a group now."""
        self._wire.forget_coordinator(group)
        return self._wire.coordinator(group)

    def kill(self, node: int) -> None:
        """kill -9; connections to it are dropped."""
        self._wire.drop_lines(node)
        self.hurt = True
        self._down.append(node)
        self._do("kill", node, lambda node_control: node_control.kill())

    def terminate(self, node: int) -> None:
        """Asks it to stop and waits until it has."""
        self._wire.drop_lines(node)
        self.hurt = True
        self._down.append(node)
        self._do("terminate", node, lambda node_control: node_control.terminate())

    def must_end(self, node: int) -> None:
        """Asks it to stop; it must end by itself in the time that its target gives it, after which it is killed."""
        self.terminate(node)
        killed = self._exchanger.act(f"ended {node}", partial(_killed, self._node_controls.get(node)))
        self._wire.must(not killed, f"node {node} was asked to stop, did not end, and had to be killed")

    def start(self, node: int) -> None:
        """Starts a stopped node with its data; a node that does not come back fails the case."""
        outcome = self._do("restart", node, lambda node_control: node_control.restart(), must_work=False)
        if node in self._down:
            self._down.remove(node)
        _must_be_back(f"node {node}", outcome)

    def pause(self, node: int) -> None:
        self.hurt = True
        self._paused.append(node)
        self._do("pause", node, lambda node_control: node_control.pause())

    def resume(self, node: int) -> None:
        self._paused.remove(node)
        self._do("resume", node, lambda node_control: node_control.resume())

    def crash(self, node: int) -> None:
        """kill -9 and start again."""
        self.kill(node)
        self.start(node)

    def stop_and_start(self, node: int) -> None:
        """A clean stop, and start again."""
        self.terminate(node)
        self.start(node)

    def crash_controllers(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """kill -9 of each controller that is a process of its own, and start again; nothing where brokers are
        controllers too. What is done `meanwhile` is done without them. One that does not come back fails the case."""
        self.hurt = True
        try:
            self._of_controllers("kill controllers", lambda one: one.kill())
            meanwhile()
        finally:
            self._of_controllers("start controllers", lambda one: one.restart())

    def _of_controllers(self, what: str, act: Callable[[NodeControl], None]) -> None:
        _must_be_back("a controller", self._exchanger.act(what, partial(_each, self._controllers, act)))

    def start_with(self, settings: Mapping[str, str], only: Collection[int] = ()) -> None:
        """Stops every node (or some) in good order and starts it with these settings besides its own; the end of the
        case takes them back."""
        said = " ".join(f"{name}={value}" for name, value in settings.items())
        self._wire.chosen_settings.update(settings)
        for node in only or self.ids:
            self.terminate(node)
            if settings and node not in self._chosen:
                self._chosen.append(node)
            self._do(f"choose {said}", node, partial(_choose, settings))
            self.start(node)
            if not settings:
                self._chosen.remove(node)

    def damage_tail(self, node: int, log_dirs: list[str], topic: str, how: str) -> None:
        """Spoils the newest batch of a topic on the disk of a node that is down (`DAMAGES` in log_tail.py)."""
        if why_not := self._exchanger.act(f"damage {node}", partial(damage, log_dirs, topic, 0, how)):
            self._wire.not_applicable(why_not, "missing-capability")

    def outcome_of(self, what: str, node: int, act: Callable[[NodeControl], None]) -> str:
        """Does to a node what the case undoes by itself: DONE, or in one line why that did not work."""
        self.hurt = True
        return self._do(what, node, act, must_work=False)

    def memory(self) -> dict[int, int]:
        """What each node that is a process of ours holds now, in MiB; from here on its peak is counted anew."""
        return self._measured(MEMORY, resident_now)

    def must_stay_small(self, before: Mapping[int, int], *, within_mib: int, because: str) -> None:
        """No node may have held so much more than `before` (of `memory`) at any time since."""
        for node, peak in self._measured("peak", resident_peak).items():
            grown = peak - before.get(node, peak)
            self._wire.must(
                grown <= within_mib,
                f"node {node} held {grown} MiB more than before, of which at most {within_mib} are allowed: {because}",
            )

    def _measured(self, what: str, measure: Callable[[int], int | None]) -> dict[int, int]:
        found = {}
        for node, node_control in sorted(self._node_controls.items()):
            if text := self._exchanger.act(f"{what} {node}", partial(_told, node_control, measure)):
                found[node] = int(text)
        return found

    def moved_by_itself(self) -> str:
        """A leadership that moved by itself after the last act and explains what is false; empty where none does."""
        return moved_by_itself(self._wire) if self._moved_before is None else self._moved_before

    def heal(self) -> None:
        """Brings back what the case left down; done by the runner after every case."""
        self.zookeeper.heal()
        self._looked_at = len(self._wire.kept)
        for node in list(self._paused):
            self.resume(node)
        chosen, self._chosen = self._chosen, []
        for node in chosen:
            self._do("choose", node, partial(_choose, {}))
        again = [node for node in chosen if node not in self._down]
        for node in list(self._down):
            self.start(node)
        for node in again:  # one at a time: the others are the cluster that it comes back to
            self.stop_and_start(node)

    def _do(self, what: str, node: int, act: Callable[[NodeControl], None], must_work: bool = True) -> str:
        self._look_for_moves()
        self._wire.last_shown.clear()
        outcome = self._exchanger.act(f"{what} {node}", lambda: self._outcome(node, act))
        if must_work and outcome != DONE:
            raise Unclear("suite", f"{what} of node {node} did not work: {outcome}")
        return outcome

    def _look_for_moves(self) -> None:
        """What moves after this act explains nothing that was false before it; what nothing explained once stands."""
        kept, before = len(self._wire.kept), self._looked_at
        self._looked_at = kept
        if kept > before and self.hurt and self._moved_before != "":
            self._moved_before = moved_by_itself(self._wire)

    def _outcome(self, node: int, act: Callable[[NodeControl], None]) -> str:
        if node not in self._node_controls:
            return f"the target has no handle for node {node}"
        try:
            act(self._node_controls[node])
        except Exception as error:  # noqa: BLE001 - whatever a target raises is the outcome of the act
            return _said(error)
        return DONE
