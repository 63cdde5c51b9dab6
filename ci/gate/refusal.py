"""A gate that is asked for what cannot be: no file of an earlier gate may stay for its own, and GitHub shows why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from brokertrial.suites.exit_status import ExitStatus

OUT, DEFAULT = "--out", "gate"


class RefusingCommand(click.Command):
    """A command whose words may be wrong before it has begun."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Takes the words apart; what is wrong with them is told as any other refusal."""
        out = folder_named(args)
        try:
            return super().parse_args(context, args)
        except click.UsageError as error:
            refused(out, error.format_message(), ExitStatus.USAGE)
            raise


def refused(out: Path, sentence: str, status: int) -> None:
    """Removes the files of an earlier gate, and in a job of GitHub Actions prints the annotation."""
    from brokertrial.ci.gate import files, github  # the words of a command are taken apart without them

    files.remove(out)
    if github.is_here(os.environ):
        click.echo(github.tell_refusal(sentence, status, os.environ), nl=False)


def folder_named(words: Sequence[str]) -> Path:
    """What `--out` says, wherever it stands."""
    found = DEFAULT
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == OUT and following:
            found = following
        elif word.startswith(f"{OUT}="):
            found = word.removeprefix(f"{OUT}=")
    return Path(found)
