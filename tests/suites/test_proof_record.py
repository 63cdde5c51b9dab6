"""The record that ships is about the cases as they are: one that has changed since can only warn, which nobody sees."""

from brokertrial.suites.case import all_cases
from brokertrial.suites.proving import page, prove
from brokertrial.suites.proving.page import only_edited
from brokertrial.suites.proving.proof_record import proof_of, record

MOST_ONLY_EDITED = 16
"""May only fall: an edited answer shows that a statement is looked at, not that the case provokes the fault."""


def test_every_case_as_it_is_written_now_has_passed_on_kafka() -> None:
    unproven = [case.id for case in all_cases() if proof_of(case) is None]
    assert not unproven, f"changed since they were last proven; `make prove` does it again: {', '.join(unproven)}"


def test_every_case_has_been_seen_to_fail() -> None:
    assert not [case.id for case in all_cases() if not record().cases[case.id].fails_with]


def test_few_cases_have_only_ever_failed_by_an_edited_answer() -> None:
    """The bundled broker has no ZooKeeper to plant bugs in (but see tests/suites/test_zookeeper_cases.py).

    And it has no quotas (but see docs/track-record.md).
    """
    others = [case for case in all_cases() if "zookeeper" not in case.needs and "AlterClientQuotas" not in case.apis]
    assert len(only_edited(others, record())) <= MOST_ONLY_EDITED


def test_the_record_knows_no_case_that_is_gone() -> None:
    assert record().cases.keys() == {case.id for case in all_cases()}


def test_every_pass_says_what_lay_under_the_case() -> None:
    named = {seen.state for entry in record().cases.values() for seen in entry.passes}
    assert named == record().states.keys()
    assert {seen.release for entry in record().cases.values() for seen in entry.passes} <= set(prove.RELEASES)


def test_the_table_in_the_documents_is_of_this_record() -> None:
    assert page.TABLE.read_text(encoding="utf-8") == page.page(all_cases(), record())
