"""`reference:3` as a target: what it can do, how it is run; nothing is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.targets import UnknownTarget, open_target


def test_three_nodes_share_a_controller_and_the_mutant(tmp_path: Path) -> None:
    target = open_target("reference:3?mutant=M05&set=min.insync.replicas=1", tmp_path)
    assert {"nodes", "kill", "pause", "restart", "terminate"} <= target.capabilities
    plans = target.plans()
    helpers = target.helper_plans()
    assert list(plans) == [0, 2, 3]
    assert list(helpers) == [100]
    controller = helpers[100].address[1]
    for node, plan in plans.items():
        command = list(plan.command)
        assert command[command.index("--controller") + 1] == f"127.0.0.1:{controller}"
        assert command[command.index("--node-id") + 1] == str(node)
    for plan in (*plans.values(), *helpers.values()):
        assert "--mutant=M05" in plan.command
        assert plan.command[-1] == "--set=min.insync.replicas=1", "what the user sets comes last, and holds"


def test_one_node_needs_no_controller(tmp_path: Path) -> None:
    target = open_target("reference", tmp_path)
    assert "nodes" not in target.capabilities
    assert "--controller" not in target.plans()[0].command
    assert target.helper_plans() == {}


@pytest.mark.parametrize("text", ["reference:0", "reference:10", "reference:many"])
def test_a_number_of_nodes_that_makes_no_sense_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget, match="a number of nodes"):
        open_target(text, tmp_path)
