"""The site for users: it builds without a broken link, opens from the disk, and has a page for each guarantee."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brokertrial.suites.guarantees import registry

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"?([^\" >]+)|<link[^>]+rel=\"?(?:stylesheet|preload)[^>]+href=\"?([^\" >]+)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    told = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_there_is_a_page_for_each_guarantee(site: Path) -> None:
    pages = {path.stem for path in (site / "guarantees").glob("*.html")}
    assert pages == {*registry(), "index"}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = {}
    for page in site.glob("*.html"):
        loaded = [first or second for first, second in LOADED.findall(page.read_text(encoding="utf-8"))]
        assert loaded, page
        found[page.name] = [place for place in loaded if "://" in place or place.startswith("//")]
    assert {name: places for name, places in found.items() if places} == {}


def test_every_page_is_in_the_menu_and_none_is_for_a_server_alone(site: Path) -> None:
    """The pages of guarantees and of single findings are reached by their lists; 404.html is right on one server."""
    menu = set(re.findall(r"[:-] (\S+)\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    assert {page for page in pages if not page.startswith(("guarantees/", "findings/"))} - menu == set()


def test_the_search_works_from_the_disk(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "idem-002" in index and "gate.html" in index
