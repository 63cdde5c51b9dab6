"""log-order: a partition did not behave like one log (the part of linearizability that holds in every fail-over).

    append a at 1   call 0  return 1
    append b at 0   call 2  return 3        -> append-order: b began after a was acknowledged, yet lies below it
    read up to 0    call 0  return 1
    append a at 0   call 2  return 3        -> read-from-future: a was read before its send began
    append 0..2     one batch
    end is 1                                -> torn-batch: a batch becomes visible whole

The proof is exact (checkers/linearizability/log.py). Appends count as done at their return only when all in-sync
replicas acknowledged them. Reads and high watermarks show that the log was at least that long; a listed end shows how
long it was.
Source: Herlihy and Wing 1990; KIP-207 for listed ends; Kafka documentation, design.html#semantics.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.log_rows import APPENDS, ENDS, PARTITIONS, SIGHTS, found_in

NAME = "log-order"
GUARANTEE = "ord-001"
STRENGTH = "order"
OBSERVES = ("send",)
STANDS_ALONE = True
NEEDS = ("operations.call_ns", "operations.return_ns", "operations.base_offset")
SUBJECT = "SELECT DISTINCT a.history FROM appends a"
OTHERWISE = "no append is known with its offset"
PROJECTIONS = {"partitions": PARTITIONS, "appends": APPENDS, "ends": ENDS, "sights": SIGHTS}


def find(projections: Mapping[str, pa.Table]) -> Iterator[AnomalyRow]:
    """What contradicts a single log, but for late answers about its end."""
    return found_in(projections, {"append-order", "read-from-future", "torn-batch"})
