"""How requests about a group find their coordinator."""

from __future__ import annotations

from typing import Any, TypeVar

from suites.probe.answer import Answer
from suites.probe.core import COORDINATOR_BUSY, Core

G = TypeVar("G", bound=Answer)


class GroupRequests(Core):
    """What the families about groups share."""

    def _of_group(
        self,
        group: str,
        asked: Any,
        kind: type[G],
        version: int | None,
        via: str,
        wait: bool,
        retry: bool,
        may_take_s: float = 0.0,
    ) -> G:
        if group and group not in self.made_groups:
            self.made_groups.append(group)
        return self.ask_as(
            kind,
            asked,
            version=version,
            to=lambda: self.coordinator(group),
            via=via,
            wait=wait,
            may_take_s=may_take_s,
            retry_on=COORDINATOR_BUSY if retry else (),
            refresh=lambda: self.forget_coordinator(group),
        )
