"""The probe that a case is given: every family of requests on one engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from suites.probe.classic_member import Member
from suites.probe.commits import CommitsFamily
from suites.probe.context import CaseContext
from suites.probe.exchanger import LiveExchanger
from suites.probe.fetch import FetchFamily
from suites.probe.fetch_many import FetchManyFamily
from suites.probe.frames import FramesFamily
from suites.probe.groups import GroupsFamily
from suites.probe.list_offsets import ListOffsetsFamily
from suites.probe.produce import ProduceFamily
from suites.probe.producer import Producer
from suites.probe.topics import TopicsFamily
from suites.probe.transactions import TransactionsFamily

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
