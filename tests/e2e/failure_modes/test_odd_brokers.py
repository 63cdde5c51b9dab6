"""Brokers that refuse what the suite asks first: three replicas, or CreateTopics altogether. The rest is judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.e2e.failure_modes.runs import brokertrial, only_run

FACADE = Path(__file__).parents[2] / "targets" / "facade.py"
REFERENCE = [
    sys.executable,
    "-P",
    "-m",
    "brokertrial.reference_impl",
    "node",
    "--node-id={node}",
    "--port={port}",
    "--data={data}",
]
PASS, NOT_APPLICABLE = "pass", "not applicable"


def verdicts(tmp_path: Path, broker: str, *cases: str, require: str = "core") -> dict[str, tuple[str, str]]:
    """Runs the cases against the broker that the file tells; the verdict and the reason of each."""
    (tmp_path / "broker.toml").write_text(broker)
    selected = [word for case in cases for word in ("--select", case)]
    selected += ["--require", require]
    done = brokertrial(
        tmp_path, "run", "--target", "file:broker.toml", "--profile", "full", "--situation", "none", *selected
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (only_run(tmp_path) / "results.jsonl").read_text().splitlines()]
    results = [line["result"] for line in lines if line["line"] == "result"]
    return {row["case"]: (row["verdict"], (row["reason"] or {}).get("sentence", "")) for row in results}


def test_one_that_refuses_three_replicas_is_asked_for_its_own_number(tmp_path: Path) -> None:
    start = [sys.executable, "-P", str(FACADE), "{ports}", "{data}"]
    cases = ("offsets/by-time-within-a-batch", "groups/each-its-own-assignment", "fetch/nobody-starves")
    found = verdicts(tmp_path, f'nodes = 3\nprocess = "all"\nstart = {json.dumps(start)}\n', *cases)
    assert {case: verdict for case, (verdict, _) in found.items()} == dict.fromkeys(cases, PASS)
    logs = "".join(path.read_text() for path in (only_run(tmp_path) / "target").rglob("*.out"))
    assert "refused more than one replica" in logs


def test_one_that_makes_topics_on_use_only_is_judged_by_what_needs_no_more(tmp_path: Path) -> None:
    found = verdicts(
        tmp_path,
        f"start = {json.dumps([*REFERENCE, '--without', 'CreateTopics'])}\n",
        "offsets/by-time-within-a-batch",  # any topic will do
        "fetch/nobody-starves",  # wants four partitions
        "fetch/over-segments-to-the-end",  # wants a setting
        "admin/created-as-asked",  # wants CreateTopics
        "idempotence/lost-ack",  # wants three partitions or more
        require="data,groups,commits,transactions",
    )
    assert found.pop("offsets/by-time-within-a-batch")[0] == PASS
    assert {verdict for verdict, _ in found.values()} == {NOT_APPLICABLE}, found
    assert "partitions" in found["fetch/nobody-starves"][1]
    assert "topics appear on use only, with 1 partitions: 3 are needed" in found["idempotence/lost-ack"][1]
    assert "CreateTopics" in found["admin/created-as-asked"][1]
