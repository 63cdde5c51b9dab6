"""What many threads come to at the same moment, for the first time: types that are decoded are made ready before."""

from __future__ import annotations

import subprocess
import sys

MANY_FIRST_TIMES = """
import importlib, sys, threading
from brokertrial.faults import proxy_bypass
sys.setswitchinterval(1e-6)

def first():
    together.wait()
    detector.saw_librdkafka("c", '{"brokers": {"b": {"nodename": "h:1", "tx": 1}}}')

for _ in range(150):
    detector = importlib.reload(proxy_bypass).BypassDetector()
    together = threading.Barrier(6)
    threads = [threading.Thread(target=first) for _ in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_clients_that_are_the_first_to_tell_statistics_do_not_end_the_process() -> None:
    command = [sys.executable, "-P", "-c", MANY_FIRST_TIMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
