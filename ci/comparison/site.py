"""A comparison as a static site: pages that need no server, and the same as JSON.

index.html      who keeps how much, how bad what is broken is, what is claimed, how far this is fair
matrix.html     every guarantee by every target, with filter and search
faults.html     what survives which fault, and at which price
changes.html    from version to version and from day to day
untried.html    what was not asked
guarantees/     a page a guarantee: each of its cases on each target
cases/          a page a case that is not clean everywhere: the evidence, target by target
comparison.json
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from brokertrial.ci.comparison import published
from brokertrial.ci.comparison.case_page import case_pages
from brokertrial.ci.comparison.comparison import Comparison
from brokertrial.ci.comparison.matrix import FIT_FOR_A_FILE, Cell, Row
from brokertrial.ci.comparison.severity import WORDS
from brokertrial.ci.comparison.standing import NEEDS_A_LOOK, Standing, standing_of
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import report
from brokertrial.ci.reports.causes import HarmKind
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.suites.guarantees import registry
from brokertrial.suites.running.run_folder import folder_name

TEMPLATES = Path(__file__).parent / "templates"
DATA = "comparison.json"
PAGES = {
    "index": "Overview",
    "matrix": "Guarantees",
    "faults": "Faults and their price",
    "changes": "Changes",
    "untried": "Not tried",
}
TITLE = "Kafka brokers compared"


def write(out: Path, comparison: Comparison, title: str = TITLE) -> int:
    """Writes the site, in place of an older one, and returns its size in bytes; refuses a folder that holds others."""
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / DATA).is_file()):
        raise UserError(f"{out} holds files that are no comparison; --out names another folder.")
    fresh, old = out.with_name(f".{out.name}.new"), out.with_name(f".{out.name}.old")
    try:
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh.mkdir(parents=True)
        for name, text in files(comparison, title):
            path = fresh / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if out.is_dir():
            out.rename(old)
        fresh.rename(out)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as problem:
        raise UserError(f"{out} cannot be written: {problem.strerror}.") from None
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def files(comparison: Comparison, title: str = TITLE) -> Iterator[tuple[str, str]]:
    """Every file of the site by its name; the same comparison makes the same bytes."""
    templates = _environment(comparison, title)
    yield "style.css", f"{report.style()}\n{_text('compare.css')}"
    yield "site.js", _text("site.js")
    yield DATA, published.text(comparison)
    for page in PAGES:
        yield f"{page}.html", templates.get_template(f"{page}.html.j2").render(page=page, up="")
    guarantee, case = templates.get_template("guarantee.html.j2"), templates.get_template("case.html.j2")
    for row in comparison.asked:
        yield f"guarantees/{row.guarantee.id}.html", guarantee.render(page="", up="../", row=row)
    for shown in case_pages(comparison.columns, comparison.articles):
        known = _guarantees_of(shown.guarantees)
        yield f"cases/{file_name(shown.case)}", case.render(page="", up="../", shown=shown, known=known)


def file_name(case: str) -> str:
    """The page of a case. A name of its own kind only: a result may come from anybody."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_.@" else "_" for letter in folder_name(case))[:120] + ".html"
    )


def link_of(cell: Cell, row: Row, comparison: Comparison) -> str:
    """Where a cell leads: to the evidence of its worst case, else to all cases of the guarantee."""
    if cell.standing in NEEDS_A_LOOK and cell.leading is not None and cell.leading.case in comparison.articles:
        return f"cases/{file_name(cell.leading.case)}#{cell.column.key}"
    return f"guarantees/{row.guarantee.id}.html#{cell.column.key}"


def _guarantees_of(names: tuple[str, ...]) -> list[object]:
    known = registry()
    return [known[name] for name in names if name in known and FIT_FOR_A_FILE.fullmatch(name)]


def _environment(comparison: Comparison, title: str) -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tools: dict[str, Callable[..., object]] = {
        "file_name": file_name,
        "link_of": partial(link_of, comparison=comparison),
        "standing_of": standing_of,
    }
    made.globals.update(tools)
    made.globals.update(
        site=comparison, pages=PAGES, title=title, standings=list(Standing), harms=list(HarmKind), harm_words=WORDS,
        suite_version=suite_version(), needs_a_look=NEEDS_A_LOOK,
    )  # fmt: skip
    made.filters["plain"] = _plain
    made.filters["seconds"] = lambda value: "–" if value is None else f"{value:.2f} s"
    made.filters["ms"] = lambda value: "–" if value is None else f"{value:,.1f} ms"
    made.filters["times"] = lambda value: "" if value is None else f"×{value:.2g}" if value < 10 else f"×{value:,.0f}"
    return made


def _plain(text: object) -> Markup:
    """Text between tags, where quotes are no danger: long messages have many of them."""
    return Markup(str(escape(text)).replace("&#34;", '"').replace("&#39;", "'"))


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
