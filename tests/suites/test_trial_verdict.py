"""The verdict on a trial, from its history: anomalies fail it; a missing precondition withholds a pass, no more."""

import re

import msgspec
import pytest

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import Judgement, judge
from brokertrial.checkers.verdict import Verdict
from brokertrial.faults.kinds.drop_response import drop_response
from brokertrial.faults.schedule import Windows
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation, Record
from brokertrial.suites.case import Case
from brokertrial.suites.trials.facts import KIND, TrialFacts
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.trials.verdict import judged
from brokertrial.suites.workloads import SendAndRead

SCHEDULE = Windows(drop_response(api="Produce", times=3))
SEEN = TrialFacts(warm=True, acked=3, hits={"f1": 3}, faults_over_ns=1_000)


def function():
    """It MUST hold."""


CASE = Case("chaos/case", function, ("prod-002",), (), {}, {}, False, None)


def verdict(tmp_path, seen=SEEN, *, lose=None, read_to=3, length=3, during=0, phantom=False, rebalances=(0, 0)):
    """Three sends, all acknowledged; a final read that misses offset `lose`, up to `read_to`."""
    header = Header(
        case="chaos/case",
        target="t",
        nodes=1,
        schedule=msgspec.to_builtins(SCHEDULE),
        settings={"length": length, "during_faults": during, "assignments": rebalances[1]},
    )
    with Recorder.create(tmp_path / "h", header) as recorder:
        for _ in range(rebalances[0]):
            recorder.event("rebalance", client="w", assigned=2)
        recorder.add(Client(client="w", library="librdkafka", acks=-1, idempotence=True))
        recorder.add(Client(client="final", library="wire", isolation="read_uncommitted", mode="assign"))
        for offset in range(3):
            recorder.add(
                Operation(
                    op=offset + 1,
                    client="w",
                    kind="send",
                    topic="t",
                    partition=0,
                    call_ns=10 * offset,
                    return_ns=10 * offset + 5,
                    outcome="ok",
                    base_offset=offset,
                    count=1,
                )
            )
            recorder.add(
                Record(
                    op=offset + 1,
                    client="w",
                    topic="t",
                    partition=0,
                    offset=offset,
                    value=100 + offset,
                    side="sent",
                    position=offset,
                    outcome="ok",
                )
            )
        recorder.event("window-begin", window="f1", at_ns=0, text="drop")
        recorder.add(
            Operation(
                op=9,
                client="final",
                kind="fetch",
                topic="t",
                partition=0,
                call_ns=100,
                return_ns=110,
                outcome="ok",
                high_watermark=3,
            )
        )
        before = -1
        for offset in range(read_to):
            if offset != lose:
                recorder.add(final_read_gives(offset, 100 + offset, before))
                before = offset
        if phantom:
            recorder.add(final_read_gives(3, 999, before))
        if read_to == 3:
            recorder.event("final-read", topic="t", partition=0, offset=3 + phantom)
        if seen is not None:
            recorder.event(KIND, seen=msgspec.to_builtins(seen))
    return judged(CASE, History.open(tmp_path / "h"))


def final_read_gives(offset, value, before):
    return Record(
        op=9,
        client="final",
        topic="t",
        partition=0,
        offset=offset,
        value=value,
        side="seen",
        stream=1,
        position=offset,
        prev_offset=before,
        outcome="ok",
    )


def changed(**fields):
    return msgspec.structs.replace(SEEN, **fields)


def test_all_there_and_all_bitten_passes(tmp_path):
    outcome = verdict(tmp_path)
    assert outcome.verdict is Verdict.PASS, outcome.reason
    assert outcome.facts["acknowledged"] == 3
    assert outcome.facts["hits of f1"] == 3


def test_a_lost_write_fails_with_its_operations(tmp_path):
    outcome = verdict(tmp_path, lose=1)
    assert outcome.verdict is Verdict.FAIL
    assert [anomaly.name for anomaly in outcome.anomalies] == ["lost-write"]
    assert any(line.op == 2 and line.what == "send" for line in outcome.evidence)
    assert any(line.what == "fault" for line in outcome.evidence)


