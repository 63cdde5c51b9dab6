"""Whether the coordinators of groups and of transactions serve, in every partition of the topics they keep.

A target may take records and have lost one of them: after KAFKA-19274 each case whose group lies there fails with
NOT_COORDINATOR, for a failure that another case has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from brokertrial.suites.case import Case
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, names_in
from brokertrial.suites.probe.core import COORDINATOR_BUSY
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.running.needs_cluster import why_alone
from brokertrial.wire import errors

TRANSACTIONS_TOPIC = "__transaction_state"
SERVES_WITHIN_S = 10.0
"""For a coordinator that is still reading what it keeps."""
MOST = 3
"""Times that a target is started anew for it: where that does not help, it is no single case's doing."""
Ask = Callable[[str], Response]


class Coordinators:
    """`probe` makes a probe whose tape nobody keeps."""

    def __init__(self, probe: Callable[[], Wire]) -> None:
        self._probe = probe
        self._lost = 0

    def lost_in(self, case: Case) -> str:
        """What is not served after a case that failed; empty where all is, and where the case can have harmed none."""
        if self._lost >= MOST or not why_alone(case):
            return ""
        lost = not_served(self._probe())
        self._lost += bool(lost)
        return lost


def not_served(wire: Wire) -> str:
    """What is not served, a sentence; empty where all is, or where nothing can be asked.

    Asks for what nobody has committed and for transactions that nobody has begun: nothing is written.
    """
    wire.until_at_most_s = SERVES_WITHIN_S
    questions: tuple[tuple[str, str, Ask], ...] = (
        (OFFSETS_TOPIC, "OffsetFetch", lambda group: wire.committed_all(group, None)),
        (TRANSACTIONS_TOPIC, "DescribeTransactions", wire.describe_transaction),
    )
    try:
        for topic, api, ask in questions:
            for partition, key in _keys(wire, topic) if wire.versions(api) else ():
                if (code := ask(key).error) in COORDINATOR_BUSY:
                    return f"{api} for what lies in partition {partition} of {topic}: {errors.name(code)}"
    except BrokerAtFault as fault:
        return fault.sentence
    except (NotApplicable, Unclear):
        return ""
    finally:
        wire.drop_lines()
    return ""


def _keys(wire: Wire, topic: str) -> Iterator[tuple[int, str]]:
    """Each partition, and a group or transactional id that lies in it as Apache Kafka places them."""
    rows = wire.metadata(topic).struct.topics
    partitions = next((len(row.partitions) for row in rows if row.name == topic and not row.error_code), 0)
    for partition in range(partitions):
        yield partition, next(names_in(wire, partition, partitions))
