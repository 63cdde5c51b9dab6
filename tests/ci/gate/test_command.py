"""`brokertrial gate` as a command: what it refuses, and what it leaves for the next time. No broker is started."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
import pytest

from brokertrial.ci import cli
from brokertrial.ci.commands import gate as command
from brokertrial.ci.gate import last_run, policy, templates
from brokertrial.ci.reports import known as baselines
from brokertrial.suites.case import by_id
from brokertrial.suites.events import LeftOut
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from tests.ci.gate.conftest import started
from tests.ci.gate.made import absent, failed, passed, unsure
from tests.ci.gate.test_runs import A, B, C, leave


def gate(monkeypatch: pytest.MonkeyPatch, results: list[CaseResult], *words: str) -> int:
    """The status of the command, where the run comes to these results."""
    monkeypatch.setattr(command, "run_in_child", lambda options: leave(Path(options.run_dir or ""), results))
    return asked(*words)


def gate_in_turn(monkeypatch: pytest.MonkeyPatch, rounds: list[list[CaseResult]], *words: str) -> int:
    """The same, where one run comes after the other."""
    left = iter(rounds)
    monkeypatch.setattr(command, "run_in_child", lambda options: leave(Path(options.run_dir or ""), next(left)))
    return asked(*words)


def asked(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["gate", "--target", "reference", "--baseline", "known.toml", "--seed", "1", *words])
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


def test_without_a_baseline_it_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(monkeypatch, [passed(A)]) == ExitStatus.USAGE
    assert "known.toml: there is no such baseline.\n  For a first run: add --write-baseline." in capsys.readouterr().err
    assert not Path("gate").exists()


def test_a_baseline_is_not_overwritten(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    (elsewhere / "known.toml").write_text("# mine\n")
    assert gate(monkeypatch, [failed(A)], "--write-baseline") == ExitStatus.USAGE
    assert (elsewhere / "known.toml").read_text() == "# mine\n"


def test_from_a_first_run_to_a_red_one(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    again = ("--last", "last", "--save-last", "last")
    pair = msgspec.structs.replace(failed(A, 'is "odd" \\ \t'), case=f"{A}@stop-1")
    first = [failed(A, "statement:Fetch:is NONE"), pair, passed(B), failed(C, level="should")]
    assert gate(monkeypatch, first, "--write-baseline", "--expires-in", "30", *again) == 0
    known = baselines.KnownFailures.read(elsewhere / "known.toml", list(by_id()))
    assert [(entry.case, entry.failure) for entry in known.entries] == [
        (A, "statement:Fetch:is NONE"),
        (f"{A}@stop-1", 'is "odd" \\ \t'),
    ]
    assert {(entry.expires or date.min) - command.local_day() for entry in known.entries} == {
        date(2026, 1, 31) - date(2026, 1, 1)
    }
    assert gate(monkeypatch, first, *again) == 0
    assert gate(monkeypatch, [*first[:2], failed(B)], *again) == 1
    kept = last_run.named(elsewhere / "last")
    assert kept is not None and [one.case for one in kept.results] == [one.case for one in first]


def test_a_run_that_did_not_come_to_its_end_writes_no_baseline(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    monkeypatch.setattr(command, "run_in_child", lambda options: int(ExitStatus.NOT_READY))
    with pytest.raises(SystemExit) as ended:
        cli.main(["gate", "--target", "reference", "--baseline", "known.toml", "--write-baseline"])
    assert ended.value.code == ExitStatus.NOT_READY
    assert not (elsewhere / "known.toml").exists()
    assert (elsewhere / "gate" / "gate.json").is_file()


def test_the_policy_asks_for_retries(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    (elsewhere / "known.toml").touch()
    (elsewhere / "policy.toml").write_text("retries = 2\n")
    rounds = iter([[passed(A), unsure(B)], [unsure(B)], [passed(B)]])
    asked: list[RunOptions] = []

    def run(options: RunOptions) -> int:
        asked.append(options)
        return leave(Path(options.run_dir or ""), next(rounds))

    monkeypatch.setattr(command, "run_in_child", run)
    with pytest.raises(SystemExit) as ended:
        cli.main(["gate", "--target", "reference", "--baseline", "known.toml", "--policy", "policy.toml"])
    assert (ended.value.code, len(asked)) == (0, 3)


def test_the_baseline_is_called_as_it_was_given(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    """The run of a gate leaves the last word, and what is to be done about failures, to the gate."""
    (elsewhere / "ours.toml").touch()
    options: list[RunOptions] = []

    def run(given: RunOptions) -> int:
        options.append(given)
        return leave(Path(given.run_dir or ""), [failed(A)])

    monkeypatch.setattr(command, "run_in_child", run)
    assert asked("--baseline", "ours.toml") == 1
    assert options[0].gate
    text = (elsewhere / "gate" / "summary.md").read_text()
    assert "/known-failures.toml into ours.toml." in text and "--known" not in text


def test_the_last_line_says_why(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "known.toml").touch()
    gate(monkeypatch, [failed(A)])
    assert capsys.readouterr().out.splitlines()[-1] == "Gate failed (exit status 1): 1 new failure"
    gate(monkeypatch, [unsure(A)])
    assert capsys.readouterr().out.splitlines()[-1] == "Gate did not decide (exit status 6): 1 inconclusive case"
    gate(monkeypatch, [passed(A)])
    assert capsys.readouterr().out.splitlines()[-1] == "Gate passed (exit status 0)"


def test_a_gate_that_cannot_run_leaves_no_file_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "known.toml").touch()
    assert gate(monkeypatch, [passed(A)]) == 0
    (elsewhere / "gate" / "mine.txt").touch()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    (elsewhere / "known.toml").write_text("[[known]]\ncase = 'a/b'\n")
    capsys.readouterr()
    assert gate(monkeypatch, [passed(A)]) == ExitStatus.USAGE
    assert [path.name for path in (elsewhere / "gate").iterdir()] == ["mine.txt"]
    assert "::error title=brokertrial gate::known.toml:1: there is no case `a/b`." in capsys.readouterr().out
    assert (elsewhere / "output").read_text() == "status=4\n"


def test_a_word_that_is_wrong_is_refused_as_all_else_is(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for out in ("gate", "mine"):
        (elsewhere / out).mkdir()
        (elsewhere / out / "junit.xml").write_text("of the gate before")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert asked("--out", "mine", "--profile", "huge") == ExitStatus.USAGE
    told = capsys.readouterr()
    assert told.out.startswith("::error title=brokertrial gate::Invalid value for '--profile': 'huge'")
    assert "Invalid value for '--profile': 'huge'" in told.err
    assert not list((elsewhere / "mine").iterdir()) and list((elsewhere / "gate").iterdir())
    assert asked("--profil=smok", "--out=gate") == ExitStatus.USAGE
    assert not list((elsewhere / "gate").iterdir())


def test_what_runs_first_is_said_and_its_run_may_be_missing(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "known.toml").touch()
    assert gate(monkeypatch, [passed(A)], "--changed-since", "before", "--save-last", "before") == 0
    assert "before is not there: no case runs before its time\n" in capsys.readouterr().out
    monkeypatch.setattr(last_run.LastRun, "to_run_first", lambda run: (A,))
    assert gate(monkeypatch, [passed(A)], "--changed-since", "before") == 0
    told = "1 case failed in before, or without a verdict there, or new or changed since: run first, among those that"
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "begins"),
    [("github", "# brokertrial as a step"), ("gitlab", "# brokertrial as a job"), ("policy", 'block = ["must"]')],
)
def test_a_template_is_printed(capsys: pytest.CaptureFixture[str], name: str, begins: str) -> None:
    cli.main(["gate", "--template", name])
    assert capsys.readouterr().out.startswith(begins)


def test_every_template_can_be_printed_and_the_policy_is_the_default_one(elsewhere: Path) -> None:
    choice = next(option for option in cli.cli.commands["gate"].params if option.name == "template").type
    assert tuple(getattr(choice, "choices", ())) == templates.NAMES
    assert all(templates.text(name) for name in templates.NAMES)
    text = templates.text("policy").partition("[areas]")[0]
    (elsewhere / "policy.toml").write_text(text)
    assert policy.read(elsewhere / "policy.toml") == policy.Policy()


def test_days_without_a_baseline_to_write_are_refused(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "known.toml").touch()
    assert gate(monkeypatch, [passed(A)], "--expires-in", "5") == ExitStatus.USAGE
    assert "--expires-in says when the entries expire" in capsys.readouterr().err


def test_a_first_baseline_begins_with_what_is_most_harmful(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = [failed(A), failed(B, "anomaly:lost-write"), passed(C)]
    assert gate(monkeypatch, first, "--write-baseline", "--expires-in", "1") == 0
    known = baselines.KnownFailures.read(elsewhere / "known.toml", list(by_id()))
    assert [entry.case for entry in known.entries] == [B, A]
    told = "known.toml: 2 known failures, the most harmful first, each for 1 day; read them before you commit it"
    assert told in capsys.readouterr().out


def test_what_was_broken_is_said_at_the_end(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "known.toml").touch()
    gate(monkeypatch, [failed(A), failed(B, "anomaly:lost-write"), failed(C)])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index(f"    {B}: it is wrong")
    assert lines[at - 1] == f"  3 new failures: {A}, {B}, {C}"
    assert lines[at + 1] == f"    {A}: it is wrong", "one line a cause"
    assert lines[at + 2].startswith("    brokertrial explain runs/") and lines[at + 2].endswith(f"/{B}")


def test_a_run_that_the_gate_refused_does_not_become_the_last_good_one(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    (elsewhere / "known.toml").touch()
    again = ("--runs", "all", "--last", "all")
    assert gate(monkeypatch, [passed(A), passed(B)], *again) == 0
    for _ in range(3):
        assert gate(monkeypatch, [passed(A), absent(B)], *again) == 1


def test_the_run_of_what_was_inconclusive_is_no_last_good_run(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    (elsewhere / "known.toml").touch()
    (elsewhere / "policy.toml").write_text("retries = 1\n")
    again = ("--runs", "all", "--last", "all", "--policy", "policy.toml")
    rounds = [[passed(A), unsure(B)], [passed(B)]]
    assert gate_in_turn(monkeypatch, rounds, *again) == 0
    assert [len(list(run.glob("last-good/*"))) for run in sorted((elsewhere / "all").iterdir())].count(1) == 1
    assert gate(monkeypatch, [absent(A), passed(B)], *again) == 1
    assert gate(monkeypatch, [passed(A), absent(B)], *again) == 1, "what the second run decided counts too"


def test_a_part_does_not_replace_the_last_good_run_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "known.toml").touch()
    assert gate(monkeypatch, [passed(A), passed(B)], "--save-last", "last") == 0
    said = capsys.readouterr().out.splitlines()
    assert "  kept as the last good run: last" in said and said[-1] == "Gate passed (exit status 0)"
    part = msgspec.structs.replace(started([passed(A)]), left_out=(LeftOut(B, "not selected"),))
    monkeypatch.setattr(command, "run_in_child", lambda options: leave(Path(options.run_dir or ""), [passed(A)], part))
    assert asked("--save-last", "last") == 0
    assert "not kept: the last good run in last has more cases" in capsys.readouterr().out
    kept = last_run.named(elsewhere / "last")
    assert kept is not None and len(kept.results) == 2
