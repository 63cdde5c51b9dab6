"""`brokertrial image build`: an image for `image:` targets, made here without a registry."""

from __future__ import annotations

import click

from brokertrial.ci.errors import UserError
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.targets import TargetProblem


def build(kafka: str | None, name: str) -> int:
    """Makes an image of a Kafka release, or of the bundled broker, and prints its target string."""
    from brokertrial.suites.targets.containers import build as images

    try:
        made = images.kafka_image(kafka, name) if kafka else images.bundled_image(name)
    except TargetProblem as problem:
        raise UserError(problem.sentence, problem.hint, status=problem.exit_status) from None
    click.echo(f"image:{made}")
    return ExitStatus.PASSED
