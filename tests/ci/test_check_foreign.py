"""`brokertrial check --format`: statuses, the JSON object, and files that are not what they should be."""

# ruff: noqa: E501, ISC004 - the lines of a history stay lines

import json

import pytest
from click.testing import CliRunner

from brokertrial.ci.cli import cli
from brokertrial.ci.errors import UserError

GOOD = [
    '{"index": 0, "time": 1, "process": 0, "type": "invoke", "f": "send", "value": [["send", 1, 5]]}',
    '{"index": 1, "time": 2, "process": 0, "type": "ok", "f": "send", "value": [["send", 1, [4611686018427387904, 5]]]}',
    '{"index": 7, "process": "nemesis", "type": "info", "f": "kill", "value": null}',
    '{"index": 9, "process": 1, "type": "ok", "f": "poll", "value": [["poll", {"1": [[4611686018427387904, 5]], "2": []}]]}',
    '{"process": 1, "type": "ok", "f": "poll", "value": [["poll", {}], ["poll"]]}',
]
EDN = """
{:index 0 :process 0 :type :invoke :f :txn :value [[:send 3 "a"] [:poll]] :error [:x "a \\" b" #inst "2026-01-01"]}
{:index 1 :process 0 :type :ok, :f :txn, :value [[:send 3 [1000000000 "a"]] [:poll {4 []}]] :rebalance-log [{:keys [3]}]}
#jepsen.history.Op{:index 2, :process 1, :type :ok, :f :poll, :value [[:poll {3 [[1000000000 "a"] [1000000001 "zz"]]}]]}
"""


def check(tmp_path, lines, *options, name="history.jsonl", form="jepsen"):
    file = tmp_path / name
    file.write_text(lines if isinstance(lines, str) else "\n".join(lines), encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--format", form, str(file), *options])
    if isinstance(done.exception, UserError):
        return done.exception.status, str(done.exception)
    return done.exit_code, done.output


def test_a_good_history_passes(tmp_path):
    status, output = check(tmp_path, GOOD, "--json")

    assert status == 0
    assert json.loads(output)["verdict"] == "pass"
    assert json.loads(output)["anomalies"] == []


def test_edn_is_read_and_a_phantom_is_a_finding(tmp_path):
    status, output = check(tmp_path, EDN, "--json", name="history.edn")

    (found,) = json.loads(output)["anomalies"]
    assert status == 1
    assert (found["name"], found["key"], found["values"], found["offsets"]) == ("phantom", 3, ["zz"], [1000000001])
    assert check(tmp_path, f"[{EDN}]", name="vector.edn")[0] == 1


def test_strict_begins_with_what_it_means(tmp_path):
    lines = [*GOOD, '{"process": 2, "type": "fail", "f": "poll", "value": [["poll", {"1": [[0, 66]]}]]}']

    assert check(tmp_path, lines, "--strict")[1].startswith("--strict also judges what Kafka permits")
    assert next(iter(json.loads(check(tmp_path, lines, "--strict", "--json")[1]))) == "strict"


@pytest.mark.parametrize(
    ("assume", "judged"),
    [("acks=1", False), ("acks=0,idempotence=off", False), ("", True), ("isolation=read_uncommitted", True)],
)
def test_settings_permit_a_loss_and_it_is_listed_all_the_same(tmp_path, assume, judged):
    status, output = check(tmp_path, [*GOOD[:2], GOOD[4]], "--json", "--assume", assume)

    assert [(found["name"], found["judged"]) for found in json.loads(output)["anomalies"]] == [("unseen", judged)]
    assert status == (1 if judged else 6)


BAD = {
    "not json": ("{", "line 1"),
    "an operation that is no map": ("[1]", "line 1"),
    "an unknown type": ('{"process": 0, "type": "maybe", "f": "send", "value": []}', "type"),
    "no process": ('{"type": "ok", "f": "send", "value": []}', "process"),
    "an index that goes back": (GOOD[3] + "\n" + GOOD[0], "line 2"),
    "a micro-operation of another kind": (
        '{"process": 0, "type": "ok", "f": "txn", "value": [["r", 1, 2]]}',
        "neither",
    ),
    "an offset that is none": (
        '{"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"1": [[9223372036854775808, 1]]}]]}',
        "2^63",
    ),
    "polled records that are no pairs": (
        '{"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"1": [1]}]]}',
        "1",
    ),
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_one_sentence_with_its_number(tmp_path, line):
    text, told = BAD[line]
    status, sentence = check(tmp_path, text)

    assert status == 4
    assert told in sentence
    assert "line " in sentence and sentence.count("\n") == 0


def test_an_empty_file_judges_nothing(tmp_path):
    assert check(tmp_path, "")[0] == 5


def test_a_setting_that_does_not_exist_is_refused(tmp_path):
    assert check(tmp_path, GOOD, "--assume", "speed=1")[0] == 4


OURS = [
    '{"is": "client", "client": "p", "acks": "all", "idempotence": true}',
    '{"is": "client", "client": "c", "mode": "assign"}',
    '{"is": "send", "client": "p", "topic": "t", "partition": 0, "call": 1, "return": 2,'
    ' "records": [{"value": "a", "offset": 0}, {"value": "b", "offset": 1}, {"value": "c", "offset": 2}]}',
    '{"is": "assign", "client": "c", "call": 3, "return": 3, "partitions": [{"topic": "t", "partition": 0, "offset": 0}]}',
    '{"is": "poll", "client": "c", "call": 4, "return": 5, "records": ['
    '{"topic": "t", "partition": 0, "offset": 0, "value": "a"}, {"topic": "t", "partition": 0, "offset": 2, "value": "c"}]}',
    '{"is": "final-read", "topic": "t", "partition": 0, "offset": 3}',
]


def test_our_own_lines_are_judged_and_told_by_topic(tmp_path):
    status, output = check(tmp_path, OURS, "--json", form="jsonl")

    (found,) = json.loads(output)["anomalies"]
    assert status == 1
    assert (found["name"], found["topic"], found["values"]) == ("lost-write", "t", ["b"])
    assert "Value 'b'" in found["sentence"]


def test_a_line_about_a_client_of_whom_nothing_is_said_is_refused(tmp_path):
    status, sentence = check(tmp_path, OURS[2:], form="jsonl")

    assert status == 4
    assert "line 1" in sentence and "'p'" in sentence
