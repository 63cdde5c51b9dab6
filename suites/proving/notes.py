"""A pytest plugin that writes down what each case did: the raw material of the proof record.

pytest -p brokertrial.suites.running.plugin -p brokertrial.suites.proving.notes --notes FILE --target kafka:4.4.0
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from brokertrial.suites.events import CaseFinished, RunEvent, RunStarted
from brokertrial.suites.proving.case_dependencies import text_hash, under_hash
from brokertrial.suites.running.plugin import RUN


class Note(msgspec.Struct, frozen=True):
    """One verdict on one case, as it was written then."""

    case: str
    text: str
    target: str
    version: str
    refuted: bool
    verdict: str
    reason: str
    sentence: str
    anomalies: tuple[str, ...]
    duration_s: float
    under: str = ""
    day: str = ""
    attempt: int = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("brokertrial").addoption("--notes", metavar="FILE", help="append one JSON line a verdict")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--notes"):
        config.pluginmanager.register(_Notes(config, Path(config.getoption("--notes"))))


class _Notes:
    def __init__(self, config: pytest.Config, path: Path) -> None:
        self.config = config
        self.path = path
        self.version = ""

    def pytest_brokertrial_event(self, event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            self.version = event.target_version
        if not isinstance(event, CaseFinished):
            return
        result, run = event.result, self.config.stash[RUN]
        case = next((case for case in run.cases if case.id == result.case), None)
        note = Note(
            result.case,
            text_hash(case) if case else "",
            run.options.target,
            self.version,
            run.options.refute,
            str(result.verdict),
            result.reason.kind if result.reason else "",
            result.reason.sentence if result.reason else "",
            tuple(sorted({anomaly.name for anomaly in result.anomalies})),
            round(result.duration_s, 2),
            under_hash(case) if case else "",
            datetime.now(UTC).date().isoformat(),
            max(len(result.attempts), 1),
        )
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(note) + b"\n")
