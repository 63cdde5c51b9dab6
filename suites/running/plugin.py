"""The cases as pytest items: `pytest -p brokertrial --target reference --select 'offsets/*'`.

A thin adapter: markers, pytest's own reports, pytest-xdist (a run in each worker). Without --target it does nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.extensions import BrokenExtension
from brokertrial.suites.case import CASES, BadCase, Case, all_cases
from brokertrial.suites.result_text import text
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.suites.running.options import NONE, RunOptions
from brokertrial.suites.running.pytest_workers import NAME, Workers
from brokertrial.suites.running.run import Run
from brokertrial.suites.targets import TargetProblem

VALUES = ("target", "profile", "budget", "seed", "claims", "require", "run_dir", "keep", "unproven", "through")
FLAGS = ("refute", "each_alone")
ADAPTER = pytest.StashKey["_Adapter"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("brokertrial", "conformance of a Kafka-compatible broker, as by `brokertrial run`")
    for name in (*VALUES, *FLAGS):
        group.addoption(f"--{name.replace('_', '-')}", action="store_true" if name in FLAGS else "store")
    group.addoption("--select", action="append", help="cases (* is a wildcard); pytest's --deselect takes them too")
    group.addoption("--cases", action="append", help="a folder of case files outside the package")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("target"):
        return
    words = {name: config.getoption(name) for name in (*VALUES, *FLAGS, "select", "deselect", "cases")}
    words = {name: word for name, word in words.items() if word} | getattr(config, "workerinput", {}).get(NAME, {})
    try:
        options = RunOptions.parsed(jobs=1, situation=NONE, **{"profile": "full", **words}).validated().in_folder()
        names = sorted({name for case in all_cases() for name in _markers(case)})
    except (BadCase, BadOptions, BrokenExtension, TargetProblem) as error:
        raise pytest.UsageError(str(error)) from error
    for name in names:
        config.addinivalue_line("markers", f"{name}: brokertrial cases of this area, level or kind")
    spread = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if not spread:
        config.stash[ADAPTER] = _Adapter(options)
    config.pluginmanager.register(Workers(options) if spread else config.stash[ADAPTER], NAME)


class _Adapter:
    """One run; its target is started for the first item."""

    def __init__(self, options: RunOptions) -> None:
        self.run = Run(options)
        self._held = contextlib.ExitStack()
        self._ready: bool | None = None
        self._interrupted = False

    def pytest_collection(self, session: pytest.Session) -> bool:
        session.items = list(session.genitems(_Cases.from_parent(session, name="brokertrial", nodeid="brokertrial")))
        hook, config = session.config.hook, session.config
        hook.pytest_collection_modifyitems(session=session, config=config, items=session.items)
        session.testscollected = len(session.items)
        hook.pytest_collection_finish(session=session)
        return True

    def judge(self, item: _CaseItem) -> None:
        if self._ready is None:
            self._held.enter_context(self.run.interruption)
            self._ready = self.run.start()
        if not self._ready or self.run.over:
            item.session.shouldstop = "the target does not serve"
            pytest.fail("the target does not serve", pytrace=False)
        result = self.run.run(item.case)
        item.user_properties.append(("brokertrial", str(result.verdict)))
        if result.verdict is Verdict.NOT_APPLICABLE:
            pytest.skip(text(result))
        if result.verdict is not Verdict.PASS:
            pytest.fail(text(result), pytrace=False)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)  # that one is of `shouldstop`

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._ready is not None:
            with self._held:
                self.run.finish(self._interrupted)
            session.exitstatus = self.run.status
            getattr(session.config, "workeroutput", {})[NAME] = self.run.status


class _Cases(pytest.Collector):
    def collect(self) -> Iterator[_CaseItem]:
        self.path = CASES
        for case in self.config.stash[ADAPTER].run.choose(all_cases()):
            yield _CaseItem.from_parent(self, name=case.id, case=case)


class _CaseItem(pytest.Item):
    def __init__(self, case: Case, **node: Any) -> None:
        super().__init__(**node)
        self.case = case
        for name in _markers(case):
            self.add_marker(name)

    def runtest(self) -> None:
        try:
            self.config.stash[ADAPTER].judge(self)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None  # pytest shows where it came from: Python 3.11 may know no line there

    def reportinfo(self) -> tuple[Path, int, str]:
        return *self.case.source, self.case.id


def _markers(case: Case) -> tuple[str, str, str]:
    return case.area, str(case.level), case.kind
