"""What recording costs: CPU an operation, and what it does to a loop of 5,000 operations a second.

    python -m bench.recording [seconds]

An operation here is a send: one row of operations and one of records. The loop waits for the moment of each operation
by spinning, as a client waits for its socket; throughput and median latency are compared with and without recording.
Targets: 6 us of CPU an operation; throughput changed by under 2 %, median latency by under 5 %.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

from brokertrial.histories.clock import now_ns
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Operation, Record

RATE = 5_000
WORK_NS = 100_000


def record_one(recorder: Recorder, value: int, call_ns: int, return_ns: int) -> None:
    """What a workload adds for one acknowledged send."""
    op = recorder.next_op()
    recorder.add(
        Operation(
            op=op, client="producer-1", kind="send", topic="orders", partition=value % 3, node=0, call_ns=call_ns,
            return_ns=return_ns, outcome="ok", error=0, base_offset=value // 3, count=1, leader_epoch=0,
        )
    )  # fmt: skip
    recorder.add(
        Record(
            op=op, client="producer-1", topic="orders", partition=value % 3, offset=value // 3, value=value,
            key=value % 1_024, side="sent", position=value // 3, outcome="ok", timestamp=call_ns, leader_epoch=0,
        )
    )  # fmt: skip


def cost(folder: Path, operations: int = 300_000) -> tuple[float, float]:
    """CPU microseconds an operation: in the recording thread, and altogether with the writer."""
    recorder = Recorder.create(folder, Header(case="bench/recording", target="none"))
    mine, whole = time.thread_time(), time.process_time()
    for value in range(operations):
        record_one(recorder, value, now_ns(), now_ns())
    mine = time.thread_time() - mine
    recorder.close()
    return mine / operations * 1e6, (time.process_time() - whole) / operations * 1e6


def paced(recorder: Recorder | None, seconds: float) -> tuple[float, float]:
    """Operations a second and median latency in us of a loop at the rate, each operation 100 us of waiting."""
    latencies = []
    begin = now_ns()
    value, due = 0, begin
    while due < begin + seconds * 1e9:
        while now_ns() < due:
            pass
        call = now_ns()
        while now_ns() < call + WORK_NS:
            pass
        returned = now_ns()
        if recorder is not None:
            record_one(recorder, value, call, returned)
        latencies.append(now_ns() - call)
        value += 1
        due = begin + value * 1_000_000_000 // RATE
    elapsed = (now_ns() - begin) / 1e9
    return value / elapsed, sorted(latencies)[len(latencies) // 2] / 1e3


def main() -> None:
    """Prints both figures."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with tempfile.TemporaryDirectory() as scratch:
        own, whole = cost(Path(scratch) / "cost")
        print(f"recording a send: {own:.1f} us of CPU in the client's thread, {whole:.1f} us with the Parquet writer")
        plain, plain_p50 = paced(None, seconds)
        with Recorder.create(Path(scratch) / "paced", Header(case="bench/recording", target="none")) as recorder:
            recorded, recorded_p50 = paced(recorder, seconds)
        print(f"without recording: {plain:.0f} ops/s, p50 {plain_p50:.1f} us")
        print(f"with recording:    {recorded:.0f} ops/s, p50 {recorded_p50:.1f} us", end=" ")
        print(f"({recorded / plain - 1:+.1%} throughput, {recorded_p50 / plain_p50 - 1:+.1%} latency)")
    assert threading.active_count() == 1


if __name__ == "__main__":
    main()
