"""The proof record is made of verdicts that survive a kill, and that count only for the case as it is now."""

from __future__ import annotations

import msgspec
import pytest

from checkers.verdict import Verdict
from suites import proof, prove
from suites.built_from import built_from
from suites.case import by_id
from suites.proof_notes import Note
from suites.proof_store import Store

CASE = by_id()["offsets/by-time-within-a-batch"]
KAFKA, SICK = "kafka:4.4.0", "reference?mutant=M30b"


def note(target=KAFKA, verdict="pass", refuted=False, **changes):
    said = {"content": CASE.content_hash, "built_from": built_from(CASE), **changes}
    return Note(
        case=CASE.id,
        target=target,
        version="4.4.0",
        refuted=refuted,
        verdict=verdict,
        reason="",
        sentence="",
        anomalies=(),
        duration_s=0.1,
        day="2026-11-21",
        **said,
    )


@pytest.fixture
def store(tmp_path):
    def made(*notes, tail=b""):
        path = tmp_path / "notes.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in notes) + tail)
        return Store(path, [CASE])

    return made


def test_the_newest_verdict_counts_and_a_line_cut_off_does_not(store):
    kept = store(note(verdict="inconclusive"), note(), tail=b'{"case":"offs')
    assert kept.verdict(CASE, KAFKA) is Verdict.PASS
    assert kept.verdict(CASE, "kafka:3.9.2") is None


@pytest.mark.parametrize("changes", [{"content": "of before"}, {"built_from": "of before"}, {"built_from": ""}])
def test_a_verdict_on_what_has_changed_is_none(store, changes):
    assert store(note(**changes)).verdict(CASE, KAFKA) is None


def test_forgetting_leaves_other_cases_alone(store):
    kept = store(note(), msgspec.structs.replace(note(), case="groups/other"))
    kept.forget()
    assert kept.verdict(CASE, KAFKA) is None
    assert len(kept) == 1


def test_what_was_shown_is_not_run_again(store, monkeypatch):
    asked = []
    monkeypatch.setattr(
        prove, "_run", lambda store, target, cases, *more: asked.append((target, [c.id for c in cases]))
    )
    prove._passes([CASE], store(note()), KAFKA)
    prove._passes([CASE], store(note(verdict="fail")), KAFKA)
    prove._failures([CASE], store(note(SICK, "fail"), note("reference", "fail", refuted=True)))
    assert asked[:2] == [(KAFKA, []), (KAFKA, [CASE.id])]
    assert (SICK, [CASE.id]) not in asked


def test_passes_and_failures_enter_the_record(store):
    entries = {}
    kept = store(note(), note(SICK, "fail"), note("reference", "fail", refuted=True), note("kafka:4.3.1", "fail"))
    for one in kept.of(CASE):
        kept.enter(entries, CASE, one)
    entry = entries[CASE.id]
    assert entry.passed_on == ["Apache Kafka 4.4.0 (2026-11-21)"]
    assert entry.fails_with == ["M30b", "an edited answer"]
    assert proof.holds(entry, CASE)


def test_a_pass_of_today_replaces_that_of_the_same_kafka_alone():
    entries = {CASE.id: proof.Entry(CASE.content_hash, built_from(CASE))}
    for line in ("Apache Kafka 4.4.0 (2026-11-20)", "Apache Kafka 4.4.0, three nodes (2026-11-20)"):
        proof.note(entries, CASE, passed_on=line)
    proof.note(entries, CASE, passed_on="Apache Kafka 4.4.0 (2026-11-21)")
    told = ["Apache Kafka 4.4.0, three nodes (2026-11-20)", "Apache Kafka 4.4.0 (2026-11-21)"]
    assert entries[CASE.id].passed_on == told


def test_an_entry_of_before_keeps_its_passes_until_the_case_has_passed_again():
    old = proof.Entry(CASE.content_hash, "", ["Apache Kafka 4.4.0 (2026-11-20)"], ["M30b"])
    entries = {CASE.id: old}
    proof.note(entries, CASE, fails_with="M30a")
    assert entries[CASE.id].passed_on == ["Apache Kafka 4.4.0 (2026-11-20)"]
    proof.note(entries, CASE, passed_on="Apache Kafka 3.9.2 (2026-11-21)")
    assert entries[CASE.id].passed_on == ["Apache Kafka 3.9.2 (2026-11-21)"]
    assert entries[CASE.id].built_from == built_from(CASE)
