"""The options that several commands have, and those of whatever runs cases against a broker: `run`, `gate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])


def _cases(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from brokertrial.ci.commands.completion import cases

    return cases(begun)


def _targets(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from brokertrial.ci.commands.completion import targets

    return targets(begun)


def a_run(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes a run folder or an archive."""
    from brokertrial.ci.commands.completion import runs

    return runs(begun, of_cases=False)


def in_a_run(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes a run, and a case of it."""
    from brokertrial.ci.commands.completion import runs

    return runs(begun, of_cases=True)


def _template(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    from brokertrial.ci.gate import templates

    if name is not None:
        click.echo(templates.text(name), nl=False)
        context.exit()


TEMPLATE = click.option(
    "--template",
    type=click.Choice(["github", "github-workflow", "gitlab", "jenkins", "policy"]),
    is_eager=True,
    expose_value=False,
    callback=_template,
    help="Print a file to copy, and exit: the action or workflow, the job, the pipeline, or a policy.",
)
CASES = click.option(
    "--cases",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    multiple=True,
    help="Also load the case files in this folder (docs/extending.md). Repeatable.",
)
RUNS = click.option(
    "--runs", type=click.Path(file_okay=False), default="runs", help="Folder for run folders.", show_default=True
)
TOXIPROXY = click.option(
    "--toxiproxy",
    metavar="HOST:PORT",
    help="Control port of a running Toxiproxy, for network faults (default: one is started if a case needs it).",
)
OF_A_RUN = (
    click.option(
        "--target",
        required=True,
        metavar="TARGET",
        help="Broker to test; `brokertrial targets` lists the forms.",
        shell_complete=_targets,
    ),
    click.option(
        "--select",
        multiple=True,
        metavar="AREA/NAME",
        help="Run these cases alone, whatever the profile (* is a wildcard). Repeatable.",
        shell_complete=_cases,
    ),
    click.option(
        "--deselect",
        multiple=True,
        metavar="AREA/NAME",
        help="Skip these cases. Repeatable.",
        shell_complete=_cases,
    ),
    CASES,
    click.option(
        "--profile",
        type=click.Choice(["smoke", "full", "deep"]),
        default=None,
        help="Size of the run: smoke (about 2 minutes), full, or deep (full, with every case in every situation).",
    ),
    click.option(
        "--situation",
        metavar="NAME,...",
        default="",
        help="Also run cases in these situations, such as stop,old-versions; sample, deep or none (default: sample "
        "with --profile full).",
    ),
    click.option(
        "--budget",
        type=float,
        metavar="MIN",
        help="Time budget in minutes, as on a healthy target; cases that do not fit are skipped and listed.",
    ),
    click.option("--seed", type=int, help="Random seed. If omitted, one is chosen, printed and stored in run.json."),
    click.option(
        "--claims",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Features that the target claims to support (TOML).",
    ),
    click.option(
        "--require",
        default="core",
        metavar="AREA,...",
        help="API areas that the target must support: core, area names such as transactions, or none.",
        show_default=True,
    ),
    click.option(
        "--min-decided",
        type=click.FloatRange(0, 100),
        default=0.0,
        metavar="PERCENT",
        help="Exit with 6 if fewer than PERCENT of the must cases were decided.",
    ),
    click.option(
        "--keep",
        type=click.Choice(["all", "failed"]),
        default="all",
        help="Which histories to keep.",
        show_default=True,
    ),
    RUNS,
    click.option(
        "--jobs",
        type=click.IntRange(1, 64),
        metavar="N",
        help="Cases run at the same time (default: two for each core). Cases that disturb the target always run alone.",
    ),
    TOXIPROXY,
    click.option("--unproven", type=click.Choice(["warn", "fail"]), default="warn", hidden=True),
)


def options_of_a_run(command: Command) -> Command:
    """Adds them, in this order; their words are those of RunOptions.parsed."""
    for option in reversed(OF_A_RUN):
        command = option(command)
    return command
