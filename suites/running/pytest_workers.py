"""The side of pytest-xdist that hands out cases: each worker has a target, names and a run folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from brokertrial.suites.exit_status import ExitStatus, worst
from brokertrial.suites.running.options import RunOptions

NAME = "brokertrial-run"


class Workers:
    """Gives every worker the same seed, and makes one exit status of theirs."""

    def __init__(self, options: RunOptions) -> None:
        self._options, self._statuses = options, list[int]()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        folder = str(Path(self._options.run_dir or "", node.gateway.id))
        node.workerinput[NAME] = {"seed": self._options.seed, "run_dir": folder}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._statuses.append(getattr(node, "workeroutput", {}).get(NAME, ExitStatus.INTERNAL))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        session.exitstatus = worst(self._statuses) if self._statuses else session.exitstatus
