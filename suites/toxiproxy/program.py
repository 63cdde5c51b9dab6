"""The server program: built once by Go from the module proxy, and kept in the user's cache."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from brokertrial.checkers.linearizability.porcupine.build import installed_go
from brokertrial.suites.targets.cache import cache_folder, make_once

VERSION = "v2.12.0"
MODULE = "github.com/Shopify/toxiproxy/v2/cmd/server"
CHOSEN = "BROKERTRIAL_TOXIPROXY"
"""Environment variable: a server that was built elsewhere, instead of building one."""
BUILD_TIMEOUT_S = 600
OLDEST_GO = "1.23"


class ToxiproxyMissing(Exception):
    """There is no server, and what it would take."""


def is_there() -> bool:
    """Whether there is one that need not be built first."""
    return bool(os.environ.get(CHOSEN)) or _place().exists()


def server() -> Path:
    """The program, built now if it never was: half a minute. Raises ToxiproxyMissing."""
    if chosen := os.environ.get(CHOSEN):
        if not os.access(chosen, os.X_OK):
            raise ToxiproxyMissing(f"{CHOSEN} names {chosen}, which is no program.")
        return Path(chosen)
    if not _place().exists():
        make_once(_place(), _build)
    return _place() / "server"


def _place() -> Path:
    return cache_folder() / "toxiproxy" / VERSION


def _build(folder: Path) -> None:
    go = installed_go()
    if go is None:
        raise ToxiproxyMissing(
            f"Toxiproxy is built by Go {OLDEST_GO} or newer, and there is none: install it, `pip install "
            "brokertrial[go]`, or start a Toxiproxy and name it with --toxiproxy HOST:PORT."
        )
    command = [str(go), "install", "-trimpath", "-ldflags=-s -w", f"{MODULE}@{VERSION}"]
    environment = os.environ | {"GOBIN": str(folder), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=BUILD_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ToxiproxyMissing(f"Toxiproxy could not be built with {go}: {problem}.") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise ToxiproxyMissing(f"Toxiproxy could not be built with {go}: {said[-1]}")
