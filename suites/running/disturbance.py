"""What a situation may do to all nodes of the target: one after the other, and each is back before the next.

`stop` and `crash` are done to brokers and to controllers that are processes of their own, `move` to what brokers lead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.probe.preferred_leaders import restore_preferred_leaders
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.running.moved_leaders import move_leaders

DONE, MOVE = "done", "move"


class Disturbance:
    """`Disturbance(nodes, controllers, probe)("stop")` returns "done", or a sentence on what did not work."""

    def __init__(
        self,
        node_controls: Mapping[int, NodeControl],
        controllers: Mapping[int, NodeControl],
        probe: Callable[[], Wire],
    ) -> None:
        self._node_controls = node_controls
        self._controllers = controllers
        self._probe = probe

    def __call__(self, act: str) -> str:
        try:
            if act == MOVE:
                move_leaders(self._probe())
                return DONE
            for number in sorted(self._node_controls):
                _do(act, self._node_controls[number])
                self._leaders_come_back()
            for controller in self._controllers.values():
                _do(act, controller)
                self._leaders_come_back()
        except Exception as error:  # noqa: BLE001 - whatever a target raises is the outcome of the act
            return f"{type(error).__name__}: {error}"
        return DONE

    def _leaders_come_back(self) -> None:
        if len(self._node_controls) > 1:
            restore_preferred_leaders(self._probe(), len(self._node_controls), of_all=True)


def _do(act: str, node: NodeControl) -> None:
    if act == "stop":
        node.terminate()
    else:
        node.kill()
    node.restart()
