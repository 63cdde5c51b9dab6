"""The proof record: keyed by the case's own text, due for renewal with what lies under it, and bound to a setting."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

from brokertrial.histories.tempdirs import holding
from brokertrial.suites.case import by_id
from brokertrial.suites.proving import case_dependencies, proof_record, prove
from brokertrial.suites.proving.case_dependencies import text_hash, text_of, under_hash
from brokertrial.suites.proving.notes import Note
from brokertrial.suites.proving.proof_record import KafkaPass, ProofRecord
from brokertrial.suites.proving.prove import ProofWork

CASE = by_id()["offsets/by-time-within-a-batch"]
TRIAL = by_id()["idempotence/lost-ack"]
KAFKA, SICK = "kafka:4.4.0", "reference?mutant=M30b"
SOURCE = '''
LIMIT = 3

@case("a/one", guarantee="x", detects=["M01"])
def one(wire):
    """Words."""
    helper(wire)

@case("a/two", guarantee="x")
def two(wire):
    """Words."""
    said = [each for each in helper(2) if each != LIMIT]
    wire.must(said, f"it is {said}")

def helper(what):
    return LIMIT
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Words."""', '"""Other words."""'),
        ("    helper(wire)", "    # why\n\n    helper(\n        wire,\n    )"),
        ('detects=["M01"]', 'detects=["M02", "M03"]'),
        ("in helper(2)", "in helper(3)"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("def one(", "def other("),
    ],
)
def test_the_text_of_a_case_is_its_function_and_declaration_alone(old, new):
    assert old in SOURCE
    name = "other" if "def other(" in new else "one"
    assert text_of(SOURCE.replace(old, new), name) == text_of(SOURCE, "one")


def renamed(source: str, old: str, new: str) -> str:
    return re.sub(rf"\b{old}\b", new, source)


def test_what_a_case_calls_its_variables_counts_for_nothing():
    assert text_of(renamed(renamed(SOURCE, "said", "answers"), "each", "row"), "two") == text_of(SOURCE, "two")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wire", "cluster"),  # a parameter: what is given is found by it
        ("said", "helper"),  # one of the module's
        ("said", "each"),  # two variables become one
        ("helper", "other"),  # what is called
        ("must", "should"),  # an attribute
    ],
)
def test_any_other_name_counts(old, new):
    assert text_of(renamed(SOURCE, old, new), "two") != text_of(SOURCE, "two")


def test_the_places_of_two_variables_count():
    source = "def two(wire):\n    a = wire.a()\n    b = wire.b()\n    return a - b\n"
    assert text_of(source.replace("a - b", "b - a"), "two") != text_of(source, "two")


@pytest.mark.parametrize(("old", "new"), [("helper(wire)", "helper(1)"), ('"a/one", guarantee="x"', '"a/one"')])
def test_a_case_with_another_text_is_another_case(old, new):
    assert text_of(SOURCE.replace(old, new), "one") != text_of(SOURCE, "one")


@pytest.mark.parametrize(
    ("case", "files"),
    [
        (CASE, {"suites/probe/run_case.py", "suites/probe/list_offsets.py", "wire/decoder.py", "wire/schema"}),
        (
            TRIAL,
            {
                "checkers/judge.py",
                "checkers/checks/duplicate.py",
                "suites/trials/verdict.py",
                "suites/trials/run_trial.py",
            }
            | {
                "suites/trials/final_read.py",
                "faults/proxy_process.py",
                "faults/kinds/drop_response.py",
                "wire/schema",
            },
        ),
    ],
)
def test_what_runs_and_judges_a_case_lies_under_it(case, files):
    assert files <= case_dependencies.under(case)
    assert case.file.relative_to(case_dependencies.ROOT).as_posix() in case_dependencies.under(case)


