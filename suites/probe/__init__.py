"""The raw client that wire cases use. What cases import is here; docs/writing-a-case.md explains it."""

from suites.probe.answer import Response
from suites.probe.classic_member import Member, join_together, rebalance
from suites.probe.fetch import COMMITTED, UNCOMMITTED
from suites.probe.produce import batch
from suites.probe.producer import Producer
from suites.probe.wire import Wire

__all__ = ["COMMITTED", "UNCOMMITTED", "Member", "Producer", "Response", "Wire", "batch", "join_together", "rebalance"]
