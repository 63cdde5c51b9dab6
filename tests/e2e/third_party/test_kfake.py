"""A broker by other hands, franz-go's kfake, is put on trial however it is started; docs/third-party-brokers.md has
full runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from brokertrial.wire.ports import free_ports
from tests.e2e.failure_modes.runs import brokertrial, only_run

HERE = Path(__file__).parent
WITHIN_S = 600
PORT = "29477"
PASS, FAIL, NOT_APPLICABLE = "pass", "fail", "not applicable"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The broker as a program; a machine without Go, or on which the module cannot be had, skips."""
    if shutil.which("go") is None:
        pytest.skip("kfake needs Go, and `go` is not on the PATH")
    built = tmp_path_factory.mktemp("kfake") / "kfakebroker"
    command = ["go", "build", "-o", str(built), "."]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    if done.returncode and "go.sum" not in done.stderr and ("dial" in done.stderr or "proxy" in done.stderr):
        pytest.skip(f"kfake could not be fetched: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return built


def verdicts(program: Path, folder: Path, file: str, *cases: str, require: str = "core") -> dict[str, str]:
    """Puts the broker of a file on trial with some cases."""
    for path in (program, HERE / "elsewhere.sh"):
        shutil.copy(path, folder)
    text = (HERE / file).read_text(encoding="utf-8").replace(PORT, str(free_ports(1)[0]))
    (folder / file).write_text(text, encoding="utf-8")
    selected = [word for case in cases for word in ("--select", case)]
    done = brokertrial(folder, "run", "--target", f"file:{file}", "--unproven", "fail", "--require", require, *selected)
    lines = [json.loads(line) for line in (only_run(folder) / "results.jsonl").read_text().splitlines()]
    found = {row["result"]["case"]: row["result"]["verdict"] for row in lines if row["line"] == "result"}
    assert done.returncode == (FAIL in found.values()), done.stdout + done.stderr
    return found


@pytest.mark.parametrize("file", ["one-process.toml", "per-node.toml", "actions.toml"])
def test_it_is_tried_however_it_is_started(program: Path, tmp_path: Path, file: str) -> None:
    found = verdicts(
        program,
        tmp_path,
        file,
        "offsets/by-time-within-a-batch",
        "idempotence/lost-ack",  # through the proxy, which must find its way to an address that does not resolve
        "idempotence/ids-after-a-crash",
        "commits/round-trip",
    )
    killed = NOT_APPLICABLE if file == "one-process.toml" else PASS
    assert found == {
        "offsets/by-time-within-a-batch": PASS,
        "idempotence/lost-ack": PASS,
        "idempotence/ids-after-a-crash": killed,
        "commits/round-trip": FAIL,  # a group that it does not know is an error to it
    }


def test_topics_that_appear_on_use_only(program: Path, tmp_path: Path) -> None:
    expected = {
        "offsets/by-time-within-a-batch": PASS,
        "groups/consumer-commits-in-its-epoch": PASS,
        "admin/topic-names": NOT_APPLICABLE,
    }
    assert verdicts(program, tmp_path, "on-use-only.toml", *expected, require="data,groups,commits") == expected


def test_three_nodes_that_refuse_three_replicas(program: Path, tmp_path: Path) -> None:
    cases = ("offsets/by-time-within-a-batch", "groups/each-its-own-assignment")
    assert verdicts(program, tmp_path, "one-replica.toml", *cases) == dict.fromkeys(cases, PASS)
    logs = "".join(path.read_text() for path in (only_run(tmp_path) / "target").rglob("*.err"))
    assert "refused more than one replica" in logs


def test_what_no_promise_forbids_is_no_failure(program: Path, tmp_path: Path) -> None:
    """It takes a null or negative count for none, and knows no committed offsets of an unknown group."""
    cases = ("protocol/announced-lengths", "protocol/broken-text", "protocol/no-client-id", "protocol/unknown-tags")
    assert verdicts(program, tmp_path, "per-node.toml", *cases) == dict.fromkeys(cases, PASS)
