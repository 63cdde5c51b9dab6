"""Requests that only a coordinator answers: that of a group, or that of a transactional id."""

from __future__ import annotations

from typing import TypedDict, TypeVar, Unpack

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.core import COORDINATOR_BUSY, Core
from brokertrial.wire.messages import Struct

C = TypeVar("C", bound=Response)
GROUP, TRANSACTION = 0, 1


class SendOptions(TypedDict, total=False):
    """How a request is sent: `version` (the newest that both know), `via` which connection ("main"), `wait` (True)."""

    version: int | None
    via: str
    wait: bool


class RetryOptions(SendOptions, total=False):
    """And whether to `retry` while the coordinator is busy (True)."""

    retry: bool


class Coordinated(Core):
    """What the families about groups, commits and transactions share."""

    def _of_group(
        self,
        group: str,
        asked: Struct,
        kind: type[C],
        may_take_s: float = 0.0,
        step: str = "",
        **how: Unpack[RetryOptions],
    ) -> C:
        self.will_make(self.made_groups, group)
        return self._of(GROUP, group, asked, kind, may_take_s, step, **how)

    def _of_transaction(
        self, transactional_id: str, asked: Struct, kind: type[C], step: str = "", **how: Unpack[RetryOptions]
    ) -> C:
        return self._of(TRANSACTION, transactional_id, asked, kind, 0.0, step, **how)

    def _of(
        self,
        sort: int,
        key: str,
        asked: Struct,
        kind: type[C],
        may_take_s: float = 0.0,
        step: str = "",
        *,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> C:
        return self.ask_as(
            kind,
            asked,
            version=version,
            to=lambda: self.coordinator(key, sort),
            via=via,
            wait=wait,
            may_take_s=may_take_s,
            retry_on=COORDINATOR_BUSY if retry else (),
            refresh=lambda: self.forget_coordinator(key, sort),
            step=step,
        )
