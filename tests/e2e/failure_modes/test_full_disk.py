"""The disk is full while a history is being written: said once, not tried again, never a verdict on the broker."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from brokertrial.suites.targets import open_target
from tests.e2e.failure_modes.runs import COMMAND, one_line

OF_ITS_OWN = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
"""A mount that nobody else sees, and that is gone with the process."""


def small_disk(folder: Path, kilobytes: int, *commands: str) -> subprocess.CompletedProcess[str]:
    """Runs the commands in a shell whose folder is a disk of that size."""
    mount = f"mount -t tmpfs -o size={kilobytes}k tmpfs {shlex.quote(str(folder))} && cd {shlex.quote(str(folder))}"
    script = "; ".join([f"{mount} || exit 99", *commands])
    return subprocess.run([*OF_ITS_OWN, "sh", "-c", script], capture_output=True, text=True, timeout=240)


def test_a_full_disk_is_the_suites_trouble(tmp_path: Path) -> None:
    if (tried := small_disk(tmp_path, 100)).returncode:
        pytest.skip(f"no small disk can be mounted here: {one_line(tried)}")
    with open_target("reference", tmp_path.with_name("theirs")) as theirs:
        run = shlex.join(
            [COMMAND, "run", "--target", f"bootstrap:{theirs.bootstrap}", "--select", "idempotence/lost-ack"]
        )
        check = f"{shlex.quote(COMMAND)} check runs/*"
        done = small_disk(tmp_path, 150, run, 'echo "run: $?"', check, 'echo "check: $?"')
    said = one_line(done)
    assert "cannot be written any further: No space left on device." in said, said
    assert "run: 3 " in said and "0 passed, 0 failed, 1 inconclusive (unwritten 1)" in said, said
    assert "attempt 2" not in said and "Traceback" not in said, said
    assert "check: 0" not in said and "check: 1" not in said, said
