"""Whether what a member owned that was cut off went to another in time: the broker's own word, seen on the wire.

    cut     member-1 owns t-0, and is not heard from any more
    12 s    t-0 was handed to nobody else        -> late, if its session lasts 6 s

Ownership is what SyncGroup told each member. Not judged where the cut was healed before the time was over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.histories.rows import Membership
from brokertrial.histories.windows import FaultWindow
from brokertrial.suites.outcome import LATE_TAKEOVER

SESSIONS = 2.0
"""In how many session timeouts a partition must have gone to another: one to notice, one for the rest to join again."""


def late_reassignments(
    guarantee: str, windows: Iterable[FaultWindow], within_s: float, owned: list[Membership]
) -> Iterator[Anomaly]:
    """One anomaly for each partition of a member that was cut off for `within_s` and that nobody else was given."""
    told = [row for row in owned if row.generation >= 0]
    for window in windows:
        begin, limit = window.begin_ns, window.begin_ns + int(within_s * 1e9)
        if window.kind != "cut" or not window.over or window.end_ns < limit:
            continue
        is_cut = re.compile(translate(window.planned.get("match", {}).get("client", "*"))).match
        for row in told:
            owns = row.from_ns <= begin and (row.until_ns is None or row.until_ns > begin)
            if owns and is_cut(row.client or "") and not _taken(row, told, begin, limit):
                yield _late(guarantee, row, within_s)


def _taken(lost: Membership, told: Iterable[Membership], begin: int, limit: int) -> bool:
    return any(
        (row.topic, row.partition) == (lost.topic, lost.partition)
        and row.client != lost.client
        and begin < row.from_ns <= limit
        for row in told
    )


def _late(guarantee: str, row: Membership, within_s: float) -> Anomaly:
    return Anomaly(
        name=LATE_TAKEOVER,
        guarantee=guarantee,
        topic=row.topic,
        partition=row.partition,
        group=row.group,
        offsets=(),
        values=(),
        operations=(),
        strength="recency",
        attribution="broker",
        sentence=(
            f"{row.client} owned {row.topic}-{row.partition} when it was cut off, and {within_s:.0f} s later "
            f"({SESSIONS:g} session timeouts) no other member of group {row.group} had been given it."
        ),
    )
