"""The process of a run, for tests alone, in place of ci/run_process.py: it dies of SIGSEGV in the middle of the cases
that BROKERTRIAL_TEST_CRASH names, as it does when the client library crashes. With BROKERTRIAL_TEST_CTRL_C the one in
front of it is interrupted just before."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from brokertrial.ci import run_process
from brokertrial.suites.case import Case
from brokertrial.suites.result import Outcome
from brokertrial.suites.running.session import TargetSession

PATIENCE_S = 20.0


def crash() -> None:
    """Has the named cases crash."""
    attempt = TargetSession.attempt

    def attempted(self: TargetSession, case: Case, number: int, *more: Any) -> Outcome:
        if case.id not in os.environ["BROKERTRIAL_TEST_CRASH"].split(","):
            return attempt(self, case, number, *more)
        if "BROKERTRIAL_TEST_CTRL_C" in os.environ:
            _interrupt_the_parent()
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError("it died")

    TargetSession.attempt = attempted  # type: ignore[method-assign]


def _interrupt_the_parent() -> None:
    """Ctrl-C, of which this process hears nothing before it crashes."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getppid(), signal.SIGINT)
    deadline = time.monotonic() + PATIENCE_S
    while signal.SIGINT not in signal.sigpending():
        assert time.monotonic() < deadline, "the parent hands it on"


if __name__ == "__main__":
    crash()
    sys.exit(run_process.main(sys.argv[1:]))
