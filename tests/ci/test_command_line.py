"""Every mistake at the command line is one clear sentence and the right exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.ci import run_folder
from brokertrial.ci.cli import main
from brokertrial.ci.errors import UserError
from brokertrial.ci.run_location import find
from brokertrial.suites.guarantees import registry
from brokertrial.suites.running.run_folder import new_run


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("run",), 4, "Missing option '--target'"),
        (("frobnicate",), 4, "No such command 'frobnicate'"),
        (("run", "--target", "referense"), 4, "Did you mean reference?"),
        (("run", "--target", "kafka:"), 4, "needs a version"),
        (("run", "--target", "bootstrap:nowhere"), 4, "is not HOST:PORT"),
        (("run", "--target", "reference?mutent=M05"), 4, "mutant"),
        (("run", "--target", "file:no-such.toml"), 4, "no-such.toml"),
        (("run", "--target", "image:x?nodes=2"), 4, "nodes is 1 or 3"),
        (("run", "--target", "reference", "--known", "no-such.toml"), 4, "cannot be read"),
        (("run", "--target", "reference", "--claims", "no-such.toml"), 4, "there is no such file"),
        (("run", "--target", "reference", "--select", "claims/transaction"), 4, "Did you mean claims/transactions"),
        (("run", "--target", "reference", "--profile", "huge"), 4, "huge"),
        (("check", "runs/none"), 4, "there is no such run folder"),
        (("replay", "runs/none/area.name"), 4, "there is no such run folder"),
        (("doctor", "--clean", "runs/none"), 4, "there is no such run folder"),
        (("analyze",), 4, "Missing argument"),
        (("explain",), 4, "Missing argument"),
        (("compare", "a", "b"), 4, "no such run folder or archive"),
    ],
)
def test_a_mistake_is_one_sentence_and_a_status(
    arguments: tuple[str, ...],
    status: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (status, "")
    assert err.startswith("brokertrial") and words in err
    assert "Traceback" not in err and len(err.splitlines()) <= 3
    assert list(tmp_path.iterdir()) == []


def test_our_own_mistake_is_never_status_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brokertrial.ci.commands.targets.list_page", lambda: 1 / 0)
    code, _, err = said(capsys, "targets")
    assert code == 3
    assert "ZeroDivisionError" in err


def test_coverage_names_every_guarantee_once(capsys: pytest.CaptureFixture[str]) -> None:
    main(["cases", "--coverage"])
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert sorted(rows) == sorted(registry())


def test_a_broker_file_is_printed_to_start_from(capsys: pytest.CaptureFixture[str]) -> None:
    main(["targets", "--example"])
    assert "start" in capsys.readouterr().out


def test_two_runs_of_one_second_get_two_folders(tmp_path: Path) -> None:
    first, second = (new_run(tmp_path, "kafka:4.4.0?nodes=3", 42) for _ in range(2))
    assert first != second
    assert first.name.endswith("-kafka-4.4.0-nodes=3-42")


def test_a_case_may_be_written_with_a_slash_or_a_dot(tmp_path: Path) -> None:
    run_folder.seal(tmp_path, {}, complete=True)
    for text in ("offsets/by-time", "offsets.by-time", "histories/offsets.by-time"):
        assert find(f"{tmp_path}/{text}").case == "offsets/by-time"
    assert find(str(tmp_path)).case is None


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither a run folder"):
        find(str(tmp_path))
