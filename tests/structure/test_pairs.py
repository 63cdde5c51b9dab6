"""What is known of pairs speaks of cases and situations as they are: an edit may not take it away unnoticed."""

from __future__ import annotations

from brokertrial.suites.case import by_id
from brokertrial.suites.situations import situations
from brokertrial.suites.situations.pair_record import record


def test_every_entry_holds() -> None:
    """Prove them again (`make prove-pairs ON="kafka:4.4.0 --select 'area/name'"`), or take out what is of no case."""
    stale = []
    for key in record().entries:
        plain, _, situation = key.partition("@")
        case = by_id().get(plain)
        if case is None or situation not in situations() or record().entry(case, situation) is None:
            stale.append(key)
    assert stale == []
