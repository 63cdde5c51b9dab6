"""What many threads come to at the same moment, for the first time: types that are decoded are made ready before."""

from __future__ import annotations

import subprocess
import sys

import pytest

MANY = """
import sys, threading
sys.setswitchinterval(1e-6)
{prepare}
def first():
    together.wait()
    {decode}
together = threading.Barrier(8)
threads = [threading.Thread(target=first) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
STATISTICS = (
    "from faults.leaks import LeakDetector; detector = LeakDetector()",
    """detector.saw_librdkafka("c", '{"brokers": {"b": {"nodename": "h:1", "tx": 1}}}')""",
)
ROWS = (
    "import msgspec; from faults.links import _ROWS; row = msgspec.msgpack.encode({'kind': 'hit', 'at_ns': 1})",
    "_ROWS['events'].decode(row)",
)


@pytest.mark.parametrize(("prepare", "decode"), [STATISTICS, ROWS])
def test_threads_that_are_the_first_to_decode_do_not_end_the_process(prepare: str, decode: str) -> None:
    for _ in range(4):
        done = subprocess.run(
            [sys.executable, "-P", "-c", MANY.format(prepare=prepare, decode=decode)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
