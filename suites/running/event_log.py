"""The events of a run as lines of the log (`--log-file`); progress is none: it is told ten times a second."""

from __future__ import annotations

import logging

from brokertrial.suites.events import CaseFinished, CaseStarted, PhaseChanged, RunEvent, RunFinished, RunStarted

LOG = logging.getLogger("brokertrial.run")


def log_event(event: RunEvent) -> None:
    """Writes one line; `CaseFinished` with what a reader looks for first."""
    match event:
        case RunStarted():
            about = {"target": event.target, "version": event.target_version, "profile": event.profile}
            LOG.info("run begins", extra={**about, "seed": event.seed, "cases": len(event.cases), "run": event.folder})
        case CaseStarted():
            LOG.info("case begins", extra={"case": event.case, "attempt": event.attempt})
        case PhaseChanged():
            LOG.info("phase begins", extra={"case": event.case, "phase": event.phase})
        case CaseFinished(result):
            reason = {"kind": result.reason.kind, "sentence": result.reason.sentence} if result.reason else {}
            about = {"case": result.case, "verdict": str(result.verdict), "case_level": result.level, **reason}
            LOG.info("case ends", extra={**about, "attempts": len(result.attempts), "took_s": result.duration_s})
        case RunFinished():
            ended = {"status": int(event.status), "interrupted": event.interrupted, "error": event.error}
            LOG.info("run ends", extra={**ended, "took_s": event.duration_s})
