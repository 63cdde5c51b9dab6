"""Conformance and chaos testing for Kafka-compatible brokers: each folder of the repository is a package in here.

from brokertrial import RunOptions, run
result = run(RunOptions("reference", select=("offsets/*",)))
print(result.status, [one.case for one in result.results if one.is_failure], result.folder)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brokertrial.ci.reporter import run
    from brokertrial.suites.running.options import RunOptions
    from brokertrial.suites.running.run import RunResult

__all__ = ["RunOptions", "RunResult", "run"]

pytest_plugins = ("brokertrial.suites.running.plugin",)
"""What `pytest -p brokertrial` loads."""
HOMES = {
    "RunOptions": "brokertrial.suites.running.options",
    "RunResult": "brokertrial.suites.running.run",
    "run": "brokertrial.ci.reporter",
}

logging.getLogger(__name__).addHandler(logging.NullHandler())  # what is done with the log is for the user to say


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: a part of the package, such as the bundled broker, does without the rest."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(HOMES[name]), name)
