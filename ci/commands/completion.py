"""`brokertrial completion`: the script of a shell, and what it offers for a target, for a case and for a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from brokertrial.ci import shells

PROGRAM = "brokertrial"
VARIABLE = "_BROKERTRIAL_COMPLETE"
"""Click looks here for what is to be completed."""
DESCRIBED = ("file:", "image:")
"""Targets that a file describes."""


def script(command: click.Command, shell: str) -> str:
    """What the shell has to read: `eval "$(brokertrial completion bash)"`."""
    shells.register()
    kind = get_completion_class(shell)
    assert kind is not None, "the command line offers the shells that Click knows"
    return kind(command, {}, PROGRAM, VARIABLE).source()


def cases(begun: str) -> list[CompletionItem[str]]:
    """The ids of cases, and each area with a wildcard."""
    from brokertrial.suites.case import all_cases

    found = all_cases()
    names = [*dict.fromkeys(f"{case.area}/*" for case in found), *(case.id for case in found)]
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def targets(begun: str) -> list[CompletionItem[str]]:
    """An example of each kind of target, and the files that describe one."""
    from brokertrial.suites.targets import known_targets

    examples = [example.strip("'") for kind in known_targets().values() for example in kind.examples]
    kind = next((kind for kind in DESCRIBED if begun.startswith(kind)), "")
    files = [f"{kind}{file}" for file in _below(begun.removeprefix(kind), ".toml")] if kind else []
    return [CompletionItem(name) for name in dict.fromkeys((*files, *examples)) if name.startswith(begun)]


def runs(begun: str, of_cases: bool) -> list[CompletionItem[str]]:
    """Run folders, archives and the folders above them; with `of_cases` a run goes on with the names of its cases."""
    if not begun and Path("runs").is_dir():
        begun = "runs/"
    return [CompletionItem(name) for name in (*_cases_of(begun, of_cases), *_below(begun, ".zip", of_cases))]


def _cases_of(begun: str, of_cases: bool) -> Iterator[str]:
    run, slash, name = begun.rpartition("/")
    if slash and of_cases and _is_run(Path(run)):
        yield from (f"{run}/{case}" for case in _names(Path(run) / "histories") if case.startswith(name))


def _below(begun: str, suffix: str, runs_go_on: bool = False) -> Iterator[str]:
    """Files of this kind, and folders; a run folder holds neither."""
    above, slash, name = begun.rpartition("/")
    folder = Path(above + slash)
    if _is_run(folder):
        return
    for each in _names(folder):
        path = folder / each
        if not each.startswith(name) or (each.startswith(".") and not name):
            continue
        if path.is_dir():
            yield f"{above}{slash}{each}{'' if _is_run(path) and not runs_go_on else '/'}"
        elif path.suffix == suffix:
            yield f"{above}{slash}{each}"


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
