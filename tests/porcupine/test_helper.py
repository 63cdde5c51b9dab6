"""The helper itself: its protocol, its limits, and what becomes of a history that ends without a verdict."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import msgspec
import pytest

from brokertrial.checkers.linearizability.porcupine.build import CHOSEN, PorcupineMissing, helper
from brokertrial.checkers.linearizability.porcupine.client import TimelineMark, draw, request, rule
from brokertrial.checkers.linearizability.porcupine.process import BAD_INPUT, Limits, PorcupineRefused
from brokertrial.checkers.linearizability.search.question import Op, Question

ONE_PROCESSOR = os.environ | {"GOMAXPROCS": "1"}
STALE = Question(
    "log", [Op(1, "append", 0, 1, {"count": 1}, {"base": 0}), Op(2, "end", 2, 3, {}, {"end": 0})], name="s"
)
FRESH = Question(
    "log", [Op(1, "append", 0, 1, {"count": 1}, {"base": 0}), Op(2, "end", 2, 3, {}, {"end": 1})], name="f"
)


def contended(operations: int, clients: int) -> Question:
    """A legal history of closed-loop clients that append, or read the end exactly: what makes a search explode."""
    rng, ops, end, now = random.Random(1), [], 0, 0
    busy: dict[int, list] = {}
    started = 0
    while started < operations or busy:
        client, now = rng.randrange(clients), now + 1
        if client not in busy:
            if started < operations:
                started += 1
                busy[client] = [started, rng.random() < 0.5, now, None]
        elif (op := busy[client])[3] is None:
            op[3] = end
            end += op[1]
        else:
            number, appends, call, at = busy.pop(client)
            asked, told = ({"count": 1}, {"base": at}) if appends else ({}, {"end": at})
            ops.append(Op(number, "append" if appends else "end", call, now, asked, told, client))
    return Question("log", ops, name="contended")


def lines(*rows: dict) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def talk(program, text: bytes) -> subprocess.CompletedProcess:
    return subprocess.run([program], input=text, capture_output=True, timeout=60)


HEADER = {"proto": 1, "id": "h", "model": "log", "ops": 1, "timeout_ms": 1000}
APPEND = {"i": 1, "client": 0, "call": 0, "ret": 1, "f": "append", "in": {"count": 1}, "out": {"base": 0}}


def test_the_helper_passes_its_own_golden_vectors(program):
    done = subprocess.run([program, "-selfcheck"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_names_library_compiler_and_protocol(program):
    said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60).stdout
    assert said.startswith("porcupine v1.3.1 go1.") and said.endswith("protocol 1\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (lines(HEADER | {"ops": 2}, APPEND), "declares 2 operations"),
        (lines(HEADER, APPEND)[:-20], "declares 1 operations"),
        (lines(HEADER)[:-9], "unexpected EOF"),
        (lines(HEADER | {"ops": 0}), "is empty"),
        (lines(HEADER | {"proto": 2}, APPEND), "protocol 2"),
        (lines(HEADER | {"model": "queue"}, APPEND), "there are chains, group, key-value, log"),
        (lines(HEADER, APPEND | {"f": "push"}), 'no operation "push"'),
        (lines(HEADER, APPEND | {"call": 7}), "returned before it was called"),
        (lines(HEADER, APPEND | {"colour": "red"}), "unknown field"),
        (lines(HEADER, APPEND | {"out": {"offset": 3}}), "unknown field"),
    ],
)
def test_what_cannot_be_read_gets_no_verdict(program, text, complaint):
    done = talk(program, text)
    assert (done.returncode, done.stdout) == (BAD_INPUT, b"")
    assert complaint in done.stderr.decode()


def test_a_long_line_is_read(program):
    done = talk(program, lines(HEADER, APPEND | {"note": "x" * 200_000}))
    assert msgspec.json.decode(done.stdout)["verdict"] == "ok"


def test_an_empty_history_is_no_pass(program):
    with pytest.raises(ValueError, match="empty"):
        rule([Question("log", [])], program=program)


def test_a_refused_history_is_an_error(program):
    with pytest.raises(PorcupineRefused, match="push"):
        rule([Question("log", [Op(1, "push", 0, 1, {}, {})])], program=program)


def test_many_histories_share_a_process(program):
    answers = rule([STALE, FRESH] * 500, program=program)
    assert [answer.ruling for answer in answers] == ["illegal", "ok"] * 500


def test_a_search_that_explodes_ends_in_time_and_is_unknown(program):
    begin = time.monotonic()
    stale, exploded, fresh = rule([STALE, contended(1000, 50), FRESH], Limits(timeout_s=1), program=program)

    assert (exploded.ruling, exploded.reason) == ("unknown", "timeout")
    assert (stale.ruling, fresh.ruling) == ("illegal", "ok")
    assert time.monotonic() - begin < 20


def test_a_search_that_explodes_keeps_to_its_memory_and_is_unknown(program, tmp_path):
    """What counts is this one process's greatest resident size; it inherits its parent's, so that one is small too."""
    limits, questions = Limits(60, memory_mb=32), tmp_path / "questions"
    questions.write_bytes(b"".join(request(each, limits) for each in (STALE, contended(1000, 50), FRESH)))
    measured = (
        "import os, subprocess, sys; run = subprocess.Popen(sys.argv[1:]); "
        "print(os.wait4(run.pid, 0)[2].ru_maxrss, file=sys.stderr)"
    )
    with questions.open("rb") as given:
        done = subprocess.run(
            [sys.executable, "-S", "-c", measured, program, "-max-mb", "32"],
            stdin=given, capture_output=True, env=ONE_PROCESSOR, timeout=120, check=True,
        )  # fmt: skip
    answers = [msgspec.json.decode(line) for line in done.stdout.splitlines()]

    assert [(answer["verdict"], answer["reason"]) for answer in answers] == [
        ("illegal", None), ("unknown", "memory"), ("ok", None),
    ]  # fmt: skip
    assert int(done.stderr.split()[-1]) < 64 * 1024


def test_what_the_system_refuses_is_unknown(program, monkeypatch):
    monkeypatch.setattr("brokertrial.checkers.linearizability.porcupine.process.SLACK_MB", 90 - 4000)
    answers = rule([contended(1000, 50), FRESH], Limits(60, memory_mb=4000), program=program)

    assert [(answer.ruling, answer.reason) for answer in answers] == [("unknown", "memory"), ("ok", "")]


def test_a_crash_is_unknown_and_harms_only_its_own_history(program, tmp_path):
    frail = tmp_path / "helper"
    frail.write_text(f'#!/bin/sh\n[ -e {tmp_path}/once ] && exec {program} "$@"\ntouch {tmp_path}/once; exit 3\n')
    frail.chmod(0o755)

    assert [answer.ruling for answer in rule([STALE, FRESH], program=frail)] == ["unknown", "ok"]


def test_a_helper_that_hangs_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("brokertrial.checkers.linearizability.porcupine.process.GRACE_S", 0.3)
    deaf = tmp_path / "helper"
    deaf.write_text("#!/bin/sh\nsleep 600\n")
    deaf.chmod(0o755)
    answer = rule([FRESH], Limits(timeout_s=0.1), program=deaf)[0]

    assert (answer.ruling, answer.reason) == ("unknown", "timeout")


def test_the_picture_shows_the_operations_and_the_faults(program, tmp_path):
    picture = tmp_path / "picture.html"
    marks = [TimelineMark("node 2", 1, 2, "killed")]
    answer = draw(STALE, picture, marks, program=program)

    assert (answer.ruling, answer.prefix, answer.blocked) == ("illegal", (1,), (2,))
    text = picture.read_text()
    assert "append 1 record(s)" in text and "node 2" in text and "killed" in text


def test_a_model_of_ones_own_joins_the_helper(program, tmp_path):
    own = tmp_path / "counter.go"
    own.write_text(COUNTER)
    counts = Question("counter", [Op(1, "add", 0, 1, {}, {"n": 1}), Op(2, "add", 0, 1, {}, {"n": 1})])

    assert rule([counts], program=helper(extra=[own]))[0].ruling == "illegal"


COUNTER = """package main

import "encoding/json"

type add struct{ N int64 }

func (a add) step(state interface{}) (bool, interface{}) { return a.N == state.(int64)+1, a.N }
func (a add) String() string                            { return "add" }

func init() {
	machines["counter"] = machine{
		start: func(json.RawMessage) (interface{}, error) { return int64(0), nil },
		read: func(f string, in, out json.RawMessage) (call, error) {
			var a add
			err := decode(out, &a)
			return a, err
		},
		hash: func(state interface{}) uint64 { return mix(state.(int64)) },
	}
}
"""


def test_without_go_it_is_said_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(CHOSEN, raising=False)
    with pytest.raises(PorcupineMissing, match="needs Go"):
        helper()


def test_a_helper_built_elsewhere_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv(CHOSEN, "/bin/true")
    assert str(helper()) == "/bin/true"
    monkeypatch.setenv(CHOSEN, str(tmp_path / "absent"))
    with pytest.raises(PorcupineMissing, match="no program"):
        helper()


def test_a_broken_source_is_no_helper(program, tmp_path):
    broken = tmp_path / "broken.go"
    broken.write_text("package main\nfunc init() { nonsense }\n")
    with pytest.raises(PorcupineMissing, match="could not be built"):
        helper(extra=[broken])
