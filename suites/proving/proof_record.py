"""The proof record: where each case, as it is written now, passed on Apache Kafka, and what has been seen to fail it.

suites/proving/proof_record.json is generated (`make prove`) and ships with the suite. An entry is about the case's own
text: a case that is not in it, or has changed since, can only warn, for nobody has seen a correct broker pass it. What
changed under a case since it passed (suites/proving/case_dependencies.py) makes the pass due for renewal: it still
counts, and every report says so. A pass speaks of the setting that it was seen in: one node, or a cluster.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import msgspec

from brokertrial.extensions import source_of
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.proving.case_dependencies import changed, state_of, text_hash, under, under_hash
from brokertrial.suites.result import KafkaProof

NAME = "proof_record.json"
RECORD = Path(__file__).with_name(NAME)
EDITED_RESPONSE = "an edited answer"
TIMES = ("", "", ", at the second attempt", ", at the third attempt")
NUMBERS = {1: "one node", 3: "three nodes"}


class KafkaPass(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pass on Apache Kafka; `state` names what lay under the case then, `under` what it reached of it."""

    release: str
    nodes: int
    day: str
    state: str
    attempt: int = 1
    zookeeper: bool = False
    under: str = ""
    controllers: bool = False
    """They were processes of their own."""

    def __str__(self) -> str:
        return f"{self.where} ({self.day}{TIMES[self.attempt]})"

    @property
    def where(self) -> str:
        """The Kafka that it passed on."""
        beside = " and ZooKeeper" if self.zookeeper else " and controllers of their own" if self.controllers else ""
        return f"Apache Kafka {self.release}, {NUMBERS.get(self.nodes, f'{self.nodes} nodes')}{beside}"


class CaseProof(msgspec.Struct):
    """What is known of one case with this text."""

    text: str
    passes: list[KafkaPass] = []
    fails_with: list[str] = []
    lies: str = ""
    """Which edited answers were told when it failed of them."""


class ProofRecord(msgspec.Struct):
    """The whole file: entries by case, and what the files under them said, by the hash of that."""

    cases: dict[str, CaseProof] = {}
    states: dict[str, dict[str, str]] = {}

    def entry(self, case: Case) -> CaseProof | None:
        """What is known of a case as it is written now."""
        entry = self.cases.get(case.id)
        return entry if entry is not None and entry.text == text_hash(case) else None

    def passed(self, case: Case, seen: KafkaPass) -> None:
        """Adds a pass of today's text; it replaces that on the same Kafka in the same setting."""
        entry = self._begun(case)
        entry.passes = [one for one in entry.passes if (one.release, one.nodes) != (seen.release, seen.nodes)] + [seen]

    def failed(self, case: Case, bug: str) -> None:
        """Adds what has made today's text fail."""
        entry = self._begun(case)
        entry.fails_with = sorted({*entry.fails_with, bug})
        entry.lies = tampered_hash(case) if bug == EDITED_RESPONSE else entry.lies

    def now(self) -> str:
        """The name of what lies under all cases now; the record keeps it."""
        name, files = _now()
        self.states[name] = files
        return name

    def due(self, case: Case, seen: KafkaPass) -> tuple[str, ...]:
        """The files that have changed under a case since this pass; empty: it needs no renewal."""
        return () if seen.under == under_hash(case) else changed(case, self.states.get(seen.state, {}))

    def marked(self, case: Case) -> tuple[str, ...]:
        """The same of all its passes together."""
        entry = self.entry(case)
        return tuple(sorted({file for seen in entry.passes for file in self.due(case, seen)})) if entry else ()

    def marked_on(self, case: Case) -> tuple[str, ...]:
        """Where its passes are due for renewal: each Kafka once."""
        entry = self.entry(case)
        return tuple(sorted({seen.where for seen in entry.passes if self.due(case, seen)})) if entry else ()

    def _begun(self, case: Case) -> CaseProof:
        entry = self.entry(case)
        if entry is None:
            entry = self.cases[case.id] = CaseProof(text_hash(case))
        return entry


@cache
def _now() -> tuple[str, dict[str, str]]:
    files = state_of(frozenset[str]().union(*map(under, own_cases())))
    return hashlib.sha256(repr(files).encode()).hexdigest()[:8], files


@cache
def record() -> ProofRecord:
    """The record that ships; empty when there is none."""
    return read(RECORD)


def record_beside(case: Case) -> ProofRecord | None:
    """The record that others keep of their cases, empty where they keep none; None for a case of ours."""
    source = source_of("cases", case.id)
    return _beside(source.folder) if source else None


@cache
def _beside(folder: Path) -> ProofRecord:
    return read(folder / NAME)


def read(path: Path) -> ProofRecord:
    """A record from a file."""
    return msgspec.json.decode(path.read_bytes(), type=ProofRecord) if path.exists() else ProofRecord()


def write(path: Path, kept: ProofRecord) -> None:
    """Writes a record, sorted, without the states that no pass names any more."""
    named = {seen.state for entry in kept.cases.values() for seen in entry.passes}
    ordered = ProofRecord(
        {name: kept.cases[name] for name in sorted(kept.cases)},
        {name: kept.states[name] for name in sorted(named & kept.states.keys())},
    )
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def tampered_hash(case: Case) -> str:
    """Changes with the edited answers that a case names."""
    return (
        hashlib.sha256(msgspec.json.encode(case.tampered_responses)).hexdigest()[:10] if case.tampered_responses else ""
    )


def proof_of(case: Case, nodes: int = 0) -> KafkaProof | None:
    """The proof of this very case; None when nobody has seen it pass on Apache Kafka.

    The pass that speaks of a target with so many nodes comes last. A case of others is proven by the record that lies
    beside it; what changed under it is not followed.
    """
    theirs = record_beside(case)
    entry = (record() if theirs is None else theirs).entry(case)
    if entry is None or not entry.passes:
        return None
    passes = sorted(entry.passes, key=lambda one: (one.nodes > 1) == (nodes > 1))
    due = record().due(case, passes[-1]) if theirs is None else ()
    return KafkaProof(
        tuple(map(str, passes)), tuple(entry.fails_with), due, tuple(sorted({one.nodes for one in passes}))
    )
