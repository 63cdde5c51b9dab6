"""The example histories that come with porcupine, judged by its own labels: etcd's register, and a key-value store.

They are read from the downloaded Go module, with the labels from its own tests.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.linearizability.porcupine.build import SOURCES, go
from brokertrial.checkers.linearizability.porcupine.client import rule
from brokertrial.checkers.linearizability.porcupine.process import Limits
from brokertrial.checkers.linearizability.search.question import Op, Question
from tests.search.judged import judged

REGISTER = re.compile(r"jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(.*)$")
STORE = re.compile(r'{:process (\d+), :type :(invoke|ok), :f :(get|put|append), :key "(.*)", :value (?:nil|"(.*)")}')
LABEL = re.compile(r"checkJepsen\(t, (\d+), (true|false)\)")


@pytest.fixture(scope="module")
def module(program) -> Path:
    """The folder of the module; the helper's own build has downloaded it, unless it was built elsewhere."""
    command = [str(go()), "mod", "download", "-json", "github.com/anishathalye/porcupine"]
    done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"the Go module cannot be downloaded: {done.stdout}{done.stderr}")
    return Path(msgspec.json.decode(done.stdout)["Dir"])


def register_ops(path: Path) -> list[Op]:
    """etcd: a read that timed out saw nothing; anything else without an answer is unknown. Times are line numbers."""
    ops: list[Op] = []
    pending: dict[str, int] = {}
    for now, line in enumerate(path.read_text().splitlines()):
        if not (found := REGISTER.search(line)):
            continue
        process, kind, f, value = found.groups()
        if kind == "invoke":
            pending[process] = len(ops)
            ops.append(Op(len(ops), f, now, None, _asked(f, value), None, int(process)))
        elif process in pending and ":timed-out" not in value and kind != "info":
            place = pending.pop(process)
            ops[place] = ops[place]._replace(ret=now, told=_told(f, kind, value))
        elif f == "read":
            pending.pop(process, None)
    return ops


def _asked(f: str, value: str) -> dict[str, int]:
    numbers = [int(each) for each in re.findall(r"\d+", value)]
    if f == "cas":
        return {"from": numbers[0], "to": numbers[1]}
    return {"value": numbers[0]} if f == "write" else {}


def _told(f: str, kind: str, value: str) -> dict[str, object]:
    if f == "read":
        return {"value": None if value == "nil" else int(value)}
    return {"ok": kind == "ok"} if f == "cas" else {}


def store_ops(path: Path) -> list[Op]:
    """The key-value store: every operation returned."""
    ops: list[Op] = []
    pending: dict[str, int] = {}
    for now, line in enumerate(path.read_text().splitlines()):
        if not (found := STORE.search(line)):
            continue
        process, kind, f, key, value = found.groups()
        if kind == "invoke":
            pending[process] = len(ops)
            asked = {"key": key} if f == "get" else {"key": key, "value": value}
            ops.append(Op(len(ops), f, now, None, asked, None, int(process)))
        else:
            place = pending.pop(process)
            ops[place] = ops[place]._replace(ret=now, told={"value": value} if f == "get" else {})
    return ops


@pytest.fixture(scope="module")
def etcd(module) -> dict[str, tuple[Question, str]]:
    """Every etcd history with its label."""
    labels = LABEL.findall((module / "porcupine_test.go").read_text())
    files = ((module / "test_data" / "jepsen" / f"etcd_{int(number):03}.log", label) for number, label in labels)
    return {
        path.name: (Question("register", register_ops(path), name=path.name), "ok" if label == "true" else "illegal")
        for path, label in files
    }


def test_porcupine_judges_all_etcd_histories_as_labelled(etcd, program):
    answers = rule([question for question, _ in etcd.values()], program=program)
    wrong = {name: answer for name, answer in zip(etcd, answers, strict=True) if answer.ruling != etcd[name][1]}

    assert wrong == {}
    assert len(etcd) == 102 and 20 < sum(label == "ok" for _, label in etcd.values()) < 30


def test_our_own_search_judges_them_alike(etcd):
    assert [name for name, (question, label) in etcd.items() if judged(question).ruling != label] == []


@pytest.mark.parametrize("name", ["c01-ok", "c01-bad", "c10-ok", "c10-bad", "c50-ok", "c50-bad"])
def test_the_key_value_histories_are_judged_as_labelled(name, module, program):
    question = Question("key-value", store_ops(module / "test_data" / "kv" / f"{name}.txt"), name=name)
    answer = rule([question], Limits(timeout_s=120, memory_mb=2048), program=program)[0]

    assert answer.ruling == {"ok": "ok", "bad": "illegal"}[name.partition("-")[2]]
