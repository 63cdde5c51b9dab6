"""Pages of the site that lie elsewhere in the repository, and links to what is no page: a hook of MkDocs."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "reference_impl/README.md": "bundled-broker.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds them, as if they lay in docs/."""
    for source, name in ELSEWHERE.items():
        text = LINK.sub(partial(_from, source), (ROOT / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """A link to a file of the repository that is no page becomes the name of that file."""
    folder = Path(page.file.src_uri).parent
    return LINK.sub(lambda link: _inside(link, folder, files), markdown)


def _from(source: str, link: re.Match[str]) -> str:
    """A link of a page of the repository, as it is from docs/."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if "://" in target:
        return link[0]
    place = (ROOT / source).parent.joinpath(target).resolve().relative_to(ROOT)
    if place.as_posix() in ELSEWHERE:
        return f"[{text}]({ELSEWHERE[place.as_posix()]}{anchor})"
    if place.parts[:1] == ("docs",):
        return f"[{text}]({place.relative_to('docs').as_posix()}{anchor})"
    return f"[{text}](../{place.as_posix()}{anchor})"


def _inside(link: re.Match[str], folder: Path, files: Files) -> str:
    text, target = link[1], link[2]
    if "://" in target or target.startswith("mailto:"):
        return link[0]
    place = (ROOT / "docs" / folder / target).resolve()
    if not place.is_relative_to(ROOT) or files.get_file_from_path(_in_docs(place)):
        return link[0]
    if place.is_dir() and place.is_relative_to(ROOT / "docs") and any(place.glob("*.md")):
        first = sorted(place.glob("*.md"))[0].name
        return f"[{text}]({target.rstrip('/')}/{first})"
    return text if place.exists() else link[0]


def _in_docs(place: Path) -> str:
    inside = place.is_relative_to(ROOT / "docs")
    return place.relative_to(ROOT / "docs").as_posix() if inside else "outside"
