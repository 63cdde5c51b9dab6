"""`brokertrial completion`: the script of a shell, and what it offers for a target and for a case."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

PROGRAM = "brokertrial"
VARIABLE = "_BROKERTRIAL_COMPLETE"
"""Click looks here for what is to be completed."""


def script(command: click.Command, shell: str) -> str:
    """What the shell has to read: `eval "$(brokertrial completion bash)"`."""
    kind = get_completion_class(shell)
    assert kind is not None, "the command line offers the shells that Click knows"
    return kind(command, {}, PROGRAM, VARIABLE).source()


def cases(begun: str) -> list[CompletionItem]:
    """The ids of cases, and each area with a wildcard."""
    from brokertrial.suites.case import all_cases

    found = all_cases()
    names = [*dict.fromkeys(f"{case.area}/*" for case in found), *(case.id for case in found)]
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def targets(begun: str) -> list[CompletionItem]:
    """An example of each kind of target."""
    from brokertrial.suites.targets import known_targets

    examples = (example.strip("'") for kind in known_targets().values() for example in kind.examples)
    return [CompletionItem(example) for example in examples if example.startswith(begun)]