def test_faults_and_checkers_judge_no_wire_case():
    assert not [file for file in case_dependencies.under(CASE)
                if file.startswith(("faults/", "checkers/checks", "suites/case"))
                and file != "suites/cases/offsets/by_time.py"]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("LIMIT = 3", "LIMIT = 4", False),
        ("return LIMIT", "return 0", False),
        ("helper(wire)", "helper(1)", True),
        ("def helper(what):", "# why\ndef helper(what: int) -> int:", True),
    ],
)
def test_of_a_file_of_cases_counts_what_they_share(tmp_path, old, new, same):
    said = []
    for number, source in enumerate((SOURCE, SOURCE.replace(old, new))):
        folder = tmp_path / str(number) / "suites/cases/a"
        folder.mkdir(parents=True)
        (folder / "one.py").write_text(source)
        said.append(case_dependencies.state_of(["suites/cases/a/one.py"], tmp_path / str(number)))
    assert (said[0] == said[1]) is same


def test_what_is_there_for_the_type_checker_alone_is_not_followed():
    nodes = list(case_dependencies._nodes(ast.parse("if TYPE_CHECKING:\n    import a\ndef f():\n    import b\n")))
    assert [node.names[0].name for node in nodes if isinstance(node, ast.Import)] == ["b"]


@pytest.fixture
def shipped(monkeypatch):
    """A record that knows one pass on three nodes and one on one, of a day on which one file said something else."""

    def made(*nodes, was=None):
        kept = ProofRecord()
        now = kept.now()
        kept.states["then"] = {**kept.states[now], **(was or {})}
        for count in nodes:
            kept.passed(CASE, KafkaPass("4.4.0", count, "2026-11-21", "then"))
        monkeypatch.setattr(proof_record, "record", lambda: kept)
        return kept

    return made


def test_a_changed_helper_leaves_the_proof_in_force_and_marks_it(shipped):
    shipped(1, 3)
    assert proof_record.proof_of(CASE).renewal_due == ()
    kept = shipped(1, 3, was={"suites/probe/run_case.py": "other", "suites/trials/run_trial.py": "other"})
    told = proof_record.proof_of(CASE, nodes=1)
    assert told.renewal_due == kept.marked(CASE) == ("suites/probe/run_case.py",)
    assert "renewal due: suites/probe/run_case.py changed since" in told.sentence
    assert told.speaks_of(1) and told.speaks_of(3)
    assert [line for line in prove.marks([CASE]) if "suites/probe/run_case.py" in line]


def test_a_changed_text_is_not_proven(shipped):
    kept = shipped(1)
    kept.cases[CASE.id].text = "of before"
    assert proof_record.proof_of(CASE) is None
    assert prove.marks([CASE])[0] == f"{CASE.id}: not proven as it is written now"


@pytest.mark.parametrize(("proven", "target", "speaks"), [(3, 3, True), (3, 1, False), (1, 1, True), (1, 3, False)])
def test_a_pass_speaks_of_the_setting_that_it_was_seen_in(shipped, proven, target, speaks):
    shipped(proven)
    told = proof_record.proof_of(CASE, target)
    assert told.speaks_of(target) is speaks
    assert f"Apache Kafka 4.4.0, {'three nodes' if proven == 3 else 'one node'} (2026-11-21)" in told.sentence


def test_a_pass_at_the_third_attempt_is_shown_as_such():
    assert str(KafkaPass("4.4.0", 1, "2026-11-21", "x", 3)).endswith("(2026-11-21, at the third attempt)")


def note(target=KAFKA, verdict="pass", refuted=False, attempt=1, **changes):
    said = {"text": text_hash(CASE), "under": under_hash(CASE), **changes}
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
        day="2026-11-23",
        attempt=attempt,
        **said,
    )


@pytest.fixture
def work(tmp_path, monkeypatch):
    def made(*notes, tail=b"", record=None):
        path = tmp_path / "notes.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in notes) + tail)
        monkeypatch.setattr(proof_record, "read", lambda path: record or ProofRecord())
        begun = ProofWork([CASE], path)
        begun.asked = []
        monkeypatch.setattr(begun, "_run", lambda target, cases, *more: begun.asked.append((target, len(cases), *more)))
        return begun

    return made


def test_what_a_kill_left_is_taken_in_and_a_line_cut_off_is_not(work):
    begun = work(note(attempt=2), note(SICK, "fail"), note("reference", "fail", refuted=True), tail=b'{"case":"offs')
    entry = begun.record.entry(CASE)
    assert [str(one) for one in entry.passes] == ["Apache Kafka 4.4.0, one node (2026-11-23, at the second attempt)"]
    assert entry.fails_with == ["M30b", proof_record.EDITED_RESPONSE]
    assert begun._passed(CASE, KAFKA) and not begun._passed(CASE, "kafka:4.4.0?nodes=3")


