"""What a proof covers beside the case's text: what it is built from, no more and no less."""

from __future__ import annotations

import ast

import pytest

from suites import built_from, proof
from suites.case import by_id

PROBE = '''
"""Words."""
LIMIT = 3

class Answer:
    """Words."""
    def must_succeed(self):
        return self.code == 0

class Family:
    def __init__(self):
        self.told = []

    def commit(self, group: str, offset: int) -> Answer:
        """Words."""
        # a comment
        return Answer(self.put(group, offset, LIMIT))

    def put(self, *what):
        return what

    def fetch(self, topic):
        return topic

def rebalance(*members):
    return members
'''


def what(source, *names):
    defined = built_from._defined(ast.parse(source), "probe/made", by_method=True)
    found = built_from.reached({"Family", *names}, defined)
    return {one.place.split(".", 1)[1]: one.content for one in found}


def test_what_a_case_names_is_followed_to_what_that_names():
    assert {"Family", "Family.commit.0", "Family.put.1", "LIMIT", "Answer"} == set(what(PROBE, "commit"))
    assert {"Family", "Family.fetch.2"} == set(what(PROBE, "fetch"))
    assert {"Family", "rebalance"} == set(what(PROBE, "rebalance"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Words."""', '"""Other words."""'),
        ("        # a comment\n", "\n        # more of them\n\n"),
        ("offset: int) -> Answer", "offset) -> object"),
        ("(self, group: str, offset: int)", "(\n        self,\n        group: str,\n        offset: int,\n    )"),
        ("return topic", "return topic + 1"),
        ("return members", "return members, 1"),
    ],
)
def test_words_layout_and_strangers_leave_a_proof_in_force(old, new):
    assert old in PROBE
    assert what(PROBE.replace(old, new), "commit") == what(PROBE, "commit")


@pytest.mark.parametrize(
    ("old", "new"),
    [("LIMIT = 3", "LIMIT = 4"), ("return what", "return what, 1"), ("self.told = []", "self.told = {}")],
)
def test_what_is_reached_counts(old, new):
    assert what(PROBE.replace(old, new), "commit") != what(PROBE, "commit")


def test_a_proof_goes_stale_with_what_the_case_is_built_from(monkeypatch):
    case = by_id()["offsets/by-time-within-a-batch"]
    entries = {}
    proof.note(entries, case, passed_on="Apache Kafka 4.4.0 (2026-11-21)")
    assert proof.holds(entries[case.id], case)
    assert proof.holds(proof.Entry(case.content_hash, "", ["Apache Kafka 4.4.0"]), case)
    assert not proof.holds(proof.Entry(case.content_hash, "of before", ["Apache Kafka 4.4.0"]), case)


def test_no_case_comes_to_everything():
    everything = len(built_from._definitions(("probe", "workloads")))
    for case_id in ("offsets/by-time-within-a-batch", "groups/generation-counts"):
        case = by_id()[case_id]
        names = {"Wire"} | {
            name
            for node in built_from.own_nodes(case.file.read_text("utf-8"), case.function.__name__)
            for name in built_from._names(node)
        }
        assert 20 < len(built_from.reached(names, built_from._definitions(("probe",)))) < everything / 2


def test_what_is_borrowed_from_another_file_of_cases_counts():
    source = "from suites.cases.compaction.survivors import cleaned\n\ndef one(wire):\n    cleaned(wire)\n"
    borrowed = built_from._borrowed(built_from.own_nodes(source, "one"))
    places = {one.place for one in built_from.reached({"cleaned"}, borrowed)}
    assert {"suites.cases.compaction.survivors.cleaned", "suites.cases.compaction.survivors.WITHIN_S"} <= places
    assert "suites.cases.compaction.survivors.write" not in places
