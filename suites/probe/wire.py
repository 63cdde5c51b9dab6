"""The probe that a case is given: every family of requests on one engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from brokertrial.suites.probe.classic_member import Member
from brokertrial.suites.probe.commits import CommitsFamily
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.exchanger import LiveExchanger
from brokertrial.suites.probe.fetch import FetchFamily
from brokertrial.suites.probe.fetch_many import FetchManyFamily
from brokertrial.suites.probe.frames import FramesFamily
from brokertrial.suites.probe.groups import GroupsFamily
from brokertrial.suites.probe.list_offsets import ListOffsetsFamily
from brokertrial.suites.probe.produce import ProduceFamily
from brokertrial.suites.probe.producer import Producer
from brokertrial.suites.probe.topics import TopicsFamily
from brokertrial.suites.probe.transactions import TransactionsFamily

Reach = Callable[[str, int], tuple[str, int]]


class Wire(
    ProduceFamily,
    FetchFamily,
    FetchManyFamily,
    ListOffsetsFamily,
    GroupsFamily,
    CommitsFamily,
    TransactionsFamily,
    TopicsFamily,
    FramesFamily,
):
    """`wire` in a case."""

    @classmethod
    def unrecorded(
        cls, case_context: CaseContext, bootstrap: list[tuple[str, int]], reach: Reach | None = None
    ) -> Self:
        """A probe whose tape nobody keeps: for what is no case."""
        return cls(LiveExchanger(lambda entry: None), case_context, bootstrap, reach)

    def producer(self, transactional_id: str | None = None, *, timeout_ms: int = 30_000, via: str = "main") -> Producer:
        """A producer with an id of its own, idempotent or transactional."""
        return Producer(self, transactional_id, timeout_ms, via)

    def member(self, group: str, name: str = "member", **settings: Any) -> Member:
        """A member of a classic group, on its own connection; settings as for `join_group`."""
        return Member(self, group, name, settings)
