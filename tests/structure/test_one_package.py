"""Everything of ours lies under `brokertrial`, and no file is ever loaded as two modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(link.name for link in (ROOT / "src" / "brokertrial").iterdir() if link.is_symlink())
EVERY_MODULE = """
import importlib, pkgutil, sys
from pathlib import Path
import brokertrial
for module in pkgutil.walk_packages(brokertrial.__path__, "brokertrial."):
    if not module.name.endswith(("__main__", "mock_cluster")):
        importlib.import_module(module.name)
files = [Path(module.__file__).resolve() for module in sys.modules.values() if getattr(module, "__file__", None)]
ours = [file for file in files if any(Path(sys.argv[1], name) in file.parents for name in sys.argv[2:])]
print(len(ours), len(set(ours)), *sorted(set(sys.argv[2:]) & set(sys.modules)))
"""


def imported(file: Path) -> set[str]:
    """The first names of what a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {part.name.partition(".")[0] for part in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_every_folder_of_the_product_is_in_the_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}
    assert packages == set(FOLDERS)
    assert all((ROOT / "src" / "brokertrial" / name).resolve() == ROOT / name for name in FOLDERS)


def test_every_import_says_brokertrial() -> None:
    files = [path for name in (*FOLDERS, "tests", "bench") for path in (ROOT / name).rglob("*.py")]
    assert len(files) > 500
    assert [str(path) for path in files if imported(path) & set(FOLDERS)] == []


def test_no_module_is_loaded_under_two_names() -> None:
    command = [sys.executable, "-P", "-c", EVERY_MODULE, str(ROOT), *FOLDERS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    modules, files, *bare = done.stdout.split()
    assert (modules, bare) == (files, [])
    assert int(files) > 500


def test_nor_here_where_the_root_is_on_the_path() -> None:
    assert sorted(set(FOLDERS) & set(sys.modules)) == []
