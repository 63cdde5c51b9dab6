"""The sentences of anomalies: what a row lacks is left out or `unknown`, and none of them says None."""

from __future__ import annotations

import re
import string

import pytest

from brokertrial.checkers import jepsen
from brokertrial.checkers.check import all_checks, checks_in
from brokertrial.checkers.sentence import filled

CHECKS = {**all_checks(), **checks_in(jepsen)}
STILTED = re.compile(r"\b(told|nobody|taken back|was said to|asked for)\b")


def columns(template: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(template) if name]


def with_sentences() -> list[str]:
    return sorted(name for name, check in CHECKS.items() if check.sentence)


@pytest.mark.parametrize("name", with_sentences())
def test_no_sentence_says_none(name: str) -> None:
    check = CHECKS[name]
    empty = dict.fromkeys(columns(check.sentence))
    for column in (None, *empty):
        row = empty if column is None else {**dict.fromkeys(empty, 7), column: None}
        sentence = check.anomaly(row).sentence
        assert "None" not in sentence and not re.search(r"[\[\]{}]|  | \.", sentence), sentence


@pytest.mark.parametrize("name", with_sentences())
def test_no_sentence_is_stilted(name: str) -> None:
    assert not STILTED.search(CHECKS[name].sentence)


def test_a_part_in_brackets_is_left_out_where_a_column_in_it_is_null() -> None:
    template = "No {what} ran[ to {topic}-{partition}][ for group {group}] for {ms:.0f} ms."

    assert filled(template, {"what": "poll", "topic": "t", "partition": 0, "group": None, "ms": 4.2}) == (
        "No poll ran to t-0 for 4 ms."
    )
    assert filled(template, {"what": "commit", "topic": None, "partition": None, "group": "g", "ms": None}) == (
        "No commit ran for group g for unknown ms."
    )


def test_a_value_that_has_brackets_is_shown_as_it_is() -> None:
    assert filled("Key {key} is[ of {group}].", {"key": "[x] {y}", "group": "g[1]"}) == "Key [x] {y} is of g[1]."


@pytest.mark.parametrize(("group", "says"), [("g", " for group g ran"), (None, "2 commit call(s) to t-0 ran")])
def test_no_progress_names_a_group_only_where_there_is_one(group: str | None, says: str) -> None:
    row = {"calls": 2, "what": "commit", "topic": "t", "partition": 0, "group_id": group, "ms_waited": 61_000.0}
    assert says in CHECKS["no-progress"].anomaly(row).sentence


def test_an_offset_that_no_commit_explains_has_no_expected_one() -> None:
    row = {"group_id": "g", "offset_a": 5, "topic": "t", "partition": 0, "why": "never committed", "offset_b": None}
    assert CHECKS["commit-changed"].anomaly(row).sentence.endswith("returned 5 for t-0: never committed.")
    assert "(expected 3)" in CHECKS["commit-changed"].anomaly({**row, "offset_b": 3}).sentence
