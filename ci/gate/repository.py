"""Where a file lies in its repository: CI systems show nothing at a path that is relative to another folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE")
"""What GitHub, GitLab and Jenkins call the folder of the repository; asked where it holds no `.git`."""


def path_in_repository(path: Path, environment: Mapping[str, str]) -> str:
    """The path from the top of the repository; the bare name of a file that is in none."""
    whole = path.resolve()
    tops = [folder for folder in whole.parents if (folder / ".git").exists()][:1]
    tops += [Path(environment[name]).resolve() for name in CHECKOUTS if environment.get(name)]
    for top in (*tops, Path.cwd()):
        if whole.is_relative_to(top):
            return whole.relative_to(top).as_posix()
    return whole.name
