"""The site of a comparison as a reader has it: in Chromium, with the keyboard alone, on a phone, and by axe's rules."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from brokertrial.ci.comparison import site
from brokertrial.ci.comparison.comparison import Comparison, compared
from brokertrial.suites.result import Evidence, Failure, LogLine, Reason
from tests.ci.test_comparison import column, result
from tests.ci.test_comparison_site import small

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PATIENCE_MS = 30_000
NOT_WIDER = "document.documentElement.scrollWidth <= innerWidth"
AREAS_OF_FOCUS = "document.activeElement.getAttribute('href') ?? document.activeElement.id"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared(small())


@pytest.fixture(scope="module")
def folder(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    for name, text in site.files(comparison):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport=WIDE)
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


def kinds_of_pages(folder: Path) -> list[Path]:
    """Each page of its own, one of the evidence of cases and one of guarantees."""
    several = [min((folder / kind).glob("*.html")) for kind in ("cases", "guarantees")]
    return [*sorted(folder.glob("*.html")), *several]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_axe_objects_to_no_page(browser: Browser, folder: Path, viewport: dict[str, int], scheme: str) -> None:
    """WCAG's rules as axe-core has them: names, roles, contrast, order of headings, what can be reached."""
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    try:
        opened = context.new_page()
        for path in kinds_of_pages(folder):
            opened.goto(path.as_uri())
            report = Axe().run(opened).response
            assert not report["violations"], (path.name, report["violations"])
            assert len(report["passes"]) > 10, f"{path.name}: axe has looked at next to nothing"
    finally:
        context.close()


def test_axe_objects_to_a_page_that_is_wrong(page: Page) -> None:
    page.set_content("<html><body><img src='x'><p style='color:#bbb;background:#fff'>pale</p></body></html>")
    found = {violation["id"] for violation in Axe().run(page).response["violations"]}
    assert {"image-alt", "color-contrast", "html-has-lang"} <= found


def test_no_page_is_wider_than_a_phone(browser: Browser, folder: Path) -> None:
    """What is wide moves in a frame of its own, the page does not."""
    context = browser.new_context(viewport=PHONE)
    try:
        opened = context.new_page()
        for path in kinds_of_pages(folder):
            opened.goto(path.as_uri())
            assert opened.evaluate(NOT_WIDER), path.name
    finally:
        context.close()


def test_no_word_of_a_broker_makes_a_page_wider(browser: Browser, tmp_path: Path) -> None:
    """Bytes without a space, in each place that shows what a broker said."""
    word = "0f" * 400
    said = (Evidence("answer", f"Fetch v1\n  records  {word}", marked=(1,), note=word), Evidence("send", word, "ok"))
    bad = msgspec.structs.replace(
        result("a/b", "fail", "offs-002"), reason=Reason("statement", word), evidence=said, warnings=(word,),
        failures=(Failure("statement:x", word), Failure("statement:y", word)), log_lines=(LogLine(1, word, 1.0),),
    )  # fmt: skip
    absent = msgspec.structs.replace(result("a/b", "absent", "offs-002"), reason=Reason("not-offered", word))
    context = browser.new_context(viewport=PHONE)
    try:
        opened = context.new_page()
        for name, text in site.files(compared([column("t1", bad), column("t2", absent)])):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for path in kinds_of_pages(tmp_path):
            opened.goto(path.as_uri())
            assert opened.evaluate(NOT_WIDER), path.name
    finally:
        context.close()


def focus(page: Page) -> str:
    return str(page.evaluate(AREAS_OF_FOCUS))


def filters(page: Page) -> str:
    """What the address keeps, as the page has it; `page.url` may be a moment behind."""
    return str(page.evaluate("location.hash"))


def tabbed_to(page: Page, wanted: str) -> None:
    """Presses Tab until this element has the focus, at the most forty times."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if focus(page) == wanted:
            return
    raise AssertionError(f"Tab never came to {wanted}")


def test_the_table_is_read_with_keys_alone(page: Page, folder: Path, comparison: Comparison) -> None:
    """One stop for Tab, arrows that move in what is shown, Enter opens the evidence, and back is where one was."""
    page.goto(f"{(folder / 'matrix.html').as_uri()}#differs=1")
    differing = [row for row in comparison.asked if row.differs]
    assert page.text_content("#shown") == f"{len(differing)} of {len(comparison.asked)} guarantees"
    rows = [[site.link_of(cell, row, comparison) for cell in row.cells] for row in differing]
    heads = [f"guarantees/{row.guarantee.id}.html" for row in differing]
    tabbed_to(page, heads[0])
    page.keyboard.press("Tab")
    assert focus(page) not in {*heads, *(link for row in rows for link in row)}
    page.keyboard.press("Shift+Tab")
    seen = []
    for key in ("End", "ArrowLeft", "ArrowDown", "Home", "PageUp", "/"):
        page.keyboard.press(key)
        seen.append(focus(page))
    assert seen == [rows[0][2], rows[0][1], rows[1][1], heads[1], heads[0], "search"]
    tabbed_to(page, heads[0])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.startswith((folder / rows[0][1].split("#")[0]).as_uri())
    page.go_back()
    assert page.text_content("#shown") == f"{len(differing)} of {len(comparison.asked)} guarantees"


def test_filters_are_set_with_keys_alone(page: Page, folder: Path, comparison: Comparison) -> None:
    """Search, a choice and a tick by keys; the address keeps them, and what they leave out is not in the way of Tab."""
    page.goto((folder / "matrix.html").as_uri())
    guarantee = comparison.asked[0].guarantee.id
    page.keyboard.press("/")
    page.keyboard.type(guarantee)
    assert page.text_content("#shown") == f"1 of {len(comparison.asked)} guarantees"
    assert f"q={guarantee}" in filters(page)
    tabbed_to(page, "clear")
    page.keyboard.press("Enter")
    assert focus(page) == "search"
    assert page.text_content("#shown") == f"{len(comparison.asked)} of {len(comparison.asked)} guarantees"
    tabbed_to(page, "is")
    page.keyboard.type("? undecided")
    undecided = [row for row in comparison.asked if any(str(cell.standing) == "undecided" for cell in row.cells)]
    assert page.text_content("#shown") == f"{len(undecided)} of {len(comparison.asked)} guarantees"
    tabbed_to(page, "differs")
    page.keyboard.press("Space")
    assert "differs=1" in filters(page)
    assert "is=undecided" in filters(page)


def test_a_chosen_target_is_brought_into_sight(browser: Browser, folder: Path, comparison: Comparison) -> None:
    """On a phone, where filters begin closed and `/` opens them."""
    context = browser.new_context(viewport=PHONE)
    try:
        opened = context.new_page()
        last = comparison.columns[-1]
        opened.goto(f"{(folder / 'matrix.html').as_uri()}#target={last.key}")
        head = opened.locator("th.chosen")
        assert head.inner_text().startswith(last.name)
        left = head.bounding_box()
        assert left is not None and 0 < left["x"] < PHONE["width"] - left["width"]
        assert not opened.locator("#search").is_visible()
        opened.keyboard.press("/")
        assert opened.locator("#search").is_visible() and focus(opened) == "search"
        opened.locator("#clear").click()
        assert opened.locator("th.chosen").count() == 0
    finally:
        context.close()


def test_without_scripts_every_row_is_there(browser: Browser, folder: Path, comparison: Comparison) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        opened = context.new_page()
        opened.goto((folder / "matrix.html").as_uri())
        assert opened.locator("tr.row").count() == len(comparison.asked)
    finally:
        context.close()
