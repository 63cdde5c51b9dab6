"""Control brokers: each is broken in a way that is known, and the suite as it is now must say so.

The proof record says of each case what once made it fail; that was another judge. This small set goes the whole way at
every commit: target, clients or requests, history, verdict. It has two or more controls for each way to a verdict, so
that a judge, a trial verdict or a wire verdict that passes everything is red here. One healthy run beside it is not
needed: that a judge has grown too strict shows on Apache Kafka (tests/suites/test_renewal_on_kafka.py).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import by_id
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.proving import mutation
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run

pytestmark = pytest.mark.long

SEED = 7
#: planted bug -> (case, how its failure must be named)
PLANTED = {
    # wire: statements
    "M07a": [("produce/base-offset", "statement:Produce.responses.partition_responses.base_offset")],
    "M30b": [("offsets/by-time-within-a-batch", "statement:ListOffsets")],
    # wire: bytes that no client can read
    "M38a": [("protocol/acks-0-has-no-answer", "protocol:")],
    "M39a": [("protocol/api-versions-header", "protocol:ApiVersions")],
    # wire: no answer
    "M39b": [("protocol/api-versions-unknown-version", "no-answer")],
    "M39f": [("protocol/no-client-id", "no-answer")],
    # a broker that dies
    "M42a": [("protocol/changed-bytes", "died")],
    # trials, by families of checks: the log
    "M01a": [("ordering/pipelined-sends", "anomaly:lost-write|anomaly:unseen|anomaly:offset-reuse")],
    "M05": [("ordering/pipelined-sends", "anomaly:nonmonotonic-send")],
    # producers that send again
    "M09": [("idempotence/lost-ack", "anomaly:duplicate"), ("idempotence/doubled-request", "anomaly:duplicate")],
    # readers
    "M06": [
        ("ordering/slow-answers", "anomaly:poll-skip|anomaly:int-poll-skip"),
        ("fetch/lost-answers", "anomaly:poll-skip|anomaly:int-poll-skip"),
    ],
    # groups and their commits
    "M24a": [("groups/one-owner-each", "anomaly:two-owners")],
    "M28b": [("commits/lost-answers", "anomaly:commit-changed|anomaly:commit-order")],
    # transactions
    "M15b": [("transactions/lost-end-answers", "anomaly:aborted-read")],
    "M17": [("transactions/lost-end-answers", "anomaly:aborted-read")],
    "M19a": [("transactions/copies-with-lost-answers", "anomaly:lost-copy")],
}
#: cases whose edited answers are told by the proxy
EDITED = ("admin/created-as-asked", "commits/nothing-committed")


def signatures(result):
    assert result.verdict is Verdict.FAIL, f"{result.case}: {result.verdict}: {result.reason}"
    assert result.is_failure
    return [failure.signature for failure in result.failures]


def names(told, wanted):
    return any(one.startswith(word) for one in told for word in wanted.split("|"))


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_seen_and_named(bug):
    cases = dict(PLANTED[bug])
    every = {case_id: by_id()[case_id] for case_id in cases}
    word = next((w for w, case in mutation.mutants.catchers(bug) if case.id in every), bug)
    for result in mutation.results(f"reference?mutant={word}", list(every.values()), SEED):
        told = signatures(result)
        assert names(told, cases.pop(result.case)), told
    assert not cases


def finished(**options):
    """The results of a run by the command line's own path, and its exit status."""
    with Scratch("control") as folder:
        came = run(RunOptions(seed=SEED, run_dir=str(Path(folder, "run")), unproven="fail", **options))
    return {result.case: result for result in came.results}, came.status


def test_edited_answers_are_seen():
    results, status = finished(target="reference", select=EDITED, refute=True)
    assert results.keys() == set(EDITED) and status == ExitStatus.FAILED
    assert all(names(signatures(result), "statement:") for result in results.values())


def test_what_is_claimed_or_required_and_not_offered_is_a_failure():
    results, status = finished(
        target="reference",
        select=("protocol/no-client-id",),
        claims={"share-groups": True},
        require=("core", "share-groups"),
    )
    failed = {name: signatures(result) for name, result in results.items() if result.verdict is Verdict.FAIL}
    assert failed == {"requires/share-groups": ["requires"], "claims/share-groups": ["claim"]}
    assert status == ExitStatus.FAILED


def test_every_way_to_a_verdict_has_two_controls():
    ways = defaultdict(list)
    for bug, controls in PLANTED.items():
        for case_id, wanted in controls:
            ways[by_id()[case_id].kind, wanted.partition(":")[0]].append((bug, case_id))
    assert {way for way, controls in ways.items() if len(controls) > 1} >= {
        ("wire", "statement"),
        ("wire", "protocol"),
        ("wire", "no-answer"),
        ("trial", "anomaly"),
    }
