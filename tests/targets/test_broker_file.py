"""broker.toml: the printed example is valid; every mistake is named with the key and what it wants."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.suites.targets import UnknownTarget, open_target
from brokertrial.suites.targets.brokerfile import BrokerFile, fill
from brokertrial.suites.targets.file import example

START = ["./mybroker", "--port={port}"]


def read(tmp_path: Path, text: str) -> BrokerFile:
    path = tmp_path / "broker.toml"
    path.write_text(text)
    return BrokerFile.read(path)


def test_the_example_is_valid_and_means_what_its_comments_say(tmp_path: Path) -> None:
    made = read(tmp_path, example())
    assert (made.nodes, made.per_node, made.places) == (3, True, ())
    assert made.stop_signal is signal.SIGTERM
    assert (made.ready_within_s, made.stop_within_s) == (30, 10)
    assert made.claims == {"transactions": True}
    assert made.leaderless is False
    assert made.release == ()
    assert made.alarm == "panicked at"


def test_the_commented_lines_of_the_example_are_valid_too(tmp_path: Path) -> None:
    keys = ("# before", "# kafka", "# after", "# [", "# kill", "# pause", "# resume", "# restart", '# "broker-1')
    keys += ("# command", "# within_s", "# on_sick", "# volatile", "# cwd")
    (tmp_path / "build").mkdir()
    lines = [line[2:] if line.startswith(keys) else line for line in example().splitlines()]
    made = read(tmp_path, "\n".join(lines).replace("../build", "build"))
    assert (made.volatile, made.folder) == (True, (tmp_path / "build").resolve())
    assert set(made.actions) == {"kill", "pause", "resume", "restart"}
    assert made.reach == {"broker-1:9092": "127.0.0.1:19092"}
    assert made.health == ("./is-it-well", "127.0.0.1:{port}")
    assert (made.health_within_s, made.on_sick) == (10, "restart")
    assert made.before == (("./start-storage",),)
    assert made.release == (3, 5)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"strat": START}, "`strat` is no key.\n  Did you mean start"),
        ({"start": "./mybroker --port={port}"}, "`start` is a list of words"),
        ({"start": []}, "`start` is a list of words"),
        ({"start": ["./mybroker", "{prot}"]}, "{prot}, which nothing is filled in for.\n  Did you mean port"),
        ({"start": ["./mybroker"]}, "`start` has no {port}"),
        ({}, "there is no `start`, and `ports` does not say where the nodes run"),
        ({"start": START, "cwd": "nowhere"}, "`cwd` is 'nowhere', and "),
        ({"start": START, "volatile": "yes"}, "`volatile` is true or false, not 'yes'"),
        ({"start": START, "nodes": 0}, "`nodes` is a whole number from 1 to 100, not 0"),
        ({"start": START, "nodes": True}, "`nodes` is a whole number"),
        ({"start": START, "process": "each"}, '`process` is "per-node" or "all"'),
        ({"start": START, "ports": [9092], "nodes": 3}, "`ports` has 1 entries for 3 nodes"),
        ({"start": START, "ports": "any"}, '`ports` is "free" or a list'),
        ({"start": START, "ports": ["9092"]}, "`ports` is ports such as 9092"),
        ({"start": START, "before": ["./prepare"]}, "`before` is a list of words"),
        ({"start": START, "health": {"comand": ["./well"]}}, "`comand` is no key of [health].\n  Did you mean command"),
        ({"start": START, "health": {"on_sick": "cure"}}, '`health.on_sick` is "restart" or "leave", not'),
        ({"start": START, "ready": {"within": 3}}, "`within` is no key of [ready].\n  Did you mean within_s"),
        ({"start": START, "ready": {"within_s": "soon"}}, "`ready.within_s` is a number"),
        ({"start": START, "stop": {"signal": "TREM"}}, "`TREM` is no signal.\n  Did you mean TERM"),
        ({"start": START, "actions": {"pauze": ["x"]}}, "`pauze` is no key of [actions].\n  Did you mean pause"),
        ({"start": START, "claims": {"transaction": True}}, "Did you mean transactions"),
        ({"start": START, "claims": {"transactions": "yes"}}, "`claims.transactions` is true or false"),
        ({"start": START, "reach": {"a:1": 2}}, "`reach` is a table"),
        ({"start": START, "leaderless": 1}, "`leaderless` is true or false"),
        ({"start": START, "kafka": "new"}, "`kafka` is an Apache Kafka release, such as \"3.5\", not 'new'"),
    ],
)
def test_a_mistake_is_one_clear_sentence(
    keys: dict[str, object], words: str, broker_file: Callable[..., str], tmp_path: Path
) -> None:
    with pytest.raises(UnknownTarget) as refused:
        open_target(broker_file(**keys), tmp_path / "run")
    assert words in str(refused.value)
    assert "broker.toml" in str(refused.value)


def test_what_is_no_toml_says_where(tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget, match="is no TOML"):
        read(tmp_path, "nodes = 1\nstart = [")


def test_leaderless_is_a_claim_or_a_key(tmp_path: Path) -> None:
    assert read(tmp_path, 'start = ["x", "{port}"]\n[claims]\nleaderless = true').leaderless
    assert read(tmp_path, 'leaderless = true\nstart = ["x", "{port}"]').leaderless


def test_only_known_words_in_braces_are_filled_in() -> None:
    values = {"node": 2, "port": 9, "ports": "9,8", "data": "/d", "peers": "a:9,a:8"}
    assert fill(["--id={node}", '{"json": 1}', "{data}/log"], values) == ["--id=2", '{"json": 1}', "/d/log"]
