"""Rules for all tests: on a CI machine nothing is skipped quietly."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# An example that takes 300 ms on a busy machine is no finding: what may be slow is bounded by name where it matters.
hypothesis.settings.register_profile("brokertrial", deadline=None)
hypothesis.settings.load_profile("brokertrial")

IN_MEMORY, FREE_BYTES = Path("/dev/shm"), 2 << 30
"""A file system in memory, and how much must be free there: containers often have 64 MiB, which four workers fill."""


def pytest_configure() -> None:
    """A shell starts background jobs with Ctrl-C ignored, and so would every process here: take that back."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is begun first: at the end there are only short files left for the last processors."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Without Java, Maven or Go the tests are green too; what was left out for want of them is the last thing said."""
    reports = terminalreporter.stats.get("skipped", [])
    why = Counter(
        report.longrepr[2].removeprefix("Skipped: ").partition("\n")[0]
        for report in reports
        if isinstance(report.longrepr, tuple)
    )
    if why:
        terminalreporter.section("left out")
    for reason, count in why.most_common():
        terminalreporter.write_line(f"{count:5} {'test' if count == 1 else 'tests'}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true, a test that skips itself because a real component is missing is a failure that says so."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason: Any = report.longrepr
        report.outcome = "failed"
        why = reason[2] if isinstance(reason, tuple) else reason
        report.longrepr = f"skipped, which a CI machine may not do: {why}"
    return report


@pytest.fixture
def looks_settle_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug does not mend itself: a closing look that finds it need not be repeated for long."""
    monkeypatch.setattr("brokertrial.suites.closing_look.look.SETTLES_S", 3.0)


@pytest.fixture
def targets_settle_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes no record by design takes none later: it need not be asked for long."""
    monkeypatch.setattr("brokertrial.suites.running.health.SETTLES_WITHIN_S", 2.0)


@pytest.fixture
def broker_data(tmp_path: Path) -> Iterator[Path]:
    """A folder for brokers in this process, in memory where it can be: one test makes ten thousand small files."""
    if not IN_MEMORY.is_dir() or shutil.disk_usage(IN_MEMORY).free < FREE_BYTES:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="brokertrial-", dir=IN_MEMORY) as folder:
        yield Path(folder)
