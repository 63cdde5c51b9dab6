"""The site of a comparison: whole, safe with data of strangers, small, the same again."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.commands.compare import Wanted, compare
from brokertrial.ci.comparison import site
from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.comparison import Comparison, compared
from brokertrial.ci.comparison.evidence import log_of
from brokertrial.ci.comparison.notes import CaseNote, TargetNotes, read
from brokertrial.ci.comparison.standing import Standing
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import discover
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.run_archive import pack
from brokertrial.ci.run_folder import seal
from brokertrial.suites.events import RunEvent
from brokertrial.suites.guarantees import registry
from brokertrial.suites.result import CaseResult, Evidence, Failure, LogLine, Reason
from tests.ci.test_comparison import CUT, KILL, column, profile, result

EVIL = '<script>alert("x")</script>'
VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(HTMLParser):
    """What a test asks of a page: that tags are closed in their order, its ids, its links, its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.scripts: list[str | None] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        if tag == "script":
            self.scripts.append(given.get("src"))
        self.wrong += [f"{tag} {name}" for name in given if name.startswith("on") and name != "onsubmit"]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")


def small() -> list[Column]:
    """Three targets: one clean, one with everything that can be wrong, one that asked little."""
    bad = msgspec.structs.replace(
        result("produce/kill", "fail", "dur-001", schedule=KILL),
        evidence=(
            Evidence("request", "Produce v9\n  acks  -1\n  name  t", at_s=0.1),
            Evidence("answer", f"Produce v9\n  error_code  {EVIL}", at_s=0.2, marked=(1,), note=EVIL),
            Evidence("send", "t-0 value 5", "ok", 0.3, 7),
        ),
        history="histories/produce.kill",
    )
    clean = result("produce/kill", "pass", "dur-001", schedule=KILL), result("offsets/x", "pass", "offs-002")
    wrong = bad, result("offsets/x", "unclear", "offs-002"), result(f"a/{EVIL}", "warn", "ord-003", schedule=CUT)
    notes = TargetNotes(
        "kafka:4.4.0", name=f"Mine {EVIL}", by="us", text=EVIL, link="https://example.org",
        case=(CaseNote("produce/*", "Known to us."),),
    )  # fmt: skip
    first, second = {"produce/kill": profile(2.0)}, {"produce/kill": profile(9.0, None)}
    return [
        column("t1", *clean, target="kafka:3.9.2", profiles=first, claims={"transactions": True}),
        column("t2", *wrong, target="kafka:4.4.0", profiles=second, notes=notes),
        column("t3", result("offsets/x", "absent", "offs-002"), seed=6),
    ]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared(small())


@pytest.fixture(scope="module")
def pages(comparison: Comparison) -> dict[str, str]:
    return dict(site.files(comparison))


def parsed(pages: dict[str, str]) -> dict[str, Page]:
    return {name: Page(text) for name, text in pages.items() if name.endswith(".html")}


def test_pages_are_well_formed_and_every_link_leads_somewhere(pages: dict[str, str]) -> None:
    found = parsed(pages)
    for name, page in found.items():
        assert (name, page.wrong, page.open) == (name, [], [])
        assert len(page.ids) == len(set(page.ids)), name
        for link in page.links:
            path, _, anchor = link.partition("#")
            if "://" in path:
                continue
            folder = name.rpartition("/")[0]
            target = re.sub(r"^[^/]+/\.\./", "", f"{folder}/{path}" if folder and path else path or name)
            assert target in pages, f"{name}: {link}"
            if target.endswith(".html") and anchor and target != "matrix.html":
                assert anchor in found[target].ids, f"{name}: {link}"


def test_what_a_stranger_wrote_is_text(pages: dict[str, str]) -> None:
    for name, page in parsed(pages).items():
        assert page.scripts in ([], ["site.js"]), name
        assert EVIL not in pages[name]
    assert all(re.fullmatch(r"[\w.@/-]+", name) for name in pages)
    assert "&lt;script&gt;" in pages["cases/produce.kill.html"]


def test_a_cell_leads_to_its_evidence_and_that_says_how_to_replay_it(pages: dict[str, str]) -> None:
    assert 'href="cases/produce.kill.html#t2"' in pages["matrix.html"]
    evidence = pages["cases/produce.kill.html"]
    for part in (
        "It MUST.",
        "because of statement",
        "error_code",
        "brokertrial replay runs/t2/produce.kill",
        "Known to us.",
        "Produce",
    ):
        assert part in evidence, part
    assert 'href="guarantees/offs-002.html#t3"' in pages["matrix.html"]


