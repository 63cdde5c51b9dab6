"""stale-read, end-regression: the end of a partition was reported too short; how many records, and for how long.

    append a at 0   call 0  return 1
    end is 0        call 5  return 6        -> stale-read: 1 record, and 4 ns, behind
    end is 2        call 0  return 1
    end is 1        call 5  return 6        -> end-regression, likewise

Judged where nothing disturbed the partition before the answer: no fault had begun, and no leader but its first had been
seen. Elsewhere a leader that was cut off, or paused, may answer for its old log until it learns better (KIP-207 covers
elections, not that): there it is informational, with its size. `log-recency` is the same question
without this leniency, for those who ask it by name.
Source: Herlihy and Wing 1990 (recency); KIP-207; catalogue offs-008, repl-011.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.log_rows import APPENDS, ENDS, PARTITIONS, SIGHTS, found_in

NAME = "stale-read"
GUARANTEE = "repl-011"
STRENGTH = "recency"
DECIDES = ()  # while a fault is at work it is suspended
OBSERVES = ("list_offsets",)
SHOWING = ("high_watermark",)
STANDS_ALONE = True
NEEDS = ("operations.call_ns", "operations.return_ns", "operations.base_offset", "operations.high_watermark")
SUBJECT = "SELECT DISTINCT o.history FROM ends o"
OTHERWISE = "no end of a partition was listed"
PROJECTIONS = {
    "partitions": PARTITIONS,
    "appends": APPENDS,
    "ends": ENDS,
    "sights": SIGHTS,
    "disturbances": "SELECT d.history, d.topic, d.partition, d.first_ns FROM disturbances d",
}


def find(projections: Mapping[str, pa.Table]) -> Iterator[AnomalyRow]:
    """Ends that lag behind what was known before they were asked for, each with its size."""
    rows = list(found_in(projections, {"stale-read", "end-regression"}))
    if not rows:
        return
    logs = projections["partitions"].to_pylist()
    places = {row["log"]: (row["history"], row["topic"], row["partition"]) for row in logs}
    times = {
        (places[row["log"]], row["op"]): (row["call_ns"], row["return_ns"])
        for name in ("appends", "sights", "ends")
        for row in projections[name].to_pylist()
    }
    disturbed: dict[tuple[int, str | None, int | None], int] = {
        (row["history"], row["topic"], row["partition"]): row["first_ns"]
        for row in projections["disturbances"].to_pylist()
    }
    for row in rows:
        place = (row["history"], row["topic"], row["partition"])
        told, (asked, answered) = times[place, row["op_a"]][1], times[place, row["op_b"]]
        began = [disturbed[key] for key in (place, (row["history"], None, None)) if key in disturbed]
        back, late = row["offset_a"] - row["offset_b"], (asked - told) / 1_000_000
        row["judged"] = int(all(answered < at for at in began))
        row["sentence"] = f"{row['sentence']} {back} record(s) behind, requests {late:.3f} ms apart."
        yield row
