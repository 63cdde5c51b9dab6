"""What a failure of the closing look accuses of: what it looked at, not what the case had found to be kept."""

from __future__ import annotations

import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.closing_look.promises import BY_API, BY_SUBJECT, BY_WORDS, OF_PARTITIONS, STATEMENT, of_its_own
from brokertrial.suites.guarantees import registry
from brokertrial.suites.outcome import failed, passed
from brokertrial.suites.result import CaseResult, Failure, Outcome
from brokertrial.wire.apis import by_name

CASE = by_id()["idempotence/retry-is-written-once"]
DOUBLED = Anomaly(
    name="duplicate",
    guarantee="idem-002",
    topic="t",
    partition=0,
    offsets=(1, 2),
    values=(7,),
    operations=(1, 2),
    sentence="value 7 is at 1 and at 2",
    strength="integrity",
    attribution="broker",
)
SEEN = (
    (
        "statement:DescribeProducers.topics.partitions.active_producers:producer # is shown with nothing",
        "t1-0: DescribeProducers v0: producer 7 is shown with nothing; its last batch in the log has epoch 5",
        ("txn-026",),
    ),
    ("statement:DescribeGroups.groups.group_state:the group is", "group g1: the group is Stable", ("grp-020",)),
    (
        "protocol:OffsetFetch:the answer cannot be decoded",
        "group g2: malformed",
        ("cmt-001", "cmt-016"),
    ),
    (
        "statement:# is stable up to #; by its log",
        "t1-0: t1-0 is stable up to 0; by its log 4",
        ("txn-004",),
    ),
    ("statement:Fetch.error_code:it succeeded", "t1-0: Fetch v17: it succeeded; it must be refused", ("fetch-015",)),
    (
        "statement:Metadata.topics.partitions.replica_nodes.twice:has two rows",
        "the answers: Metadata v12 has two rows; what is asked for once must be answered once",
        ("err-008",),
    ),
    ("statement:EndTxn:no order of the answers", "transactional id t: no order explains it", ("txn-010",)),
    ("statement:what nobody foresaw", "t1-0: what nobody foresaw", OF_PARTITIONS),
)


def failing(*failures: Failure, anomalies: tuple[Anomaly, ...] = ()) -> CaseResult:
    outcome = failed("statement", failures[0].sentence)
    return CaseResult.of(CASE, Outcome(outcome.verdict, outcome.reason, failures=failures, anomalies=anomalies))


def looked(signature: str, sentence: str) -> Failure:
    return Failure(signature, f"the closing look at {sentence}")


@pytest.mark.parametrize(("signature", "sentence", "names"), SEEN)
def test_the_look_accuses_of_what_it_looked_at(signature: str, sentence: str, names: tuple[str, ...]) -> None:
    result = of_its_own(failing(looked(signature, sentence)))
    assert (result.guarantees, result.statement) == (names, STATEMENT)
    assert (result.verdict, result.case, result.level) == (Verdict.FAIL, CASE.id, CASE.level)


def test_what_the_case_itself_found_accuses_of_its_own() -> None:
    own = Failure("statement:Produce:it succeeded", "Produce v13: it succeeded; it must be refused")
    both = failing(own, looked(*SEEN[0][:2]))
    assert of_its_own(both) is both
    harmed = failing(looked(*SEEN[0][:2]), anomalies=(DOUBLED,))
    assert of_its_own(harmed) is harmed
    kept = CaseResult.of(CASE, passed())
    assert of_its_own(kept) is kept


def test_the_names_are_those_of_guarantees_and_of_apis() -> None:
    named = {name for table in (BY_API, BY_WORDS, BY_SUBJECT) for names in table.values() for name in names}
    assert named | set(OF_PARTITIONS) <= set(registry())
    assert all(by_name(api) is not None for api in BY_API)
