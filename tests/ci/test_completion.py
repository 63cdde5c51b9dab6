"""`brokertrial completion`: the script of each shell, and what bash is offered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("brokertrial"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell: str) -> None:
    done = subprocess.run([COMMAND, "completion", shell], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "_BROKERTRIAL_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("brokertrial ga", "gate"),
        ("brokertrial run --target ref", "reference"),
        ("brokertrial run --select ordering/one", "ordering/one-connection"),
        ("brokertrial gate --deselect zookeeper/", "zookeeper/*"),
    ],
)
def test_bash_is_offered_what_begins_so(words: str, offered: str) -> None:
    last = str(len(words.split()) - 1)
    asked = {"COMP_WORDS": words, "COMP_CWORD": last, "_BROKERTRIAL_COMPLETE": "bash_complete"}
    done = subprocess.run([COMMAND], env=os.environ | asked, capture_output=True, text=True, timeout=60)
    assert f"plain,{offered}" in done.stdout.splitlines()
