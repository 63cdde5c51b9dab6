"""Makes a release in this checkout: version, changelog, packages, tag. Nothing leaves the machine.

    make release VERSION=0.2.0

The version has one place, pyproject.toml; everything else asks the installed package for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'^version = "(?P<version>[^"]+)"$', re.MULTILINE)
WANTED = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
UNRELEASED = "## Unreleased\n"
SHOWN = 600
"""Characters of what a command said that failed."""


class NotReleased(Exception):
    """Why there is no release, in one sentence."""


def with_version(project: str, version: str) -> str:
    """pyproject.toml with another version; raises NotReleased for one that is no version, or is not later."""
    if not WANTED.fullmatch(version):
        raise NotReleased(f"{version} is no version: three numbers, such as 0.2.0.")
    found = VERSION.search(project)
    if found is None:
        raise NotReleased("pyproject.toml has no version.")
    if _numbers(version) <= _numbers(found["version"]):
        raise NotReleased(f"{version} does not come after {found['version']}.")
    return project[: found.start("version")] + version + project[found.end("version") :]


def with_section(changelog: str, version: str, day: date) -> str:
    """The changelog with what was unreleased under the version; raises NotReleased where there is nothing."""
    head, mark, rest = changelog.partition(UNRELEASED)
    if not mark:
        raise NotReleased("CHANGELOG.md has no section `Unreleased`.")
    if not re.match(r"\s*(?:###[^\n]*\n\s*)*- ", rest):
        raise NotReleased("CHANGELOG.md says nothing below `Unreleased`.")
    head = head.replace("; nothing has been released yet", "")
    return f"{head}{UNRELEASED}\n## {version} ({day})\n{rest}"


def release(version: str) -> None:
    """Writes both files, builds and checks the packages, commits and tags."""
    if _run("git", "status", "--porcelain"):
        raise NotReleased("The checkout has changes that are not committed.")
    project, changelog = ROOT / "pyproject.toml", ROOT / "CHANGELOG.md"
    texts = {
        project: with_version(project.read_text(encoding="utf-8"), version),
        changelog: with_section(changelog.read_text(encoding="utf-8"), version, datetime.now(UTC).date()),
    }
    _run(sys.executable, "-P", "-m", "brokertrial.suites.proving.prove", "--marked")
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    try:
        for old in (ROOT / "dist").glob("brokertrial-*"):
            old.unlink()
        _run(sys.executable, "-m", "build", "--quiet", "--outdir", "dist")
        made = [str(path) for path in sorted((ROOT / "dist").glob(f"brokertrial-{version}*"))]
        _run(sys.executable, "-m", "twine", "check", "--strict", *made)
    except BaseException:
        _run("git", "checkout", "--", *(path.name for path in texts))
        raise
    _run("git", "commit", "--quiet", "-m", f"release: {version}", *(path.name for path in texts))
    _run("git", "tag", "--annotate", f"v{version}", "-m", f"brokertrial {version}")
    print("\n".join(["Made:", *made, f"Tag: v{version}"]))
    print(f"To publish: git push origin HEAD v{version}; python -m twine upload {' '.join(made)}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        said = said if len(said) <= SHOWN else f"{said[: SHOWN // 2]} ... {said[-SHOWN // 2 :]}"
        raise NotReleased(f"`{' '.join(command)}` failed.\n{said}")
    return done.stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("make release VERSION=0.2.0")
    try:
        release(sys.argv[1])
    except NotReleased as why:
        sys.exit(f"No release: {why}")
