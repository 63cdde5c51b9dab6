"""Whether a member was refused as unknown because this probe had let it fall silent for its session.

On a busy machine the requests of a case come late, and a coordinator that expels the member then keeps its promise.
"""

from __future__ import annotations

from collections.abc import Sequence

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.rendering import errors_in
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct

ALMOST = 0.9
"""Of a session: the coordinator hears a request before we know that it did."""
WAITS = ("JoinGroup", "SyncGroup")
"""Answered when others have come; the session of a member begins anew with the answer."""
DEFAULT_MS = 45_000
REFUSED = f"is {errors.name(errors.UNKNOWN_MEMBER_ID)} ({errors.UNKNOWN_MEMBER_ID}); it must "
SESSION = "consumer.session.timeout.ms"


def silent_member(exchanges: Sequence[PendingExchange], failure: str, consumer_session_ms: int | None = None) -> str:
    """That the member of the last request was silent for too long before it was refused as unknown; else empty.

    `failure`: what was false, in words; another failure than that is not excused. `consumer_session_ms`: of members of
    KIP-848 groups that have no setting of their own (group.consumer.session.timeout.ms).
    """
    if REFUSED not in failure or not exchanges or (last := exchanges[-1]).answer is None:
        return ""
    group, member = getattr(last.request, "group_id", ""), getattr(last.request, "member_id", "")
    if not member or errors.UNKNOWN_MEMBER_ID not in [code for _, code in errors_in(last.answer)]:
        return ""
    session_ms, heard_ns = consumer_session_ms or DEFAULT_MS, 0
    for asked in exchanges[:-1]:
        session_ms = _set_session(asked.request, group) or session_ms
        if asked.answer is None or not _is_of(asked, group, member) or next(errors_in(asked.answer), None) is not None:
            continue
        session_ms = getattr(asked.request, "session_timeout_ms", 0) or session_ms
        heard_ns = max(heard_ns, asked.received_ns if asked.request._api in WAITS else asked.sent_ns)
    silent_ms = (last.received_ns - heard_ns) / 1e6
    if not heard_ns or silent_ms < ALMOST * session_ms:
        return ""
    return f"the member had not been served for {silent_ms:.0f} ms, of a session of {session_ms} ms"


def _is_of(asked: PendingExchange, group: str, member: str) -> bool:
    """A request of the member; its first one may get its id from the answer."""
    if getattr(asked.request, "group_id", None) != group:
        return False
    return member in (getattr(asked.request, "member_id", ""), getattr(asked.answer, "member_id", ""))


def _set_session(asked: Struct, group: str) -> int:
    """The session that IncrementalAlterConfigs sets for the members of a consumer group, in ms; 0: it does not."""
    if asked._api != "IncrementalAlterConfigs":
        return 0
    rows = [row for one in asked.resources if one.resource_name == group for row in one.configs]
    return next((int(row.value) for row in rows if row.name == SESSION and (row.value or "").isdigit()), 0)
