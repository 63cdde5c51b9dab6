"""The pytest plugin: one item a case, one target for the session, events for whoever listens, an exit status to trust.

    python -P -m pytest -p brokertrial.suites.running.plugin --target reference --select 'offsets/*'

Without --target it does nothing. `--deselect` is pytest's own option; here it takes names of cases.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.suites.case import CASES, BadCase, Case, cases_in
from brokertrial.suites.events import RunEvent
from brokertrial.suites.exit_status import USAGE
from brokertrial.suites.running import requirements
from brokertrial.suites.running.earlier import Earlier
from brokertrial.suites.running.requirements import CORE
from brokertrial.suites.running.run import Options, Run
from brokertrial.suites.running.selection import PROFILES, UnknownSelection
from brokertrial.suites.since import release_of
from brokertrial.suites.targets import ALLOWANCES, FEATURES

RUN = pytest.StashKey[Run]()
CLAIMS = (*FEATURES, *ALLOWANCES)


class Hooks:
    """What other plugins may implement."""

    @pytest.hookspec
    def pytest_brokertrial_event(self, event: RunEvent) -> None:
        """Something happened in the run (suites/events.py)."""


def arguments() -> list[str]:
    """What to hand to pytest as paths."""
    return [str(CASES)]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("brokertrial", "put a broker on trial")
    group.addoption("--target", help="what to try: reference, kafka:4.4.0, bootstrap:HOST:PORT, file:broker.toml ...")
    group.addoption("--profile", default="full", choices=PROFILES, help="how much to run")
    group.addoption("--budget", type=float, metavar="MIN", help="leave out what does not fit into so many minutes")
    group.addoption("--seed", type=int, help="the seed of everything random in the run")
    group.addoption("--select", action="append", default=[], metavar="AREA/NAME", help="only these cases (* allowed)")
    group.addoption("--claims", metavar="FILE", help="a TOML file of features that the target claims to have")
    group.addoption("--require", default=CORE, metavar="AREA,...", help="what must be offered: core, areas, or none")
    group.addoption("--run-dir", metavar="FOLDER", help="the run folder (default: runs/...)")
    group.addoption("--keep", default="all", choices=("all", "failed"), help="which histories to keep")
    group.addoption("--unproven", default="warn", choices=("warn", "fail"), help="what a case without proof may do")
    group.addoption("--earlier", metavar="FILE", help="the results of a process of this run that crashed")
    group.addoption(
        "--each-alone", action="store_true", help="excuse no case by what failed in another: to see that each fails"
    )
    group.addoption("--through", metavar="FILE", help="a schedule (JSON) at work from the first request to the last")
    group.addoption(
        "--refute", action="store_true", help="tell each case the lies of its fails_on: every one must fail"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--target"):
        return
    config.args = arguments()
    config.stash[RUN] = Run(_options(config), lambda event: config.hook.pytest_brokertrial_event(event=event))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    inside = file_path.suffix == ".py" and not file_path.name.startswith("_") and file_path.is_relative_to(CASES)
    if RUN in parent.config.stash and inside and len(file_path.relative_to(CASES).parts) == 2:
        return CaseFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (run := config.stash.get(RUN, None)) is None:
        return
    cases = [item.case for item in items if isinstance(item, CaseItem)]
    try:
        place = {case.id: number for number, case in enumerate(run.choose(cases))}
    except UnknownSelection as error:
        raise pytest.UsageError(str(error)) from error
    chosen = [item for item in items if isinstance(item, CaseItem) and item.case.id in place]
    chosen.sort(key=lambda item: place[item.case.id])
    items[:] = chosen


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if (run := session.config.stash.get(RUN, None)) is None:
        return None
    interrupted = True
    try:
        items = [item for item in session.items if run.awaits(item.name)] if run.start() else []
        for index, item in enumerate(items):
            following = items[index + 1] if index + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldstop or run.over:
                break
        interrupted = False
    except KeyboardInterrupt:
        # a new one: pytest draws where it came from, and there are places of which Python 3.11 knows no line
        raise KeyboardInterrupt from None
    finally:
        run.finish(interrupted)
    return True


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    word = dict(getattr(report, "user_properties", ())).get("brokertrial")
    if word is None or report.when != "call":
        return None
    letter = {"pass": ".", "fail": "F", "inconclusive": "?", "not applicable": "s"}[word]
    return {"pass": "passed", "fail": "failed"}.get(str(word), str(word)), letter, str(word).upper()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    run = session.config.stash.get(RUN, None)
    if run is not None and exitstatus != USAGE:
        session.exitstatus = run.status


class CaseFile(pytest.File):
    """A file of suites/cases/."""

    def collect(self) -> Iterator[CaseItem]:
        for case in cases_in(self.path):
            item: CaseItem = CaseItem.from_parent(self, name=case.id)
            item.case = case
            yield item


class CaseItem(pytest.Item):
    """One case."""

    case: Case

    def runtest(self) -> None:
        run = self.config.stash[RUN]
        result = run.run(self.case)
        self.user_properties.append(("brokertrial", str(result.verdict)))
        if result.verdict == "not applicable":
            pytest.skip(result.reason.sentence if result.reason else "")
        if result.verdict != "pass":
            raise CaseVerdict(self.case, result)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseVerdict):
            return excinfo.value.text()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.source[1], self.case.id


class CaseVerdict(Exception):
    """A case that did not pass."""

    def __init__(self, case: Case, result: Any) -> None:
        super().__init__(case.id)
        self.case = case
        self.result = result

    def text(self) -> str:
        """The statement, the reason and the proof, for a terminal without ci.plugin."""
        result = self.result
        lines = [f"{str(result.verdict).upper()}  {result.case}   {result.level}", f"  {result.statement}"]
        if result.reason is not None:
            lines += ["", f"  {result.reason.kind}: {result.reason.sentence}"]
        for anomaly in result.anomalies[:5]:
            lines.append(f"  {anomaly.name}: {anomaly.sentence}")
        for proof in result.evidence[-6:]:
            lines.append("")
            for number, line in enumerate(proof.text.splitlines()):
                lines.append(f"  {'>>' if number in proof.marked else '  '} {line}")
        return "\n".join([*lines, *(f"  warning: {text}" for text in result.warnings)])


def _options(config: pytest.Config) -> Options:
    claims, release = _claims(config.getoption("--claims"))
    return Options(
        target=config.getoption("--target"),
        profile=config.getoption("--profile"),
        budget_min=config.getoption("--budget"),
        seed=config.getoption("--seed"),
        select=tuple(config.getoption("--select")),
        deselect=tuple(config.getoption("deselect") or ()),
        claims=claims,
        run_dir=config.getoption("--run-dir"),
        keep=config.getoption("--keep"),
        unproven=config.getoption("--unproven"),
        through=config.getoption("--through"),
        refute=config.getoption("--refute"),
        require=_required(config.getoption("--require")),
        release=release,
        earlier=Earlier.taken(Path(earlier)) if (earlier := config.getoption("--earlier")) else None,
        alone=config.getoption("--each-alone"),
    )


def _required(text: str) -> tuple[str, ...]:
    try:
        return requirements.parse(text)
    except requirements.UnknownArea as error:
        raise pytest.UsageError(f"--require: {error}") from error


def _claims(path: str | None) -> tuple[dict[str, bool], tuple[int, ...]]:
    """Claims of a file: a [claims] table, or the features at the top; and the release that `kafka` names, if any."""
    if path is None:
        return {}, ()
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        release = release_of(str(content.pop("kafka"))) if "kafka" in content else ()
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--claims {path}: {error}") from error
    table = content.get("claims", content)
    if wrong := [name for name, value in table.items() if name not in CLAIMS or not isinstance(value, bool)]:
        raise pytest.UsageError(
            f"--claims {path}: {wrong[0]!r} is no feature set to true or false; known: {', '.join(CLAIMS)}"
        )
    return dict(table), release


__all__ = ["BadCase", "CaseFile", "CaseItem", "Hooks", "arguments"]
