"""kfake:VERSION as a target: any version of the Go module, made into a program once and kept in the cache."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from brokertrial.suites.targets.cache import make_once

MODULE = "github.com/twmb/franz-go/pkg/kfake"
NEEDS = "github.com/twmb/franz-go"
BUILD = ["build", "-o", "kfakebroker", "."]
SOURCE = Path(__file__).with_name("kfake.go")
WITHIN_S = 900
BROKER = """nodes   = 1
process = "all"
start   = ["{program}", "-ports={{ports}}"]
ready   = {{ within_s = 30 }}
stop    = {{ signal = "TERM", within_s = 10 }}
alarm   = "panic"
"""


def target_of(address: str, shelf: Path) -> str:
    """What `--target` takes for a target of the list; a kfake is built where it is not on the shelf yet.

    Raises RuntimeError where there is no Go, or the module cannot be had or built."""
    scheme, _, version = address.partition(":")
    if scheme != "kfake":
        return address
    folder = make_once(shelf / version, lambda made: _build(version, made))
    file = folder / "broker.toml"
    file.write_text(BROKER.format(program=folder / "kfakebroker"), encoding="utf-8")
    return f"file:{file}"


def _build(version: str, folder: Path) -> None:
    if shutil.which("go") is None:
        raise RuntimeError(f"kfake:{version} needs Go, and `go` is not on the PATH")
    shutil.copy(SOURCE, folder / "main.go")
    for command in (["mod", "init", "kfakebroker"], ["get", f"{MODULE}@{version}"], ["mod", "tidy"]):
        _go(command, folder)
    try:
        _go(BUILD, folder)
    except RuntimeError:  # a version of the module that was published with too old a requirement
        _go(["get", f"{NEEDS}@upgrade"], folder)
        _go(BUILD, folder)


def _go(command: list[str], folder: Path) -> None:
    done = subprocess.run(["go", *command], cwd=folder, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    if done.returncode:
        raise RuntimeError(f"go {' '.join(command)}: {done.stderr[-1000:]}")