def test_the_page_of_a_case_says_once_what_its_targets_have_in_common() -> None:
    """Its own statement, though another was violated here; targets of one standing together; one log once."""
    log = tuple(LogLine(1, f"\x1b[31mERROR\x1b[0m {number} {'it is broken ' * 6}", 1.0) for number in range(4))
    quiet = LogLine(1, "level=INFO msg=taken", 0.5)
    bad = msgspec.structs.replace(
        result("a/b", "fail", "dur-001"), statement="The closing look MUST agree.", log_lines=(quiet, *log)
    )
    beside = msgspec.structs.replace(result("a/c", "fail", "dur-001"), log_lines=(quiet, *log))
    clean, absent = result("a/b", "pass", "dur-001"), result("a/b", "absent", "dur-001")
    columns = [column("t1", clean), column("t2", clean), column("t3", clean), column("t4", bad, beside)]
    made = dict(site.files(compared([*columns, column("t5", absent)])))
    page = made["cases/a.b.html"]
    assert '<p class="statement">It MUST.</p>' in page
    assert "What was violated here: The closing look MUST agree." in page
    assert "on 3: target-t1 · target-t2 · target-t3" in page
    assert 'target-t5 <span class="quiet">because of not-offered</span>' in page
    assert "node 1  ERROR 0" in page and "INFO" not in page and "\x1b" not in page
    assert 'Broker log: the same 4 lines as in <a href="a.b.html#t4">a/b</a>' in made["cases/a.c.html"]
    assert "node 1" not in made["cases/a.c.html"]


def test_a_log_that_warns_of_nothing_is_short() -> None:
    lines = tuple(LogLine(1, f"time=1 level=info msg=taken-{number}", 1.0) for number in range(9))
    told = log_of(msgspec.structs.replace(result("a/b", "fail"), log_lines=lines))
    assert [line.rpartition("-")[2] for line in told] == ["6", "7", "8"]
    wide = msgspec.structs.replace(result("a/b", "fail"), log_lines=(LogLine(1, "x" * 5000, 1.0),))
    assert len(log_of(wide)[0]) < 300


def test_what_is_no_case_has_no_page_and_long_sentences_are_cut() -> None:
    """`requires/data` fails a run and is no case; a broker may answer with many bytes."""
    data = CaseResult("requires/data", "It MUST.", (), "must", Verdict.FAIL, Reason("requirement", "it read nothing"))
    said = Failure("statement:x", "false " * 2000)
    long = msgspec.structs.replace(result("a/b", "fail", "offs-002"), failures=(said, said))
    made = dict(site.files(compared([column("t1", data), column("t2", long)])))
    assert "it read nothing" in made["index.html"] and "requires.data" not in made["index.html"]
    assert len(made["cases/a.b.html"]) < 6000


def test_a_guarantee_says_the_same_of_several_targets_once() -> None:
    cases = [f"a/{number}" for number in range(5)]
    kept = [result(case, "pass", "offs-002") for case in cases]
    one_bad = [result(cases[0], "fail", "offs-002"), *kept[1:]]
    columns = [column("t1", *kept), column("t2", *one_bad), column("t3", *reversed(kept)), column("t4", *one_bad)]
    page = dict(site.files(compared(columns)))["guarantees/offs-002.html"]
    assert 'target-t1 · <span id="t3">target-t3</span>' in page and 'target-t2 · <span id="t4">target-t4</span>' in page
    assert "Decided by 5 cases: a/0, a/1, a/2, a/3, a/4." in page
    assert page.count("the other 4") == 1 and page.count("a/3") == 1


def test_the_signs_of_the_style_are_those_of_the_standings(pages: dict[str, str]) -> None:
    """Pages say words alone; a sign that the style lacks would not be seen."""
    told = dict(re.findall(r'\.is-(\w+) \{ --sign: "(.)"; \}', pages["style.css"]))
    assert told == {str(standing): standing.mark for standing in Standing}


def test_unfairness_and_what_was_not_tried_are_in_sight(pages: dict[str, str]) -> None:
    for page in ("index.html", "matrix.html", "faults.html", "changes.html"):
        assert "Compare with care" in pages[page], page
    assert "power cut" in pages["faults.html"] and "power cut" in pages["untried.html"]
    alike = dict(site.files(compared([small()[0]])))
    assert "Compare with care" not in alike["index.html"]


