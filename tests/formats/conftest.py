"""Jepsen histories from short texts, judged as the command line does."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.jepsen import jepsen_checks
from brokertrial.checkers.judge import Judgement, judge_by
from brokertrial.ci.reports.findings import Findings, findings_of
from brokertrial.histories.formats.jepsen import import_jepsen
from brokertrial.histories.formats.settings import Settings
from brokertrial.histories.reader import History

Op = dict[str, Any]


def operation(text: str) -> Op:
    """`0 ok txn send x 1@0 2 poll x 1@0 3@1, y` as an operation; `x@` polled nothing of x; `assign x y`."""
    process, kind, f, *words = text.split()
    op: Op = {"process": int(process), "type": kind, "f": f}
    if f in ("assign", "subscribe"):
        return op | {"value": words}
    moves: list[Any] = []
    mode, key = f, None
    for word in words:
        if word in ("send", "poll"):
            mode, key = word, None
            if word == "poll":
                moves.append(["poll", {}])
            continue
        if word.isalpha():
            key = word
            if mode == "poll":
                if not moves or moves[-1][0] != "poll":
                    moves.append(["poll", {}])
                moves[-1][1].setdefault(key, [])
            continue
        value, at, offset = word.partition("@")
        pair = [int(offset) if at and offset != "?" else None, int(value)]
        if mode == "send":
            moves.append(["send", key, pair])
        else:
            moves[-1][1][key].append(pair)
    return op | {"value": moves or ([["poll", {}]] if f == "poll" else [])}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Iterable[Op | str]], Path]:
    """A JSON Lines file; texts are operations, or lines as they are when they begin with a bracket."""

    def write(ops: Iterable[Op | str]) -> Path:
        file = tmp_path / "history.jsonl"
        lines = [op if isinstance(op, str) and op[:1] in "{[" else json.dumps(_op(op)) for op in ops]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    return write


def _op(op: Op | str) -> Op:
    return operation(op) if isinstance(op, str) else op


@pytest.fixture
def judged(written: Any, tmp_path: Path) -> Callable[..., Findings]:
    """What is found in operations."""
    numbers = itertools.count()

    def judge(*ops: Op | str, strict: bool = False, assume: str = "") -> Findings:
        return judge_file(written(ops), tmp_path / f"history-{next(numbers)}", strict, assume)

    return judge


def judge_file(file: Path, folder: Path, strict: bool = False, assume: str = "") -> Findings:
    reader = import_jepsen(file, folder, Settings.of(assume))
    history = History.open(folder)
    with DuckDBEngine.over([history]) as duck:
        return findings_of(judge_by(jepsen_checks().values(), duck, [history])[0], strict, reader.legend)


def names(findings: Findings, judged: bool | None = True) -> set[str]:
    """Which anomalies were found: judged, listed only, or both."""
    return {found.anomaly.name for found in findings.found if judged is None or found.judged is judged}


def only(findings: Findings, name: str) -> Op:
    """The one anomaly of that name, as the JSON object has it."""
    entries: Sequence[Op] = json.loads(findings.as_json())["anomalies"]
    found = [entry for entry in entries if entry["name"] == name]
    assert len(found) == 1, found
    return found[0]


__all__ = ["Judgement", "judge_file", "names", "only", "operation"]
