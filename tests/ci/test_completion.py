"""`brokertrial completion`: the script of each shell, and what each is offered."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem

from brokertrial.ci.commands.completion import runs, targets

COMMAND = str(Path(sys.executable).with_name("brokertrial"))


def offered(shell: str, **asked: str) -> list[str]:
    environment = os.environ | asked | {"_BROKERTRIAL_COMPLETE": f"{shell}_complete"}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell: str) -> None:
    done = subprocess.run([COMMAND, "completion", shell], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "_BROKERTRIAL_COMPLETE" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True, timeout=60)


@pytest.mark.parametrize(
    ("words", "last", "name"),
    [
        ("brokertrial ga", "ga", "gate"),
        ("brokertrial run --target ref", "ref", "reference"),
        ("brokertrial run --select ordering/one", "ordering/one", "ordering/one-connection"),
        ("brokertrial gate --deselect zookeeper/", "zookeeper/", "zookeeper/*"),
        ("brokertrial run --target kafka:4.4", "4.4", "4.4.0"),
        ("brokertrial run --target kafka:", ":", "4.4.0"),
        ("brokertrial run --target 'kafka:4", "'kafka:4", "kafka:4.4.0"),
        ("brokertrial run --target kafka:4", "kafka:4", "kafka:4.4.0"),  # COMP_WORDBREAKS without `:`
        ("brokertrial run --target=ref", "ref", "reference"),
        ("brokertrial run --target=", "=", "reference"),
        ("brokertrial run --target=kafka:4", "4", "4.4.0"),
        ("brokertrial run --target=ref", "--target=ref", "--target=reference"),
        ("brokertrial run --target ", "", "reference"),
    ],
)
def test_bash_is_offered_the_part_that_it_puts_back(words: str, last: str, name: str) -> None:
    assert f"plain,{name}" in offered("bash", COMP_WORDS=words, COMP_CWORD=last)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_bash_itself_completes_behind_a_colon() -> None:
    """The words are those that bash makes of the line with its usual COMP_WORDBREAKS."""
    text = f"""
        source <({COMMAND} completion bash)
        compopt() {{ :; }}
        COMP_LINE='brokertrial run --target bootstrap:12' COMP_POINT=37 COMP_CWORD=5
        COMP_WORDS=(brokertrial run --target bootstrap : 12)
        _brokertrial_completion {COMMAND}
        echo "${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, timeout=120)
    assert done.stdout == "127.0.0.1:9092\n", done.stderr


@pytest.mark.parametrize("word", ["--target=ref", "--target=reference"])
def test_zsh_and_fish_are_offered_the_whole_word(word: str) -> None:
    line = f"brokertrial run {word}"
    assert "--target=reference" in offered("zsh", COMP_WORDS=line, COMP_CWORD="2")
    assert "plain,--target=reference" in offered("fish", COMP_WORDS=line, COMP_CWORD=word)


def test_a_run_is_completed_and_then_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert names(runs("", of_cases=True)) == []
    for case in ("offsets.ends", "ordering.one-connection"):
        (tmp_path / "runs" / "one" / "histories" / case).mkdir(parents=True)
    (tmp_path / "runs" / "one" / "run.json").touch()
    (tmp_path / "runs" / "two.zip").touch()
    (tmp_path / "runs" / "notes.md").touch()
    assert names(runs("r", of_cases=True)) == ["runs/"]
    assert names(runs("", of_cases=True)) == names(runs("runs/", of_cases=True)) == ["runs/one/", "runs/two.zip"]
    assert names(runs("runs/o", of_cases=False)) == ["runs/one"]
    assert names(runs("runs/one/or", of_cases=True)) == ["runs/one/ordering.one-connection"]
    assert names(runs("runs/one/", of_cases=False)) == []
    assert names(runs(f"{tmp_path}/runs/t", of_cases=True)) == [f"{tmp_path}/runs/two.zip"]
    assert names(runs("none/", of_cases=True)) == []
    assert "plain,runs/one/" in offered("bash", COMP_WORDS="brokertrial explain runs/", COMP_CWORD="runs/")


def test_a_file_that_describes_a_target_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.toml", "mine.md"):
        (tmp_path / name).touch()
    (tmp_path / "brokers").mkdir()
    assert names(targets("file:")) == ["file:brokers/", "file:mine.toml", "file:broker.toml"]
    assert names(targets("file:m")) == ["file:mine.toml"]
    assert "file:broker.toml" in names(targets("fi"))


def names(items: list[CompletionItem[str]]) -> list[str]:
    return [item.value for item in items]