def test_a_record_of_nobody_is_held_against_nobody_while_a_client_has_not_ended(tmp_path):
    """A call of the client library that never returns (librdkafka #5456) leaves what it sent out of the history."""
    outcome = verdict(tmp_path / "all", phantom=True)
    assert [anomaly.name for anomaly in outcome.anomalies] == ["phantom"] and outcome.verdict is Verdict.FAIL

    hangs = changed(unended=["client producer-2 did not end within 120 s"])
    outcome = verdict(tmp_path / "hangs", hangs, phantom=True)
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.reason.sentence == (
        "client producer-2 did not end within 120 s: its operations are not fully recorded"
    )
    others = changed(unended=["client producer-2 did not end within 120 s"], stuck=["transactions of producer-2"])
    outcome = verdict(tmp_path / "others", others, phantom=True)
    assert outcome.reason.sentence.endswith("fully recorded; a fresh connection made progress")
    outcome = verdict(tmp_path / "lost", hangs, lose=1, phantom=True)
    assert [anomaly.name for anomaly in outcome.anomalies] == ["lost-write"], "no client can explain that one away"


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (changed(hits={"f1": 0}), "no-hit"),
        (changed(unhealed={"f1": "node 1 is still paused."}), "unhealed"),
        (changed(failed_windows={"f1": "no node"}), "suite"),
        (changed(problems=["client producer-1: ValueError"]), "suite"),
        (changed(unended=["client producer-2 did not end within 120 s"]), "client"),
        (changed(leaks=["producer-1 went to 9092"]), "leak"),
        (changed(unread={"t-0": "no answer"}), "final-read-incomplete"),
        (changed(warm=False), "too-few-operations"),
        (changed(acked=2), "too-few-operations"),
        (changed(stuck=["sends to t-0"]), "client"),
        (changed(behind=["consumer-1 at t-0"]), "client"),
        (None, "history"),
    ],
)
def test_a_missing_precondition_withholds_the_pass_and_nothing_more(tmp_path, seen, kind):
    outcome = verdict(tmp_path, seen)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, kind)


@pytest.mark.parametrize(
    "seen", [changed(hits={"f1": 0}), changed(problems=["x"]), changed(unread={"t-1": "y"}), changed(acked=0)]
)
def test_an_anomaly_fails_even_when_a_pass_would_be_withheld(tmp_path, seen):
    assert verdict(tmp_path, seen, lose=1).verdict is Verdict.FAIL


def test_too_few_operations_under_faults(tmp_path):
    assert verdict(tmp_path, during=100).reason.kind == "too-few-operations"


@pytest.mark.parametrize(("given", "found"), [(8, Verdict.INCONCLUSIVE), (9, Verdict.PASS)])
def test_too_few_assignments_prove_too_little(tmp_path, given, found):
    outcome = verdict(tmp_path, rebalances=(given, 9))
    assert outcome.verdict is found
    assert given == 9 or outcome.reason.sentence == "members were given partitions only 8 times"


def test_no_progress_on_a_fresh_connection_is_the_brokers(tmp_path):
    outcome = verdict(tmp_path, changed(stuck=["sends to t-0"], fresh="Produce got no answer"))
    assert outcome.verdict is Verdict.FAIL
    assert outcome.anomalies[0].name == "no-progress-after-heal"
    assert outcome.anomalies[0].guarantee == "prod-002"


def test_no_progress_proves_nothing_while_a_fault_is_still_there(tmp_path):
    seen = changed(stuck=["sends to t-0"], fresh="no answer", unhealed={"f1": "node 1 is not running."})
    assert verdict(tmp_path, seen).verdict is Verdict.INCONCLUSIVE


