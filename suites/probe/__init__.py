"""The raw client that wire cases use. What cases import is here; docs/writing-a-case.md explains it."""

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.classic_member import Member, join_together, rebalance
from brokertrial.suites.probe.fetch import COMMITTED, UNCOMMITTED
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.producer import Producer
from brokertrial.suites.probe.wire import Wire

__all__ = ["COMMITTED", "UNCOMMITTED", "Member", "Producer", "Response", "Wire", "batch", "join_together", "rebalance"]
