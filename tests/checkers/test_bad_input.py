"""What no recorder writes: a clear sentence or the right verdict, never a silent pass."""

import hashlib
import os

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokertrial.checkers.judge import judge
from brokertrial.histories.header import HistoryRefused, HistoryWriteFailed, read_title, write_title
from brokertrial.histories.parts import PartWriter
from brokertrial.histories.payload import read_back, record_for
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Event
from brokertrial.histories.tables import schema_of
from tests.checkers.conftest import TOPIC

BIG = 10 * 2**20


def healthy(story):
    tale = story()
    tale.producer()
    tale.reader()
    for value in range(5):
        tale.send(value, at=value)
    tale.read(*[(offset, offset) for offset in range(5)])
    tale.final_read(5)
    return tale


def sealed(history, table, change):
    """The history with one part written anew by somebody who also knows how to seal it."""
    file = history.parts(table)[0]
    found = pq.read_table(file)
    pq.write_table(change(found).replace_schema_metadata(found.schema.metadata), file)
    content, title = file.read_bytes(), read_title(history.folder)
    seal = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    name = str(file.relative_to(history.folder))
    parts = [msgspec.structs.replace(part, **seal) if part.file == name else part for part in title.parts]
    write_title(history.folder, msgspec.structs.replace(title, parts=parts))
    return history.folder


def set_to(name, value):
    def change(table):
        at = table.schema.get_field_index(name)
        return table.set_column(at, name, pa.array(value(table)))

    return change


def test_a_clock_that_went_backwards(story):
    tale = healthy(story)
    tale.op("poll", "r", call=500, ret=400)
    found = tale.judge()

    assert (found.anomalies, found.judged) == ([], [])
    assert "operation 8 returned before it was called" in found.inconclusive["history"]


def test_a_clock_that_stood_still_is_none_that_went_backwards(story):
    tale = healthy(story)
    tale.op("poll", "r", call=500, ret=500)

    assert "history" not in tale.judge().inconclusive


def test_one_number_for_two_calls(story):
    folder = sealed(healthy(story).history(), "operations", set_to("op", lambda t: [1, 1, *range(3, 3 + len(t) - 2)]))
    found = judge(History.open(folder))

    assert found.judged == []
    assert "operation 1 is there twice" in found.inconclusive["history"]


def test_one_call_on_two_partitions_is_no_duplicate(story):
    tale = healthy(story)
    number = tale.op("list_offsets", "r", high_watermark=5)
    tale.rows.append(msgspec.structs.replace(tale.rows[-1], op=number, partition=1, high_watermark=0))

    assert "history" not in tale.judge().inconclusive


@pytest.mark.parametrize("returned", [None, 10**6])
def test_a_send_that_never_returned_or_came_to_nothing_is_owed_to_nobody(story, returned):
    tale = healthy(story)
    tale.send(77, client="p", outcome="info", ret=returned)
    found = tale.judge()

    assert (found.anomalies, found.inconclusive) == ([], {})


def test_a_send_that_never_returned_but_was_read_is_judged(story):
    tale = healthy(story)
    tale.send(77, client="p", outcome="info", ret=None)
    tale.read((5, 77), (6, 77), client="r", stream=2, start=5)

    assert [anomaly.name for anomaly in tale.anomalies("duplicate")] == ["duplicate"]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("operations", "op", "seven"), ("records", "offset", 1.5), ("records", "intact", "yes"), ("clients", "client", 7)],
)
def test_columns_of_another_kind_are_refused_by_name(story, table, column, value):
    folder = sealed(healthy(story).history(), table, set_to(column, lambda rows: [value] * len(rows)))

    with pytest.raises(HistoryRefused, match=f"has the column {column} as"):
        History.open(folder)


def test_somebody_elses_parquet_is_refused(story, tmp_path):
    history = healthy(story).history()
    pq.write_table(pa.table({"city": ["Athens"], "people": [3_000_000]}), history.parts("operations")[0])

    with pytest.raises(HistoryRefused, match="another history"):
        History.open(history.folder)


@pytest.mark.parametrize("column", ["offset", "value", "outcome", "prev_offset"])
def test_a_column_that_is_missing_takes_its_checks_along_by_name(story, column):
    folder = sealed(healthy(story).history(), "records", lambda table: table.drop_columns(column))
    found = judge(History.open(folder))

    assert column in found.not_applicable["lost-write"]
    assert "lost-write" not in found.judged


