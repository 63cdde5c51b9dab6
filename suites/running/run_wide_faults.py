"""A run behind the proxy: windows that stay open all the time, or the very lie that a case must catch.

`--through FILE` applies a schedule from the first request to the last (300 ms on every answer must change no verdict).
`--refute` applies to each case the edited answers that it names in `detects`: a case that still passes proves nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import BadSchedule, Schedule
from brokertrial.suites.case import Case
from brokertrial.wire.addresses import all_parsed


class RunWideFaults:
    """Every connection of a run led through the proxy. A context manager: leaving it ends the proxy."""

    def __init__(self, always: Schedule, refute: bool) -> None:
        self.always = always
        self.refute = refute
        self._links: FaultProxy | None = None

    def open(
        self, bootstrap: list[tuple[str, int]], reach: Mapping[str, str], seed: int, aliases: tuple[str, str] = ("", "")
    ) -> None:
        """Starts the proxy in front of the target and opens the windows that stay open."""
        self._links = FaultProxy.start(bootstrap, seed=seed, reach=dict(reach), aliases=aliases)
        for window in self.always:
            self._links.apply(window)

    def close(self) -> None:
        """Ends the proxy; harmless twice."""
        if self._links is not None:
            self._links.close()
            self._links = None

    @property
    def links(self) -> FaultProxy:
        assert self._links is not None, "the proxy is started with the run"
        return self._links

    def bootstrap(self) -> list[tuple[str, int]]:
        """Where clients find the target now."""
        return all_parsed(self.links.bootstrap)

    @contextlib.contextmanager
    def around(self, case: Case) -> Iterator[None]:
        """Tells the case's own lies while it runs, when the run refutes."""
        tampered_responses = Schedule.of(*case.tampered_responses) if self.refute else Schedule()
        try:
            for window in tampered_responses:
                self.links.apply(window)
            yield
        finally:
            for window in tampered_responses:
                self.links.heal(window.id)


def open_run_wide_faults(through: str | None, refute: bool) -> RunWideFaults | None:
    """What `--through` and `--refute` ask for; None for a run as usual. Raises BadSchedule."""
    if through is None:
        return RunWideFaults(Schedule(), refute) if refute else None
    try:
        text = Path(through).read_bytes()
    except OSError as problem:
        raise BadSchedule(f"--through {through}: {problem.strerror}") from problem
    return RunWideFaults(Schedule.from_json(text), refute)
