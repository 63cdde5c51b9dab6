"""Recording: many threads, bounded memory, a killed run, a full disk."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import msgspec
import pyarrow.parquet as pq
import pytest

from brokertrial.histories import parts as parts_module
from brokertrial.histories import recorder as recorder_module
from brokertrial.histories.header import Header, HistoryIncomplete, HistoryWriteFailed
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import TABLES, Batch, Client, Event, Exchange, Membership, Operation, Record

HEADER = Header(case="tests/recorder", target="nobody", seed=7, schedule={"windows": []}, settings={"a": [1, "b"]})

ROWS = [
    Client(client="p", library="wire", version="1", acks=-1, idempotence=True, transactional_id="x", retries=0),
    Client(client="q", library="wire"),
    Operation(op=1, client="p", kind="send", topic="t", partition=0, call_ns=1, return_ns=2, outcome="ok", txn=3),
    Operation(op=2, client="p", kind="poll", call_ns=1, outcome="info"),
    Record(op=1, client="p", topic="t", partition=0, offset=5, value=-(2**63), side="sent", outcome="ok"),
    Record(op=2, client="p", topic="t", partition=0, side="seen", outcome="info", intact=False, digest="ff"),
    Batch(topic="t", partition=0, base_offset=0, last_offset=1, producer_id=-1, producer_epoch=-1, base_sequence=-1,
          seen_at="final", control="COMMIT"),
    Membership(group="g", member="m", generation=1, topic="t", partition=0, from_ns=1, ended_by="lost"),
    Exchange(connection=1, api="Fetch", version=4, request=b"\x00\xff", response=None, call_ns=1),
    Event(kind="leader", at_ns=4, node=2, leader_epoch=9),
]  # fmt: skip


def operation(number):
    return Operation(op=number, client="p", kind="send", call_ns=number, outcome="ok")


def test_every_row_comes_back_as_it_was(tmp_path):
    with Recorder.create(tmp_path / "h", HEADER) as recorder:
        for row in ROWS:
            recorder.add(row)
    history = History.open(tmp_path / "h")

    read = [row for table in TABLES for row in history.rows(table) if getattr(row, "kind", "") != "recording"]
    assert read == ROWS
    assert history.header == HEADER
    assert history.complete
    assert {table: history.arrow(table).num_rows for table in TABLES}["records"] == 2


def test_an_event_keeps_what_is_no_column_as_json(tmp_path):
    with Recorder.create(tmp_path / "h", HEADER) as recorder:
        recorder.event("hit", window="f1", node=2, api="Produce", at_ns=77)
    event = list(History.open(tmp_path / "h").rows("events"))[-1]

    assert (event.kind, event.window, event.node, event.at_ns) == ("hit", "f1", 2, 77)
    assert msgspec.json.decode(event.fields) == {"api": "Produce"}


def test_many_records_are_put_into_a_part_for_each_side(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_module, "APART_ROWS", 4)
    rows = [
        Record(op=op, client="p", topic="t", partition=0, side="seen" if op % 3 else "sent", outcome="ok")
        for op in range(7)
    ]
    with Recorder.create(tmp_path / "h", HEADER) as recorder:
        for op in range(5):
            recorder.add(operation(op))
        for row in rows:
            recorder.add(row)
    history = History.open(tmp_path / "h")

    sides = [set(pq.read_table(part)["side"].to_pylist()) for part in history.parts("records")]
    assert sorted(map(sorted, sides)) == [["seen"], ["sent"]]
    assert sorted(history.rows("records"), key=lambda row: row.op) == rows
    assert len(history.parts("operations")) == 1 and history.count("operations") == 5


def test_many_threads_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder_module, "PART_ROWS", 1_000)
    monkeypatch.setattr(recorder_module, "BACKLOG_ROWS", 4_000)
    with Recorder.create(tmp_path / "h", HEADER) as recorder:

        def work():
            for _ in range(5_000):
                recorder.add(operation(recorder.next_op()))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    history = History.open(tmp_path / "h")

    assert sorted(row.op for row in history.rows("operations")) == list(range(1, 40_001))
    assert len(history.parts("operations")) >= 40
    assert not list((tmp_path / "h").rglob("*.tmp"))


def test_a_history_needs_a_folder_of_its_own(tmp_path):
    Recorder.create(tmp_path / "h", HEADER).close()
    with pytest.raises(HistoryWriteFailed, match="not empty"):
        Recorder.create(tmp_path / "h", HEADER)


def test_closed_as_cut_short_is_readable_and_incomplete(tmp_path):
    with pytest.raises(RuntimeError), Recorder.create(tmp_path / "h", HEADER) as recorder:
        recorder.add(operation(1))
        raise RuntimeError("the case broke")

    with pytest.raises(HistoryIncomplete, match="cut short"):
        History.open(tmp_path / "h")
    history = History.open(tmp_path / "h", allow_incomplete=True)
    assert [row.op for row in history.rows("operations")] == [1]
    assert not history.complete


def child(code, folder):
    """Runs code that has a recorder in a process of its own."""
    lines = "import os, resource, signal, sys, time\nfrom brokertrial.histories.recorder import Recorder\n"
    lines += "from brokertrial.histories.header import Header, HistoryWriteFailed\n"
    lines += "from brokertrial.histories.rows import Operation\n"
    lines += "recorder = Recorder.create(sys.argv[1], Header(case='tests/child', target='nobody'))\n"
    lines += "def add(n): recorder.add(Operation(op=n, client='p', kind='send', call_ns=n, outcome='ok'))\n"
    command = [sys.executable, "-c", lines + textwrap.dedent(code), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()})


def test_a_killed_run_loses_at_most_its_open_part(tmp_path):
    code = """
        number = 0
        while True:
            number += 1
            add(number)
            if number % 100 == 0:
                print(number, len(os.listdir(sys.argv[1])), flush=True)
            if number % 1_000 == 0 and os.path.exists(sys.argv[1] + "/operations/00002.parquet"):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.0001)
        """
    process = child(code, tmp_path / "h")
    assert process.stdout is not None
    written = int(process.stdout.read().splitlines()[-1].split()[0])
    assert process.wait(60) == -signal.SIGKILL

    with pytest.raises(HistoryIncomplete, match="killed"):
        History.open(tmp_path / "h")
    history = History.open(tmp_path / "h", allow_incomplete=True)
    ops = [row.op for row in history.rows("operations")]
    assert ops == list(range(1, len(ops) + 1))
    assert 0 < len(ops) <= written
    assert len(history.parts("operations")) >= 2


@pytest.mark.timeout(120)
def test_a_full_disk_is_an_error_and_no_hang(tmp_path):
    code = """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            for number in range(3_000_000):
                add(number**3 % 1_000_000_007)
            recorder.close()
            print("no error")
        except HistoryWriteFailed as problem:
            print(problem, flush=True)
        try:
            recorder.close()
            print("closed")
        except HistoryWriteFailed:
            print("still failed")
        """
    process = child(code, tmp_path / "h")
    output, _ = process.communicate(timeout=100)

    assert process.returncode == 0
    assert "cannot be written any further: File too large" in output
    assert "still failed" in output
    with pytest.raises(HistoryIncomplete):
        History.open(tmp_path / "h")


def test_what_cannot_become_a_column_fails_the_recording_not_the_writer_alone(tmp_path):
    recorder = Recorder.create(tmp_path / "h", HEADER)
    recorder.add(operation("seven"))

    with pytest.raises(HistoryWriteFailed, match="seven"):
        recorder.close()
