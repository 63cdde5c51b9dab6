"""What is put before `check` and `explain` and is no history: one sentence that names the file, and never a pass."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokertrial.checkers.judge import Judgement
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.cli import main
from brokertrial.ci.reports.findings import findings_of
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation
from brokertrial.suites.exit_status import ExitStatus

COMMANDS = ("check", "explain")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    with Recorder.create(tmp_path / "h", Header(case="nobody/has-this", target="nobody")) as recorder:
        recorder.add(Client(client="p", library="wire"))
        for number in range(50):
            recorder.add(Operation(op=number, client="p", kind="send", call_ns=number, outcome="ok"))
    return tmp_path / "h"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (ExitStatus.USAGE, "")
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_part_that_was_cut(history, capsys, command):
    part = history / "operations/00001.parquet"
    part.write_bytes(part.read_bytes()[:-100])

    assert "operations/00001.parquet" in refused(capsys, command, str(history))


@pytest.mark.parametrize("command", COMMANDS)
def test_somebody_elses_parquet_among_the_parts(history, capsys, command):
    pq.write_table(pa.table({"city": ["Athens"]}), history / "operations/00002.parquet")

    assert "does not belong to this history" in refused(capsys, command, str(history))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_parquet_file_is_no_history(history, capsys, command):
    assert "there is no such run folder" in refused(capsys, command, str(history / "clients/00001.parquet"))


@pytest.mark.parametrize("form", ["jsonl", "jepsen"])
@pytest.mark.parametrize("content", [b"", b"PAR1\x15\x04\x00\xff\xfe", b'{"type": "invoke", "f": ', b"[1, 2\n"])
def test_a_file_of_no_format(tmp_path, capsys, form, content):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(SystemExit) as end:
        main(["check", "--format", form, str(file)])
    out, err = capsys.readouterr()

    assert end.value.code not in (None, 0), out
    assert "Traceback" not in err


def test_a_history_that_cannot_be_judged_is_no_pass():
    found = findings_of(Judgement(inconclusive={"history": "its clock went backwards"}))

    assert (found.verdict, found.status) == (Verdict.INCONCLUSIVE, ExitStatus.INCONCLUSIVE)
