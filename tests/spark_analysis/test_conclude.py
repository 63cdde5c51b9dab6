"""What came of a history that Spark judged: the preconditions of a trial withhold a pass here as they do in `check`."""

import msgspec
import pytest

pytest.importorskip("pyspark", reason="pip install 'brokertrial[spark]' to judge on Spark")

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.judge import Judgement
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.commands.analyze import conclude, status
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation
from brokertrial.spark_analysis.canaries import CanaryResult
from brokertrial.spark_analysis.job import HistoryResult, JobResult, Opened
from brokertrial.spark_analysis.results import anomalies_of, availability_of, results_of
from brokertrial.spark_analysis.tables import columns_of
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.trials.facts import KIND, TrialFacts

SEEN = TrialFacts(warm=True, acked=3, hits={"f1": 3}, faults_over_ns=1_000)
LOST = Anomaly(
    name="lost-write", guarantee="prod-002", topic="t", partition=0, offsets=(1,), values=(1,), operations=(1,),
    sentence="Gone.", strength="durability", attribution="broker",
)  # fmt: skip


@pytest.fixture
def found(tmp_path):
    """What Spark found in a trial of ours, with this conclusion."""

    def make(seen=SEEN, case="idempotence/lost-ack", **judgement):
        with Recorder.create(tmp_path / "h", Header(case=case, target="t", nodes=1)) as recorder:
            recorder.add(Client(client="w", library="librdkafka", acks=-1, idempotence=True))
            recorder.add(Operation(op=1, client="w", kind="send", call_ns=1, return_ns=2, outcome="ok"))
            if seen is not None:
                recorder.event(KIND, seen=msgspec.to_builtins(seen))
        judged = Judgement(judged=["lost-write"], **judgement)
        return HistoryResult(Opened(str(tmp_path / "h"), "run", History.open(tmp_path / "h")), judged)

    return make


def ends_with(found):
    outcome = JobResult([found], [], CanaryResult(("lost-write",), (), ()), [])
    results = results_of(outcome, [], "local[1]", 1.0, conclude)
    return results.cases[0].verdict, results.cases[0].reasons, status(results)


def test_a_trial_that_went_well_passes(found):
    assert ends_with(found()) == ("pass", [], ExitStatus.PASSED)


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"hits": {"f1": 0}}, "no-hit: "), ({"warm": False}, "too-few"), ({"unread": {"t-0": "cut"}}, "final-read")],
)
def test_what_withholds_a_pass_from_check_withholds_it_here(found, change, reason):
    verdict, (said,), ended = ends_with(found(msgspec.structs.replace(SEEN, **change)))

    assert (verdict, said.startswith(reason), ended) == ("inconclusive", True, ExitStatus.INCONCLUSIVE)


def test_a_trial_without_a_conclusion_is_no_pass(found):
    assert ends_with(found(None))[0] == "inconclusive"


def test_an_anomaly_and_a_death_fail(found):
    unlucky = msgspec.structs.replace(SEEN, hits={"f1": 0})
    assert ends_with(found(unlucky, anomalies=[LOST])) == ("fail", [], ExitStatus.FAILED)


def test_a_death_fails_without_an_anomaly(found):
    verdict, (said,), ended = ends_with(found(msgspec.structs.replace(SEEN, alive=False)))

    assert (verdict, ended) == ("fail", ExitStatus.FAILED) and said.startswith("died")


def test_every_column_that_is_written_has_a_type_of_spark(found):
    results = results_of(JobResult([found()], [], CanaryResult((), (), ()), []), [], "local[1]", 1.0, conclude)

    assert "`p99_ms` double" in columns_of(availability_of(results).schema)
    assert "`offsets` string" in columns_of(anomalies_of(results).schema)


def test_single_answers_are_not_for_spark_and_foreign_histories_have_no_preconditions(found, tmp_path):
    assert ends_with(found(None, case="offsets/by-time-within-a-batch"))[::2] == (
        "not_applicable",
        ExitStatus.NOTHING_JUDGED,
    )


def test_a_foreign_history_has_no_preconditions(found):
    assert conclude(found(None, case="theirs/own"))[0] is Verdict.PASS
