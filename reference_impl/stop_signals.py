"""The signals that ask a process of the bundled broker to stop in an orderly way."""

from __future__ import annotations

import signal


def stop_signals() -> list[signal.Signals]:
    """Also that of a terminal which is closed, but where `nohup` has the process go on without it."""
    closed = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGTERM, signal.SIGINT, *closed]
