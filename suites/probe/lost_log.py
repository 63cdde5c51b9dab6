"""A node that is down and loses what one partition has on its disk, as where a disk was replaced."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from brokertrial.suites.probe.nodes import DONE, Nodes
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.messages import request


def log_dirs(wire: Wire, node: int, topic: str) -> list[str]:
    """Where a node that is up has the first partition of a topic."""
    asked = request("DescribeLogDirs", topics=[{"topic": topic, "partitions": [0]}])
    return [row.log_dir for row in wire.ask(asked, to=node).must_succeed().struct.results if row.topics]


def lose_log(wire: Wire, nodes: Nodes, node: int, folders: Sequence[str], topic: str) -> None:
    """Deletes what the node, which is down, has of the first partition; not applicable where that is out of reach."""
    outcome = nodes.outcome_of("lose the log of", node, lambda _: _delete(folders, topic))
    if outcome != DONE:
        wire.not_applicable(f"the log of node {node} cannot be deleted from here: {outcome}", "missing-capability")


def _delete(folders: Sequence[str], topic: str) -> None:
    found = [path for folder in folders if (path := Path(folder, f"{topic}-0")).is_dir()]
    if not found:
        raise FileNotFoundError("its log is in no folder that can be reached")
    for path in found:
        shutil.rmtree(path)