def test_a_node_that_died_while_no_fault_was_at_work_is_a_failure_though_the_heal_started_it(tmp_path):
    """Its clients hung in the library, so that three attempts were inconclusive."""
    outcome = verdict(tmp_path, changed(died=True, unended=["client producer-1 did not end within 5 s"]))
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "died")
    assert "no fault was active on a node" in outcome.reason.sentence


def test_a_node_that_died_by_itself_is_a_failure(tmp_path):
    outcome = verdict(tmp_path, changed(alive=False))
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.FAIL, "died")


def test_a_checker_that_fails_says_nothing_about_the_broker(tmp_path, monkeypatch):
    def broken(history):
        raise RuntimeError("the checker broke")

    monkeypatch.setattr("brokertrial.suites.trials.verdict.judge", broken)
    outcome = verdict(tmp_path, lose=1)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, "suite")


def test_judging_twice_gives_the_same_rows(tmp_path):
    first = verdict(tmp_path, lose=1)
    assert judged(CASE, History.open(tmp_path / "h")) == first


def test_an_unseen_end_is_not_judged_without_a_final_read(tmp_path):
    outcome = verdict(tmp_path, read_to=2)
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.INCONCLUSIVE, "checks-inconclusive")


def test_the_smoke_profile_halves_what_costs_time():
    trial = Trial(SendAndRead(), SCHEDULE, length=2_000, during_faults=100, assignments=8)
    assert trial.at_scale("full") is trial
    smaller = trial.at_scale("smoke")
    assert (smaller.length, smaller.during_faults, smaller.schedule) == (1_000, 50, SCHEDULE)
    assert smaller.assignments == 4


def test_what_kafka_permits_is_listed_and_decides_nothing(tmp_path):
    found = judge(History.open(_told(tmp_path)))
    late = msgspec.structs.replace(found.permitted[0], name="stale-read")
    assert [anomaly.name for anomaly in found.permitted] == ["longest-gap"]

    outcome = judged(CASE, History.open(_told(tmp_path)), lambda *_: Judgement(permitted=[*found.permitted, late]))

    assert outcome.permitted == (late,), "a figure that every history has is no finding"
    assert outcome.verdict is Verdict.PASS, outcome.reason


def _told(tmp_path):
    if not (tmp_path / "h").exists():
        verdict(tmp_path)
    return tmp_path / "h"


PROVEN = ["poll-skip", "torn-transaction", "two-owners", "precommitted-read", "nonmonotonic-send"]


@pytest.mark.parametrize("name", PROVEN)
def test_what_its_own_operations_prove_fails_although_a_client_did_not_end(tmp_path, name):
    check = all_checks()[name]
    row = dict.fromkeys(re.findall(r"\{(\w+)", check.sentence), 1) | {"topic": "t", "partition": 0, "op_a": 2}
    verdict(tmp_path, hangs := changed(unended=["client producer-2 did not end within 120 s"]))
    outcome = judged(CASE, History.open(tmp_path / "h"), lambda *_: Judgement(anomalies=[check.anomaly(row)]))
    assert outcome.verdict is Verdict.FAIL and outcome.anomalies[0].name == name and hangs.unended


@pytest.mark.parametrize(("state", "expected"), [(1, Verdict.FAIL), (0, Verdict.INCONCLUSIVE)])
def test_an_aborted_read_stands_where_the_abort_was_acknowledged(tmp_path, state, expected):
    row = {"topic": "t", "partition": 0, "value_a": 1, "offset_a": 1, "op_a": 2, "why": "x", "stands_alone": state}
    verdict(tmp_path, changed(unended=["client producer-2 did not end within 120 s"]))
    found = Judgement(anomalies=[all_checks()["aborted-read"].anomaly(row)])
    outcome = judged(CASE, History.open(tmp_path / "h"), lambda *_: found)
    assert outcome.verdict is expected
    assert [anomaly.name for anomaly in outcome.anomalies] == ["aborted-read"], "in sight either way"


def test_a_trial_without_faults_asks_for_no_operations_during_them(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.SCHEDULE", Windows())
    assert verdict(tmp_path, changed(hits={}), during=100).verdict is Verdict.PASS