@pytest.mark.parametrize("number", [0, -1, 99])
def test_a_format_that_never_was(story, number):
    history = healthy(story).history()
    write_title(history.folder, msgspec.structs.replace(history.title, format=number))

    with pytest.raises(HistoryRefused, match=f"format {number}"):
        History.open(history.folder)


def test_a_value_of_ten_megabytes_names_its_writer_or_is_damaged():
    key, body, headers, at = record_for(7, BIG)
    assert len(body) == BIG and read_back(key, body, headers, at).intact

    hurt = bytearray(body)
    hurt[BIG // 2] ^= 1
    seen = read_back(key, bytes(hurt), headers, at)
    assert (seen.value, seen.intact) == (7, False)


def test_a_text_of_ten_megabytes_is_kept_and_judged(story):
    tale = healthy(story)
    tale.rows.append(Event(kind="log", at_ns=5, fields=msgspec.json.encode({"text": "x" * BIG}).decode()))
    history = tale.history()

    assert judge(history).anomalies == []
    assert max(len(event.fields or "") for event in history.rows("events")) > BIG


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_part_on_a_full_disk_ends_the_history_without_a_pass(story, tmp_path):
    tale = healthy(story)
    recorder = Recorder.create(tmp_path / "full", tale.header)
    (tmp_path / "full" / "operations").mkdir()
    (tmp_path / "full" / "operations" / "00001.tmp").symlink_to("/dev/full")
    with pytest.raises(HistoryWriteFailed, match="No space left"):
        for row in tale.rows:
            recorder.add(row)
        recorder.close()

    with pytest.raises(HistoryRefused, match="never completed"):
        History.open(tmp_path / "full")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_partitions(tmp_path, story):
    """One lost record among a million partitions is found, with its place."""
    tale, count, lost = story(), 1_000_000, 777_777
    tale.producer()
    tale.reader()
    with Recorder.create(tmp_path / "wide", tale.header) as recorder:
        for row in tale.rows:
            recorder.add(row)
    title = read_title(recorder.folder)
    parts = PartWriter(recorder.folder, title.identity)
    parts.write_columns("operations", wide_operations(count))
    parts.write_columns("records", wide_records(count, lost))
    write_title(recorder.folder, msgspec.structs.replace(title, parts=[*title.parts, *parts.written]))
    found = judge(History.open(recorder.folder), ["lost-write", "duplicate", "log-order", "poll-skip"])

    assert [(each.name, each.partition, each.offsets) for each in found.anomalies] == [("lost-write", lost, (0, 1))]
    assert {"lost-write", "duplicate", "log-order"} <= set(found.judged)


def columns(table, rows, **given):
    """A table of so many rows with these columns; the others are null, or what is usual."""
    usual = {"topic": TOPIC, "outcome": "ok", "tombstone": False, "intact": True}
    arrays = []
    for field in schema_of(table):
        value = given.get(field.name, usual.get(field.name))
        repeated = not isinstance(value, np.ndarray)
        arrays.append(pa.repeat(pa.scalar(value, field.type), rows) if repeated else pa.array(value, field.type))
    return pa.Table.from_arrays(arrays, schema=schema_of(table))


def wide_operations(count):
    """In each partition two sends, and the poll that reads them."""
    op = np.arange(3 * count)
    turn = op % 3
    names = np.array(["p", "p", "r"], dtype=object)[turn]
    kinds = np.array(["send", "send", "poll"], dtype=object)[turn]
    times = {"call_ns": 10 * op, "return_ns": 10 * op + 5}
    base = np.where(turn < 2, turn, -1)
    return columns(
        "operations", 3 * count, op=op, client=names, kind=kinds, partition=op // 3, base_offset=base, **times
    )


def wide_records(count, lost):
    """What was sent and what was read: in one partition, all but the first."""
    place = np.repeat(np.arange(count), 2)
    turn = np.tile([0, 1], count)
    value = 3 * place + turn
    common = {"partition": place, "offset": turn, "value": value, "position": turn}
    sent = columns("records", 2 * count, op=value, client="p", side="sent", **common)
    seen = columns("records", 2 * count, op=3 * place + 2, client="r", side="seen", stream=place, **common)
    before = pa.array(np.where((place == lost) & (turn == 1), -1, turn - 1))
    seen = seen.set_column(
        seen.schema.get_field_index("prev_offset"), schema_of("records").field("prev_offset"), before
    )
    return pa.concat_tables([sent, seen.filter(pa.array((place != lost) | (turn == 1)))])
