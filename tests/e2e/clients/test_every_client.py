"""Every client, unmodified, on one node and on three, left alone and while leaders die: groups and exactly-once copies.

    pytest -m slow tests/clients                     all of it
    pytest -m slow tests/clients -k "java and 3"     some of it

Each client is a program that tells the same story (`story.py`; Java and Go in their own folders) and prints a line for
all that held.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.e2e.clients.ground import Ground, Storm, prepared
from tests.e2e.go_client.test_go_client import built
from tests.e2e.java_client.test_java_client import compiled

ROOT = Path(__file__).resolve().parents[3]
WITHIN_S, UNDER_KILLS_S, LEAST_KILLS = 600, 20, 3


def python(name: str) -> Callable[[Path], list[str]]:
    return lambda _: [sys.executable, "-P", "-m", f"tests.clients.{name}_program"]


PROGRAMS: dict[str, Callable[[Path], list[str]]] = {
    "confluent-kafka": python("confluent"),
    "aiokafka": python("aiokafka"),
    "kafka-python": python("kafka_python"),
    "java": compiled,
    "franz-go": lambda folder: [str(built(folder))],
}
BOTH = {"held: group protocol classic", "held: group protocol consumer"}
HELD = {
    "confluent-kafka": {"held: topics", *BOTH, "held: exactly once"},
    "aiokafka": {"held: topics", "held: group protocol classic", "held: exactly once"},
    "kafka-python": {"held: topics", "held: group protocol classic", "held: exactly once"},
    "java": {
        "held: topics, transaction.version 2", "held: group.protocol consumer", "held: group.protocol classic",
        "held: exactly once",
    },
    "franz-go": {"held: topics", *BOTH, "held: exactly once"},
}  # fmt: skip


def told(command: list[str], trial_context: Ground, seconds: float, folder: Path) -> set[str]:
    """What held, by the program's own word; a program that fails shows its last lines."""
    with (folder / "program.log").open("wb") as log:
        done = subprocess.run(
            [*command, trial_context.bootstrap, str(seconds)], cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
            timeout=WITHIN_S, check=False,
        )  # fmt: skip
    last = "\n".join((folder / "program.log").read_text("utf-8", "replace").splitlines()[-40:])
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{last}"
    return {line for line in done.stdout.splitlines() if line.startswith("held: ")}


@pytest.mark.slow
@pytest.mark.timeout(WITHIN_S + 200)
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("client", PROGRAMS)
def test_plain(client: str, nodes: int, tmp_path: Path) -> None:
    command = PROGRAMS[client](tmp_path)
    with prepared(nodes, tmp_path / "brokers") as trial_context:
        assert told(command, trial_context, 0, tmp_path) == HELD[client]
        assert trial_context.complaints() == []


@pytest.mark.slow
@pytest.mark.timeout(WITHIN_S + 200)
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("client", PROGRAMS)
def test_under_leader_kills(client: str, nodes: int, tmp_path: Path) -> None:
    command = PROGRAMS[client](tmp_path)
    with prepared(nodes, tmp_path / "brokers") as trial_context:
        storm = Storm(trial_context, Random(f"{client} {nodes}"))
        storm.start()
        try:
            held = told(command, trial_context, UNDER_KILLS_S, tmp_path)
        finally:
            storm.stop()
        assert held == HELD[client]
        assert storm.kills >= LEAST_KILLS
        assert trial_context.complaints() == []
