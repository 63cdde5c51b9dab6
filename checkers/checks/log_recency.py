"""log-recency: the end of a partition was reported too short, or went back.

    append a at 0   call 0  return 1
    end is 0        call 2  return 3        -> stale-read: a was acknowledged before
    end is 2        call 0  return 1
    end is 1        call 2  return 3        -> end-regression

Asked only when named: with several nodes a leader that was cut off may answer for its old log until it learns better,
and Kafka promises nothing else (KIP-207 covers elections, not cut-off leaders). With one node, and without faults, it
must hold.
Source: KIP-207; Herlihy and Wing 1990.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.log_rows import APPENDS, ENDS, PARTITIONS, SIGHTS, found_in

NAME = "log-recency"
GUARANTEE = "offs-008"
STRENGTH = "recency"
DECIDES = ("offs-008", "repl-011")
OBSERVES = ("list_offsets",)
SHOWING = ("high_watermark",)
STANDS_ALONE = True
NEEDS = ("operations.call_ns", "operations.return_ns", "operations.base_offset", "operations.high_watermark")
SUBJECT = "SELECT DISTINCT o.history FROM ends o"
OTHERWISE = "no end of a partition was listed"
PROJECTIONS = {"partitions": PARTITIONS, "appends": APPENDS, "ends": ENDS, "sights": SIGHTS}
DEFAULT = False


def find(projections: Mapping[str, pa.Table]) -> Iterator[AnomalyRow]:
    """Ends that lag behind what was known before they were asked for."""
    return found_in(projections, {"stale-read", "end-regression"})
