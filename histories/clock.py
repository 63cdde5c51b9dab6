"""The one clock of a history: CLOCK_MONOTONIC, in nanoseconds, comparable between all processes of one machine."""

import time

KIND = "CLOCK_MONOTONIC"

now_ns = time.monotonic_ns
"""Nanoseconds since an arbitrary start; never goes back.

`call_ns` is taken before a request leaves, `return_ns` after its answer is understood.
"""
