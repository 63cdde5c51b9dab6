"""Cases are found without lists, declared strictly, selected by name, and known by their content."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from brokertrial.ci.cli import main
from brokertrial.suites.case import (
    CASES,
    BadCase,
    Case,
    _content_hash,
    _found,
    _own,
    all_cases,
    by_id,
    case,
    case_files,
)
from brokertrial.suites.guarantees import UnknownGuarantee, guarantee, registry
from brokertrial.suites.running import plugin
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import Run
from brokertrial.suites.running.selection import UnknownSelection, quick_first, select, within_budget


def test_every_file_of_every_area_is_found():
    assert {path for path in CASES.glob("*/*.py") if not path.name.startswith("_")} == set(case_files())
    declared = sum(len(re.findall(r"^@case\(", path.read_text(), re.MULTILINE)) for path in case_files())
    assert declared == len(all_cases())


def test_every_case_names_guarantees_that_exist_and_states_what_must_hold():
    for entry in all_cases():
        assert entry.promises, entry.id
        assert re.search(r"\b(MUST|SHOULD|MAY)\b", entry.statement), f"{entry.id}: {entry.statement}"
        assert entry.id.islower() and entry.id == by_id()[entry.id].id
        assert entry.source[1] > 0


def test_no_case_reads_a_clock_rolls_dice_or_sleeps_by_itself():
    """A case must be a function of its answers: time and randomness come through its parameters alone."""
    banned = re.compile(
        r"^\s*(import|from)\s+(time|random|datetime|secrets|uuid(?! import UUID$)|os|socket|threading|asyncio)\b",
        re.MULTILINE,
    )
    for path in case_files():
        found = banned.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.name}: {found.group(0) if found else ''}"


@pytest.mark.parametrize(
    "declaration",
    [
        {"case_id": "no-area", "guarantee": "prod-001"},
        {"case_id": "Area/Name", "guarantee": "prod-001"},
        {"case_id": "a/b/c", "guarantee": "prod-001"},
        {"case_id": "a/b"},
        {"case_id": "a/b", "guarantee": "prod-001", "needs": ["magic"]},
    ],
)
def test_a_wrong_declaration_is_refused_at_once(declaration):
    def function(wire):
        """It MUST hold."""

    with pytest.raises(BadCase):
        case(**declaration)(function)


def test_unknown_parameters_and_missing_statements_are_refused():
    def parameter(wire, teapot):
        """It MUST hold."""

    def statement(wire):
        pass

    for function in (parameter, statement):
        with pytest.raises(BadCase):
            case("a/b", guarantee="prod-001")(function)


def test_a_case_that_is_declared_twice_is_one_sentence(tmp_path, monkeypatch, capsys):
    files = CASES / "offsets" / "one.py", CASES / "commits" / "two.py"
    monkeypatch.setattr("brokertrial.suites.case.case_files", lambda: files)
    monkeypatch.setattr("brokertrial.suites.case.cases_in", lambda path: [SimpleNamespace(id="a/b", file=files[0])])
    monkeypatch.setattr("brokertrial.suites.case._own", _own.__wrapped__)
    monkeypatch.setattr("brokertrial.suites.case._found", _found.__wrapped__)
    said = "a/b is declared twice: in suites/cases/offsets/one.py and suites/cases/commits/two.py."
    with pytest.raises(SystemExit, match="4"):
        main(["run", "--target", "reference", "--select", "a/b", "--runs", str(tmp_path)])
    assert capsys.readouterr().err == f"brokertrial: {said}\n"
    with pytest.raises(pytest.UsageError, match=re.escape(said)):
        plugin.pytest_configure(SimpleNamespace(getoption={"target": "reference", "select": ["a/b"]}.get))


def test_an_unknown_guarantee_offers_the_nearest():
    with pytest.raises(UnknownGuarantee, match="offs-00"):
        guarantee("ofs-002")
    assert len(registry()) > 250
    assert {entry.level for entry in registry().values()} == {"must", "should"}
    assert all(entry.link.startswith("https://") and entry.statement and entry.source for entry in registry().values())


SOURCE = '''
"""Words."""
LIMIT = 3

@case("a/one", guarantee="x")
def one(wire):
    """MUST."""
    helper(wire)

@case("a/two", guarantee="x")
def two(wire):
    """MUST."""

def helper(wire):
    return LIMIT
'''


def test_a_case_is_known_by_what_it_does():
    original = _content_hash(SOURCE, "one")
    assert _content_hash(SOURCE.replace("    helper(wire)", "    # why\n\n    helper(wire)"), "one") == original
    assert _content_hash(SOURCE.replace('"""Words."""', '"""Other words."""'), "one") == original
    assert _content_hash(SOURCE.replace("a/two", "a/three"), "one") == original
    assert _content_hash(SOURCE.replace("LIMIT = 3", "LIMIT = 4"), "one") != original
    assert _content_hash(SOURCE.replace("    helper(wire)", "    helper(2)"), "one") != original
    assert _content_hash(SOURCE.replace('"a/one", guarantee="x"', '"a/one", guarantee="y"'), "one") != original


def made(name, smoke=False):
    def function(wire):
        """It MUST hold."""

    return Case(name, function, ("prod-001",), (), {}, {}, smoke, None)


CASE_LIST = [made("offsets/one", smoke=True), made("offsets/two"), made("groups/one", smoke=True)]


def test_selection_by_name_pattern_and_profile():
    def names(*args, **kwargs):
        return [entry.id for entry in select(CASE_LIST, *args, **kwargs)[0]]

    assert names([], [], "full") == ["offsets/one", "offsets/two", "groups/one"]
    assert names([], [], "smoke") == ["offsets/one", "groups/one"]
    assert names(["offsets/*"], [], "smoke") == ["offsets/one", "offsets/two"]
    assert names(["offsets/*"], ["*/two"], "full") == ["offsets/one"]
    assert {entry.id: why for entry, why in select(CASE_LIST, [], ["groups/one"], "smoke")[1]} == {
        "offsets/two": "not in the smoke profile",
        "groups/one": "deselected",
    }


def trial(name):
    def function():
        """It MUST hold."""

    return Case(name, function, ("prod-001",), (), {}, {}, False, None)


def test_trials_come_last_by_their_time_and_else_nothing_moves():
    seconds = {"offsets/one": 22.0, "offsets/two": 0.4, "groups/one": 9.0, "groups/two": 30.0, "groups/three": 20.0}
    cases = [trial("groups/two"), *CASE_LIST, trial("groups/three")]
    ordered = quick_first(cases, lambda entry: seconds[entry.id])
    assert [entry.id for entry in ordered] == ["offsets/one", "offsets/two", "groups/one", "groups/three", "groups/two"]


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownSelection, match="offsets/two"):
        select(CASE_LIST, ["offsets/tow"], [], "full")
    with pytest.raises(UnknownSelection):
        select(CASE_LIST, [], ["nothing/*"], "full")


def test_a_budget_serves_the_smoke_cases_first_and_lists_the_rest():
    taken, left = within_budget(CASE_LIST, lambda entry: 10.0, 20.0)
    assert [entry.id for entry in taken] == ["offsets/one", "groups/one"]
    assert [(entry.id, why) for entry, why in left] == [("offsets/two", "does not fit into the budget of 0.333333 min")]


def test_a_budget_serves_what_is_to_run_first_before_the_smoke_cases():
    taken, _ = within_budget(CASE_LIST, lambda entry: 10.0, 20.0, first=("offsets/two",))
    assert [entry.id for entry in taken] == ["offsets/one", "offsets/two"]


def test_what_is_to_run_first_does_and_what_others_rest_on_before_it(tmp_path, monkeypatch):
    rounds = []
    monkeypatch.setattr(Run, "_each", lambda self, cases: rounds.append([case.id for case in cases]))
    asked = ("ordering/offsets-rise", "offsets/ends", "protocol/unknown-tags")
    run = Run(RunOptions("reference", select=asked, first=asked[:1], run_dir=str(tmp_path), seed=1, jobs=1))
    run.choose(all_cases())
    run._loop()
    assert rounds[:2] == [["offsets/ends", "ordering/offsets-rise"], ["protocol/unknown-tags"]]


def test_cases_live_where_the_plugin_looks():
    assert Path("suites", "cases") == CASES.relative_to(CASES.parent.parent)


def test_a_case_lies_in_the_folder_of_its_area() -> None:
    assert [case.id for case in all_cases() if case.file.parent.name != case.id.partition("/")[0]] == []
