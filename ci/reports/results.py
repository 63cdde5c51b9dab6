"""results.jsonl: a header, one line a case as soon as it is judged, a footer. Without the footer the run was killed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO

import msgspec

from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.run_state import RunState, host, suite_version
from brokertrial.suites.events import CaseFinished, RunEvent, RunFinished, RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult

NAME = "results.jsonl"
FORMAT = 1


class ResultsHeader(msgspec.Struct, frozen=True, tag="header", tag_field="line"):
    """The first line: what was run, on what."""

    run: RunStarted
    suite_version: str
    host: dict[str, str]
    format: int = FORMAT


class ResultLine(msgspec.Struct, frozen=True, tag="result", tag_field="line"):
    """One case."""

    result: CaseResult


class ResultsFooter(msgspec.Struct, frozen=True, tag="footer", tag_field="line"):
    """The last line: how the run ended, and a checksum of all lines above."""

    end: RunFinished
    status: int
    results: int
    sha256: str
    musts: int = 0
    decided: int = 0
    not_applicable: dict[str, int] = {}
    said_once: dict[str, list[str]] = {}


class ResultsWriter:
    """Appends a line an event, flushed at once: what was judged survives a kill."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._file: IO[bytes] | None = None
        self._digest = hashlib.sha256()

    def on(self, event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            self._add(ResultsHeader(event, suite_version(), host()))
        elif isinstance(event, CaseFinished):
            self._add(ResultLine(event.result))
        elif isinstance(event, RunFinished):
            self._add(self._footer(event))
            if self._file:
                self._file.close()

    def _footer(self, end: RunFinished) -> ResultsFooter:
        tally = self._state.tally
        return ResultsFooter(
            end,
            self._state.status,
            len(self._state.results),
            self._digest.hexdigest(),
            len(tally.musts),
            len(tally.decided),
            tally.not_applicable_by_reason(),
            tally.said_once(),
        )

    def _add(self, line: ResultsHeader | ResultLine | ResultsFooter) -> None:
        if self._file is None:
            self._file = (self._state.folder / NAME).open("ab")
        data = msgspec.json.encode(line) + b"\n"
        self._digest.update(data)
        self._file.write(data)
        self._file.flush()


def writer(state: RunState) -> ResultsWriter:
    return ResultsWriter(state)


def read(folder: Path) -> tuple[ResultsHeader, list[CaseResult], ResultsFooter]:
    """The lines of a closed run; raises Trouble when one is missing, changed or cut."""
    path = folder / NAME
    try:
        lines = path.read_bytes().splitlines(keepends=True)
        parsed = [msgspec.json.decode(line, type=ResultsHeader | ResultLine | ResultsFooter) for line in lines]
    except FileNotFoundError:
        raise UserError(f"{path} is missing.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged: {error}.") from None
    if len(parsed) == 1 and isinstance(parsed[0], ResultsFooter):
        raise UserError(
            f"{folder} judged nothing: {parsed[0].end.error or 'it ended before its first case'}.",
            status=ExitStatus.NOTHING_JUDGED,
        )
    if not parsed or not isinstance(parsed[0], ResultsHeader):
        raise UserError(f"{path} has no header line.")
    footer = parsed[-1]
    if not isinstance(footer, ResultsFooter):
        raise UserError(f"{path} has no footer: the run was killed, or the file was cut.")
    results = [line.result for line in parsed if isinstance(line, ResultLine)]
    if len(results) != footer.results or len(parsed) != footer.results + 2:
        raise UserError(f"{path} holds {len(results)} results; its footer counts {footer.results}.")
    if hashlib.sha256(b"".join(lines[:-1])).hexdigest() != footer.sha256:
        raise UserError(f"{path} was changed after it was written: its checksum does not match its footer.")
    return parsed[0], results, footer
