"""What the clients of a trial are not permitted, asked once by hand before they try it for minutes.

A client library that is refused for want of permission says so in words of its own, or begins anew for ever: the broker
is asked for the same on names of this run, and what it refuses makes trials not applicable, said once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, StatementFalse, Unclear
from brokertrial.suites.probe.permission import Permissions, wants
from brokertrial.suites.probe.wire import Wire

IN_TRANSACTION, PLAIN = "InitProducerId with a transactional id", "InitProducerId"
UNKNOWN_EPOCH = 1


class RunPermissions:
    """What the clients of a run were permitted and denied, in whichever case."""

    def __init__(self) -> None:
        self.permitted: set[str] = set()
        self.denied: dict[str, str] = {}

    def learn(self, permissions: Permissions) -> None:
        """What this client was allowed once is not taken for forbidden by a later case."""
        self.permitted |= permissions.permitted
        denied = self.denied | permissions.denied
        self.denied = {thing: why for thing, why in denied.items() if thing not in self.permitted}

    def knows(self, thing: str) -> bool:
        """Whether it was asked for before."""
        return thing in self.permitted or thing in self.denied


def not_permitted(known: RunPermissions, wire: Wire, apis: Collection[str], topics: Iterable[str]) -> str:
    """The permission that a trial with these APIs lacks; empty where it lacks none. StatementFalse: a required one."""
    for thing, ask in _questions(wire, apis, next(iter(topics), "")).items():
        if not known.knows(thing):
            with contextlib.suppress(BrokerAtFault, NotApplicable, Unclear):  # why else it fails, the trial says
                ask().examined = True
    known.learn(wire.permissions)
    if told := next(iter(wire.permissions.held_against.values()), ""):
        raise StatementFalse(f"refused for want of permission: {told}; what is required must be permitted")
    thing = wants(known.denied, apis)
    return known.denied[thing] if thing else ""


def _questions(wire: Wire, apis: Collection[str], topic: str) -> dict[str, Callable[[], Response]]:
    """What permission differs by, and how it is asked for without any effect on the trial."""
    group = wire.name("g")
    found: dict[str, Callable[[], Response]] = {}
    if "EndTxn" in apis:
        found[IN_TRANSACTION] = lambda: wire.init_producer_id(wire.name("x"))
    elif "InitProducerId" in apis:
        found[PLAIN] = wire.init_producer_id
    if "OffsetCommit" in apis and topic:
        wire.will_make(wire.made_groups, group)
        found["OffsetCommit"] = lambda: wire.commit(group, topic, offset=0)
        found["OffsetFetch"] = lambda: wire.committed(group, topic)
    if "ConsumerGroupHeartbeat" in apis:
        found["ConsumerGroupHeartbeat"] = lambda: wire.consumer_group_heartbeat(group, wire.name("m"), UNKNOWN_EPOCH)
    return found