@pytest.mark.parametrize("changes", [{"text": "of before"}, {"under": "of before"}])
def test_a_pass_of_another_text_or_of_another_judge_is_none(work, changes):
    assert not work(note(**changes))._passed(CASE, KAFKA)


def test_a_planted_bug_that_failed_it_is_not_planted_again_when_the_judge_changes(work):
    assert work(note(SICK, "fail", under="of before")).record.entry(CASE).fails_with == ["M30b"]


def test_only_what_is_not_shown_or_due_is_run(work):
    shown = work(note())
    shown.passes(KAFKA)
    failed = work(note(verdict="fail"))
    failed.passes(KAFKA)
    due = ProofRecord()
    due.states["then"] = {}
    due.passed(CASE, KafkaPass("4.4.0", 1, "2026-11-21", "then"))
    renewed = work(record=due)
    renewed.passes(KAFKA)
    assert [one.asked for one in (shown, failed, renewed)] == [[(KAFKA, 0)], [(KAFKA, 1)], [(KAFKA, 1)]]


@pytest.mark.parametrize(("verdict", "kept"), [("pass", 0), ("not applicable", 0), ("fail", 1), ("inconclusive", 1)])
def test_a_run_in_which_a_case_did_not_pass_on_kafka_is_kept(tmp_path, monkeypatch, verdict, kept):
    def noted_run(options, path, limit_s):
        options = options.validated().in_folder()
        options.leave()
        Path(options.run_dir, "results.jsonl").write_bytes(b"{}")
        path.write_bytes(msgspec.json.encode(note(verdict=verdict)) + b"\n")
        return ""

    monkeypatch.setattr(prove, "noted_run", noted_run)
    monkeypatch.setattr(proof_record, "read", lambda path: ProofRecord())
    ProofWork([CASE], tmp_path / "notes.jsonl").passes(KAFKA)
    assert len(list(tmp_path.glob("not-passed/*kafka-4.4.0*/results.jsonl"))) == kept


def test_a_case_that_needs_three_nodes_is_proven_on_three_nodes_of_each_release():
    wanted = {case.id: [t for t in prove.TARGETS[:-1] if ProofWork._wanted(None, case, t)] for case in by_id().values()}
    clusters = [one for one in prove.TARGETS if "nodes=3" in one and one not in (*prove.ZOOKEEPER, prove.CONTROLLERS)]
    assert wanted["replication/leader-lost"] == clusters == [f"kafka:{one}?nodes=3" for one in prove.RELEASES]
    assert wanted["replication/two-lost-at-once"] == [*clusters, prove.CONTROLLERS], "it crashes controllers"
    assert wanted["zookeeper/one-live-controller"] == list(prove.ZOOKEEPER)
    assert wanted["zookeeper/states-only-advance"] == [prove.ZOOKEEPER[1]]
    assert wanted[TRIAL.id] == ["kafka:4.4.0", "kafka:4.3.1", "kafka:3.9.2", "kafka:4.4.0?nodes=3"]


def test_edited_answers_are_told_again_when_they_change(work):
    begun = work(note("reference", "fail", refuted=True))
    if CASE.tampered_responses:
        assert not begun._untold(CASE)
    begun.record.entry(CASE).lies = "of before"
    assert begun._untold(CASE) is bool(CASE.tampered_responses)


def test_a_release_that_is_newer_than_those_cases_are_proven_on_is_said(shipped, monkeypatch, capsys):
    shipped(1)
    prove.main(["--marked", "--select", CASE.id])
    assert "Newer than any Kafka" not in capsys.readouterr().out
    monkeypatch.setattr(prove.releases, "RELEASES", ("3.9.2", "4.4.0", "4.5.0"))
    prove.main(["--marked", "--select", CASE.id])
    assert "Newer than any Kafka that cases are proven on: 4.5.0" in capsys.readouterr().out


def test_two_commands_do_not_write_one_record(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(proof_record, "RECORD", tmp_path / "record.json")
    with holding(tmp_path):
        assert prove.main([KAFKA, "--select", CASE.id]) == 2
    assert "Wait for its end" in capsys.readouterr().out
