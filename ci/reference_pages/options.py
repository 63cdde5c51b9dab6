"""Every command with its options, as `--help` says them."""

from __future__ import annotations

import click

from brokertrial.ci.cli import cli
from brokertrial.ci.reference_pages import table

TITLE = "Commands and options"
INTRODUCTION = "What `brokertrial COMMAND --help` says, in one place."


def page() -> str:
    """A section a command."""
    shown = {name: command for name, command in sorted(cli.commands.items()) if not command.hidden}
    return "\n\n".join(_section(name, command) for name, command in shown.items())


def _section(name: str, command: click.Command) -> str:
    arguments = [f" {found.make_metavar(click.Context(command))}" for found in _of(command, click.Argument)]
    text = f"## brokertrial {name}\n\n`brokertrial {name}{''.join(arguments)} [OPTIONS]`\n\n{command.help or ''}"
    rows = [row for option in _of(command, click.Option) if (row := _row(option, command))]
    return f"{text}\n\n{table(('option', 'meaning'), rows)}" if rows else text


def _of(command: click.Command, kind: type[click.Parameter]) -> list[click.Parameter]:
    return [parameter for parameter in command.params if isinstance(parameter, kind)]


def _row(option: click.Parameter, command: click.Command) -> tuple[str, str] | None:
    record = option.get_help_record(click.Context(command))
    return (f"`{record[0]}`", record[1]) if record else None
