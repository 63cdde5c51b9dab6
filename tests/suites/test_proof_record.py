"""The record that ships is about the cases as they are: one that has changed since can only warn, which nobody sees."""

from suites import prove
from suites.case import all_cases
from suites.proof import proof_of, record


def test_every_case_as_it_is_written_now_has_passed_on_kafka() -> None:
    unproven = [case.id for case in all_cases() if proof_of(case) is None]
    assert not unproven, f"changed since they were last proven; `make prove` does it again: {', '.join(unproven)}"


def test_every_case_has_been_seen_to_fail() -> None:
    assert not [case.id for case in all_cases() if not record()[case.id].fails_with]


def test_the_record_knows_no_case_that_is_gone() -> None:
    assert record().keys() == {case.id for case in all_cases()}


def test_the_table_in_the_documents_is_of_this_record() -> None:
    assert prove.TABLE.read_text(encoding="utf-8") == prove._table(all_cases(), record())