def test_the_data_say_what_the_pages_say(pages: dict[str, str], comparison: Comparison) -> None:
    data = msgspec.json.decode(pages["comparison.json"])
    assert data["targets"][0]["name"] == "kafka:3.9.2"
    rows = {each["id"]: each for each in data["guarantees"]}
    assert rows["dur-001"]["standing"] == ["kept", "broken", "untried"] and rows["dur-001"]["kept"] == [1, 0, 0]
    assert rows["dur-001"]["case"] == {"t2": "produce/kill"}
    told = data["cases"]["offsets/x"]
    assert told["standing"] == ["kept", "undecided", "absent"]
    assert data["reasons"][told["why"]["t2"]["reason"]] == "no-hit: because of no-hit"
    assert data["cases"]["produce/kill"]["standing"] == ["kept", "broken", None]
    assert {each["change"] for step in data["changes"] for each in step["cases"]} >= {"newly broken", "newly undecided"}
    assert len(data["guarantees"]) == len(comparison.rows)


def site_of(targets: int) -> int:
    """The size for so many targets by 300 guarantees, each decided by six cases; a seventh of the cells is broken."""
    ids = list(registry())[:300]
    message = "Fetch response v16\n" + "\n".join(f"  field_{number}  {number}" for number in range(60))
    columns = []
    for place in range(targets):
        results = []
        for number in range(2 * len(ids)):
            word = "fail" if (number + place) % 20 == 0 else "pass"
            decides = [ids[(number + step) % len(ids)] for step in (0, 1, 2)]
            made = result(f"area/some-case-of-a-usual-length-{number}", word, *decides, schedule=KILL)
            if word == "fail":
                evidence = tuple(Evidence("answer", message, at_s=1.0, marked=(9,)) for _ in range(3))
                made = msgspec.structs.replace(made, evidence=evidence, history=f"histories/{number}")
            results.append(made)
        columns.append(column(f"t{place}", *results, target=f"kafka:4.{place}"))
    return sum(len(text.encode()) for _, text in site.files(compared(columns)))


def test_ten_targets_by_three_hundred_guarantees_are_less_than_four_megabytes() -> None:
    """And a target more costs what is its own: what targets have in common is said once."""
    sizes = {targets: site_of(targets) for targets in (5, 10)}
    assert sizes[10] < 4_000_000, f"{sizes[10]:,}"
    assert (sizes[10] - sizes[5]) / 5 < 300_000, sizes


def test_the_same_runs_make_the_same_bytes(pages: dict[str, str]) -> None:
    assert dict(site.files(compared(small()))) == pages


@pytest.fixture
def closed(run_folder: Path, told: list[RunEvent]) -> Path:
    state = RunState(run_folder)
    writers = discover(state, without=("console",))
    for event in told:
        state.on(event)
        for writer in writers.values():
            writer.on(event)
    seal(run_folder, {"target": "reference", "seed": 42, "status": 1}, complete=True)
    return run_folder


def test_the_command_takes_folders_and_archives(
    closed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "site"
    pack(closed, tmp_path / "run.zip")
    with pytest.raises(UserError, match="one and the same run"):
        compare(Wanted(runs=["run.zip", closed.name], out=out))
    for _ in range(2):  # the second time it takes the place of the first
        assert compare(Wanted(runs=["run.zip"], out=out)) == 0
    said = capsys.readouterr().out
    assert "reference?mutant=M05" in said and "broken" in said
    page = (out / "cases" / "idempotence.lost-ack.html").read_text(encoding="utf-8")
    assert "brokertrial replay run.zip/idempotence.lost-ack" in page and "<svg" in page
    assert not list(tmp_path.glob(".site*"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(UserError, match="no comparison"):
        compare(Wanted(runs=["run.zip"], out=tmp_path / "mine"))


def test_recheck_judges_by_this_version(closed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored stays as it is: only the page says what this version comes to."""
    monkeypatch.chdir(tmp_path)

    def again(folder: Path) -> CaseResult:
        assert folder.name == "idempotence.lost-ack"
        return msgspec.structs.replace(result("idempotence/lost-ack", "pass"), history=str(folder))

    monkeypatch.setattr("brokertrial.ci.comparison.load.judge_stored", again)
    sealed = (closed / "results.jsonl").read_bytes()
    standings = {}
    for recheck in (False, True):
        assert compare(Wanted(runs=[closed.name], out=tmp_path / "site", recheck=recheck)) == 0
        data = msgspec.json.decode((tmp_path / "site" / "comparison.json").read_bytes())
        (standings[recheck],) = data["cases"]["idempotence/lost-ack"]["standing"]
    assert standings == {False: "broken", True: "kept"}
    assert (closed / "results.jsonl").read_bytes() == sealed


@pytest.mark.parametrize(
    "text",
    ["[[target]\n", "[[target]]\nname = 'no match'\n", "[[target]]\nmatch = 'x'\nverdict = 'pass'\n",
     "[[target]]\nmatch = 'x'\nlink = 'javascript:alert(1)'\n"],
)  # fmt: skip
def test_notes_that_say_what_they_must_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError):
        read([tmp_path / "notes.toml"])
