"""The image: it is built from the wheel and runs a case, where there is a container engine.

BROKERTRIAL_IMAGE_BASE names another base image than that of the recipe.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE = os.environ.get("BROKERTRIAL_IMAGE_BASE", "")
TAG = "brokertrial-test"


def docker(*arguments: str, timeout: int = 900) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=timeout)


def has_engine() -> bool:
    return shutil.which("docker") is not None and docker("info", timeout=30).returncode == 0


@pytest.fixture
def image(tmp_path: Path) -> Iterator[str]:
    if not has_engine():
        pytest.skip("needs a container engine")
    command = [sys.executable, "-m", "build", "--quiet", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(command, check=True, timeout=240)
    for name in ("Dockerfile", ".dockerignore", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    base = ["--build-arg", f"BASE={BASE}"] if BASE else []
    built = docker("build", "--network", "host", "--target", "base", *base, "--tag", TAG, str(tmp_path))
    assert built.returncode == 0, built.stdout + built.stderr
    yield TAG
    docker("image", "rm", TAG)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("user", ["0:0", "1000:1000"])
def test_the_image_runs_a_case(image: str, user: str, tmp_path: Path) -> None:
    """Also as a user that has no home there; what is fetched once has a place where that user may write."""
    work = tmp_path / "work"
    work.mkdir()
    work.chmod(0o777)
    place = ("--rm", "--network", "host", "--user", user, "--volume", f"{work}:/work")
    run = ("run", "--target", "reference", "--select", "ordering/offsets-rise", "--seed", "1")
    done = docker("run", *place, image, *run, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    write = 'mkdir -p "$XDG_CACHE_HOME/brokertrial/kafka" && touch "$XDG_CACHE_HOME/brokertrial/kafka/x"'
    done = docker("run", *place, "--entrypoint", "sh", image, "-c", write, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
