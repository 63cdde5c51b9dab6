"""Putting checks to histories: the same answer every time, for one or for many, also for histories that lack tables."""

import shutil

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.judge import SHOWN, UnknownCheck, judge, judge_all
from brokertrial.histories.header import read_title, write_title
from brokertrial.histories.reader import History


def broken(story, **header):
    tale = story(**header)
    tale.producer("p")
    tale.reader("r")
    for value in range(40):
        tale.send(value, at=value if value % 7 else value + 1)
    tale.read(*[(offset, offset * 5 % 40) for offset in range(0, 40, 3)])
    tale.read(*[(offset, offset * 3 % 40) for offset in range(39, 0, -2)], stream=2)
    return tale


def healthy(story):
    tale = story()
    tale.producer("p")
    tale.reader("r")
    for value in range(5):
        tale.send(value, at=value)
    tale.read(*[(offset, offset) for offset in range(5)])
    tale.final_read(5)
    return tale


def test_the_same_rows_ten_times_of_ten(story):
    history = broken(story).history()
    answers = {msgspec.json.encode(judge(history)) for _ in range(10)}

    assert len(answers) == 1
    assert len(msgspec.json.decode(answers.pop())["anomalies"]) > 20


def test_a_healthy_history_is_clean(story):
    judged = healthy(story).judge()

    assert (judged.anomalies, judged.inconclusive, judged.totals) == ([], {}, {})
    assert {"lost-write", "unseen", "duplicate", "phantom", "log-order", "poll-skip"} <= set(judged.judged)
    assert judged.not_applicable["aborted-read"].startswith("no send failed")


def test_many_histories_are_judged_apart(story):
    histories = [tale.history() for tale in (healthy(story), broken(story), healthy(story), broken(story, nodes=1))]
    together = judge_all(histories)

    assert together == [judge(history) for history in histories]
    assert together[0].anomalies == together[2].anomalies == []
    assert together[1].anomalies


def test_every_anomaly_explains_itself(story):
    for anomaly in broken(story).anomalies():
        assert anomaly.sentence.endswith("."), anomaly
        assert anomaly.operations and anomaly.offsets, anomaly
        assert "None" not in anomaly.sentence, anomaly
        assert anomaly.guarantee


def test_many_anomalies_are_counted_and_some_are_shown(story):
    tale = story()
    tale.producer("p")
    tale.reader("r")
    for value in range(500):
        tale.send(value, at=value)
    tale.read((500, 0))
    judged = tale.judge("lost-write")

    assert judged.totals == {"lost-write": 499}
    assert [anomaly.offsets[0] for anomaly in judged.anomalies] == list(range(1, SHOWN + 1))


def test_an_unknown_check_is_named(story):
    with pytest.raises(UnknownCheck, match="lost-wrote"):
        healthy(story).judge("lost-wrote")


def test_a_killed_run_is_judged_as_far_as_it_goes(story):
    history = broken(story).history()
    expected = judge(history).anomalies
    title = read_title(history.folder)
    write_title(history.folder, msgspec.structs.replace(title, parts=[], complete=False, closed_ns=None))

    assert judge(History.open(history.folder, allow_incomplete=True)).anomalies == expected


def without(history, table, column=None):
    """A foreign history that lacks a table, or a column of it."""
    if column is None:
        shutil.rmtree(history.folder / table)
    for file in history.parts(table) if column else []:
        columns = pq.read_table(file)
        pq.write_table(columns.drop_columns([column]), file)
        assert isinstance(columns, pa.Table)
    title = read_title(history.folder)
    write_title(history.folder, msgspec.structs.replace(title, parts=[], complete=False, closed_ns=None))
    return History.open(history.folder, allow_incomplete=True)


def test_a_table_that_is_not_there_makes_its_checks_not_applicable(story):
    judged = judge(without(broken(story).history(), "records"))

    assert judged.not_applicable["lost-write"] == "the history has no table records"
    assert "log-order" in judged.judged


def test_a_column_that_is_not_there_makes_its_checks_not_applicable(story):
    judged = judge(without(broken(story).history(), "records", "prev_offset"))

    assert judged.not_applicable["poll-skip"] == "the history has no column records.prev_offset"
    assert "inconsistent-offsets" in judged.judged


def test_checks_document_themselves():
    for name, check in all_checks().items():
        first, *rest = check.definition.splitlines()
        assert first.endswith(".") and ":" in first, name
        assert any(line.startswith("Source: ") for line in rest), name
        assert any(line.startswith("    ") or "   " in line for line in rest), f"{name} has no example"
        assert check.subject and check.otherwise and check.guarantee, name


def test_a_query_that_takes_long_writes_nothing_to_stdout():
    with DuckDBEngine() as duck:
        assert duck.ask("SELECT current_setting('enable_progress_bar') AS drawn") == [{"drawn": False}]
