"""The process of a run in which one client of every trial talks to the broker itself, past the proxy, on purpose."""

from __future__ import annotations

import os
import sys
from typing import Any

from brokertrial.ci import run_process
from brokertrial.suites.running import case_run
from brokertrial.suites.workloads.context import WorkloadContext


def go_past_the_proxy() -> None:
    """The first reader of the workload is given the broker's own address; this process serves one run and ends."""
    given = WorkloadContext.settings

    def past_the_proxy(context: WorkloadContext, client: str, **more: Any) -> dict[str, Any]:
        settings = given(context, client, **more)
        return settings | ({"bootstrap.servers": os.environ["PAST_THE_PROXY"]} if client == "consumer-1" else {})

    case_run.ATTEMPTS = 1  # the next attempt would say the same
    WorkloadContext.settings = past_the_proxy  # type: ignore[method-assign]


if __name__ == "__main__":
    go_past_the_proxy()
    sys.exit(run_process.main(sys.argv[1:]))
