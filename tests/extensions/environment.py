"""A Python of its own in which packages are installed that contribute to brokertrial; nothing is downloaded."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "example_package"
MAIN = "from brokertrial.ci.cli import main; main()"
LIMIT_S = 120


class Environment:
    """Sees everything that the Python of the tests has installed, unless it is to be alone (and has pip)."""

    def __init__(self, folder: Path, *, alone: bool = False) -> None:
        venv.create(folder, with_pip=alone, symlinks=True)
        self.python = folder / "bin" / "python"
        self.packages = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder)}))
        if alone:
            return
        here = sysconfig.get_path("purelib")
        (self.packages / "tests.pth").write_text(f"import site; site.addsitedir({here!r})\n", encoding="utf-8")

    def install(self, project: Path) -> None:
        """What pip would leave of a project that needs no building."""
        install(project, self.packages)

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """The command line of brokertrial."""
        return self.call("-c", MAIN, *arguments, cwd=cwd)

    def call(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Its Python."""
        command = [str(self.python), "-P", *arguments]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def install(project: Path, packages: Path) -> None:
    """The modules of a project, and the metadata by which its entry points are found."""
    told = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = packages / f"{told['name'].replace('-', '_')}-{told['version']}.dist-info"
    metadata.mkdir(parents=True)
    about = f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n"
    (metadata / "METADATA").write_text(about, encoding="utf-8")
    (metadata / "entry_points.txt").write_text("\n".join(_lines(told["entry-points"])), encoding="utf-8")
    for package in (path.parent for path in project.glob("*/__init__.py")):
        shutil.copytree(package, packages / package.name)


def _lines(groups: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for group, points in groups.items():
        yield f"[{group}]"
        yield from (f"{name} = {value}" for name, value in points.items())


def package(folder: Path, name: str, files: Mapping[str, str], **points: str) -> Path:
    """A small project on disk: files of its one package, and an entry point a group."""
    module = name.replace("-", "_")
    for file, text in {"__init__.py": '"""A package."""\n', **files}.items():
        (folder / name / module).mkdir(parents=True, exist_ok=True)
        (folder / name / module / file).write_text(text, encoding="utf-8")
    lines = [f'[project]\nname = "{name}"\nversion = "0.1"\n[project.entry-points]']
    lines += [f'"brokertrial.{group}" = {{one = "{value}"}}' for group, value in points.items()]
    (folder / name / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder / name


def tiny_wheel(folder: Path, name: str) -> Path:
    """A wheel of one package of that name, which says whose it is; pip installs it without building anything."""
    made, metadata = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": f"WHOSE = 'the user, {name}'\n",
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{metadata}/RECORD"] = "".join(f"{file},,\n" for file in (*files, f"{metadata}/RECORD"))
    with zipfile.ZipFile(made, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return made
