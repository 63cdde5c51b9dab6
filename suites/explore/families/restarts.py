"""All nodes are stopped in good order, or killed, and started again: what was acknowledged is still there.

Only where a sequence is alone on its brokers. Held requests, fetch sessions and share sessions do not outlive it.
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RESTART, RequestStep, Visible


@rule(RESTART, 8.0)
def restart(model: Model) -> RequestStep | None:
    if model.restarts >= 2 or not model.topics:
        return None
    step = RequestStep(RESTART, 0, {"how": model.pick(["stop", "crash"])})

    def learn(_: dict[str, Any]) -> None:
        model.restarts += 1
        model.busy.clear()
        model.waiting.clear()
        model.sessions.clear()
        model.shares.forget_sessions()
        step.until += [Visible("topic", topic.name, topic.partitions) for topic in model.topics if topic.alive]

    step.learn = learn
    return step
