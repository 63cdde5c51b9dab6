"""The proof record: where each case, as it is written now, last passed on Apache Kafka, and which planted bugs fail it.

suites/proof_record.json is generated (`make prove`) and ships with the suite. A case that is not in it, or that has
changed since, itself or in what it is built from, can only warn: nobody has seen a correct broker pass it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from suites.built_from import built_from
from suites.case import Case
from suites.result import Proof

RECORD = Path(__file__).with_name("proof_record.json")
KEEP = 8


class Entry(msgspec.Struct):
    """What is known of one case, as it was written then and built from what it was built from then."""

    content: str
    built_from: str = ""
    """Empty in entries of before this was recorded: they are held to the case's own text alone."""
    passed_on: list[str] = []
    fails_with: list[str] = []


@cache
def record() -> dict[str, Entry]:
    """The record that ships; empty when there is none."""
    return read(RECORD)


def read(path: Path) -> dict[str, Entry]:
    """A record from a file."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Entry]) if path.exists() else {}


def write(path: Path, entries: dict[str, Entry]) -> None:
    """Writes a record, sorted, one readable block a case."""
    ordered = {name: entries[name] for name in sorted(entries)}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def note(entries: dict[str, Entry], case: Case, *, passed_on: str = "", fails_with: str = "") -> None:
    """Adds one observation; a case that has changed starts anew.

    An entry of before `built_from` was recorded keeps what it knows, and is of today once the case has passed today.
    """
    entry = entries.get(case.id)
    if entry is None or not holds(entry, case):
        entry = entries[case.id] = Entry(case.content_hash, built_from(case))
    if passed_on:
        product = passed_on.rpartition(" (")[0]
        others = [line for line in entry.passed_on if line.rpartition(" (")[0] != product] if entry.built_from else []
        entry.built_from = built_from(case)
        entry.passed_on = [*others[-KEEP + 1 :], passed_on]
    if fails_with and fails_with not in entry.fails_with:
        entry.fails_with = sorted([*entry.fails_with, fails_with])


def holds(entry: Entry, case: Case) -> bool:
    """Whether an entry is about the case as it is now."""
    return entry.content == case.content_hash and entry.built_from in ("", built_from(case))


def proof_of(case: Case, unproven: str = "warn") -> Proof | None:
    """The proof of this very case; None when nobody has seen it pass on Apache Kafka."""
    entry = record().get(case.id)
    if entry is None or not entry.passed_on or not holds(entry, case):
        return None
    return Proof(tuple(entry.passed_on), tuple(entry.fails_with))
