"""Starts one target by hand, prints its bootstrap address and runs until Ctrl-C.

python -P -m brokertrial.suites.targets kafka:4.4.0
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.targets import TargetProblem, open_target


def main(text: str) -> int:
    """Runs the target until SIGINT, SIGTERM or the end of its terminal; its exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with Scratch("target") as folder:
            begun = time.monotonic()
            with open_target(text, Path(folder)) as target:
                print(target.bootstrap, flush=True)
                took = time.monotonic() - begun
                print(f"{text}: version {target.version()}, ready after {took:.1f} s; Ctrl-C stops it", file=sys.stderr)
                signal.pause()
    except TargetProblem as problem:
        print(f"brokertrial: {problem}", file=sys.stderr)
        return problem.exit_status
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
