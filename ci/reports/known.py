"""known.toml: failures that are known, so that only what is new turns a run red.

    [[known]]
    case = "idempotence/lost-ack"
    failure = "anomaly:duplicate"    # the failure's signature, as a red run writes it into known-failures.toml
    reason = "fixed in 2.4"
    issue = "BROKER-17"              # optional
    expires = 2027-03-01             # optional

An entry forgives one failure of one case: another failure in the same case still fails the run, and a case that fails
in two ways needs two entries. `anomaly = "duplicate"` is short for the first form. An entry whose case has passed, or
whose day has come, fails the run too, and the line to remove is named.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.errors import UserError
from brokertrial.suggestion import nearest
from brokertrial.suites.outcome import derived
from brokertrial.suites.result import CaseResult, Failure

KEYS = {"case", "failure", "anomaly", "reason", "issue", "expires"}
WITHOUT_DETAIL = ("died", "no-answer", "protocol")
"""What `anomaly` also named before failures had signatures: each means all signatures of that kind."""
HEADER = re.compile(r"^\s*\[\[\s*known\s*\]\]")


@dataclass(frozen=True)
class KnownFailure:
    """One known failure, and the line of the file that it starts on."""

    case: str
    failure: str
    reason: str
    issue: str = ""
    expires: date | None = None
    line: int = 0

    def names(self, failure: Failure) -> bool:
        """Whether this is the failure that is known."""
        told = failure.signature
        return told == self.failure or (self.failure in WITHOUT_DETAIL and told.startswith(f"{self.failure}:"))

    def expired(self, today: date) -> bool:
        return self.expires is not None and self.expires <= today


@dataclass(frozen=True)
class StaleEntry:
    """An entry that no longer holds, and why."""

    entry: KnownFailure
    why: str


@dataclass(frozen=True)
class KnownFailures:
    """The entries of one file; empty without `--known`."""

    path: str = ""
    entries: tuple[KnownFailure, ...] = ()

    @classmethod
    def read(cls, path: Path, cases: Collection[str]) -> KnownFailures:
        """Reads the file; an unknown key or case is an error that offers the nearest name."""
        text = _text(path)
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{path}: not valid TOML: {error}.") from None
        if unknown := set(tables) - {"known"}:
            raise UserError(f"{path}: unknown table `{min(unknown)}`; the file holds [[known]] tables only.")
        lines = [number for number, line in enumerate(text.splitlines(), 1) if HEADER.match(line)]
        rows = tables.get("known", [])
        if len(lines) != len(rows):
            raise UserError(f"{path}: write each entry as a [[known]] table of its own, not inline.")
        return cls(str(path), tuple(_entry(row, path, line, cases) for row, line in zip(rows, lines, strict=True)))

    def forgives(self, result: CaseResult, today: date) -> bool:
        """Whether everything that this case did wrong is known, and still may be."""
        return not self.unknown(result, today)

    def unknown(self, result: CaseResult, today: date) -> list[Failure]:
        """What this case did wrong that nobody has entered, or that is not forgiven any more."""
        known = [e for e in self.entries if e.case == result.case and not e.expired(today)]
        return [failure for failure in failures(result) if not any(entry.names(failure) for entry in known)]

    def unheard_of(self, result: CaseResult) -> list[Failure]:
        """What this case did wrong that has no entry at all, not even one that is not forgiven any more."""
        entries = self.reasons(result)
        return [failure for failure in failures(result) if not any(entry.names(failure) for entry in entries)]

    def reasons(self, result: CaseResult) -> list[KnownFailure]:
        """The entries that speak of this result."""
        return [e for e in self.entries if e.case == result.case and any(e.names(one) for one in failures(result))]

    def stale(self, results: Iterable[CaseResult], today: date) -> list[StaleEntry]:
        """The entries to remove: expired, of a case that has passed, or of a claim that was not found broken."""
        results = list(results)
        passed = {r.case for r in results if r.verdict is Verdict.PASS}
        told = {r.case for r in results}
        found = []
        for entry in self.entries:
            if entry.expired(today):
                found.append(StaleEntry(entry, f"expired on {entry.expires}"))
            elif entry.case in passed:
                found.append(StaleEntry(entry, "the case passes now"))
            elif results and entry.case.startswith(("claims/", "requires/")) and entry.case not in told:
                found.append(
                    StaleEntry(entry, "the claimed feature is supported now")
                )  # only a broken claim has a result
        return found

    def sentence(self, stale: StaleEntry) -> str:
        return f"{self.path}:{stale.entry.line}: remove the entry for {stale.entry.case}: {stale.why}."


def failures(result: CaseResult) -> tuple[Failure, ...]:
    """Everything that a failed case did wrong."""
    if result.verdict is not Verdict.FAIL:
        return ()
    return result.failures or derived(result.reason, result.anomalies)


def lines_to_record(
    result: CaseResult, new: Iterable[Failure] | None = None, reason: str = "", expires: date | None = None
) -> list[str]:
    """The TOML that would make these failures known: those of the result, or some of them."""
    day = [f"expires = {expires}"] if expires else []
    lines = []
    for failure in dict.fromkeys(one.signature for one in (failures(result) if new is None else new)):
        named = [f"case = {_quoted(result.case)}", f"failure = {_quoted(failure)}"]
        lines += ["[[known]]", *named, f"reason = {_quoted(reason)}", *day, ""]
    return lines


def _entry(row: dict[str, Any], path: Path, line: int, cases: Collection[str]) -> KnownFailure:
    where = f"{path}:{line}"
    if "statement" in row:
        raise UserError(
            f"{where}: `statement` forgave whatever went wrong in a case; an entry names one `failure` now.",
            "A red run writes the lines into known-failures.toml in its folder.",
        )
    if unknown := set(row) - KEYS:
        raise UserError(f"{where}: unknown key `{min(unknown)}`.", nearest(min(unknown), sorted(KEYS)))
    case = str(row.get("case", ""))
    if case.partition("@")[0] not in cases:
        raise UserError(f"{where}: there is no case `{case}`.", nearest(case, cases))
    if ("anomaly" in row) == ("failure" in row):
        raise UserError(f"{where}: name the `failure` that is known, or the `anomaly`.")
    if not row.get("reason"):
        raise UserError(f"{where}: a known failure needs a `reason`.")
    expires = row.get("expires")
    if expires is not None and type(expires) is not date:
        raise UserError(f"{where}: `expires` is a day, as in 2027-03-01, without quotes.")
    failure = str(row["failure"]) if "failure" in row else _of_anomaly(str(row["anomaly"]))
    return KnownFailure(case, failure, str(row["reason"]), str(row.get("issue", "")), expires, line)


def _of_anomaly(name: str) -> str:
    return name if name in WITHOUT_DETAIL else f"anomaly:{name}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.") from None


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's, once DEL is escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
