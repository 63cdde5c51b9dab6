"""The command line. Every command is a few lines here; what it does lives in a file of its name."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import click

from brokertrial.ci import shells
from brokertrial.ci.errors import UserError
from brokertrial.ci.gate.refusal import RefusingCommand
from brokertrial.ci.log_option import LOG_FILE
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.ci.run_options import CASES, RUNS, TEMPLATE, TOXIPROXY, a_run, in_a_run, options_of_a_run
from brokertrial.extensions import BrokenExtension, use_folders
from brokertrial.suites.case import BadCase
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.suites.targets.base import TargetProblem

STATUSES = "\b\nExit status\n" + "\n".join(f"  {status}  {status.meaning}" for status in ExitStatus)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 118}, epilog=STATUSES)
@click.version_option(suite_version(), prog_name="brokertrial")
def cli() -> None:
    """Tests a Kafka-compatible broker with real clients and injected faults, records a history, and checks it against
    Kafka's guarantees."""


@cli.command()
@options_of_a_run
@click.option(
    "--known",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Known failures (TOML); only new failures turn the run red.",
)
def run(**options: Any) -> None:
    """Run cases against a broker and write a run folder with the report."""
    from brokertrial.ci.commands.run import run as command

    sys.exit(command(**options))


@cli.command(cls=RefusingCommand, epilog=STATUSES)
@options_of_a_run
@TEMPLATE
@click.option(
    "--baseline",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Known failures (TOML), as for `run --known`.",
)
@click.option(
    "--last",
    type=click.Path(),
    metavar="RUN",
    shell_complete=a_run,
    help="The last good run: a run, a folder of runs, or what --save-last left. May be missing.",
)
@click.option(
    "--save-last", type=click.Path(file_okay=False), metavar="DIR", help="When the gate passes, keep its results here."
)
@click.option(
    "--policy", type=click.Path(dir_okay=False), metavar="FILE", help="What blocks (TOML; --template policy)."
)
@click.option(
    "--changed-since",
    type=click.Path(),
    metavar="RUN",
    shell_complete=a_run,
    help="First run what failed or was inconclusive in RUN, and cases that are new or changed since. May be missing.",
)
@click.option(
    "--write-baseline", is_flag=True, help="Write --baseline from what fails now, each entry with a day of expiry."
)
@click.option(
    "--expires-in",
    type=click.IntRange(1, 3650),
    metavar="DAYS",
    help="Days until the entries that --write-baseline writes expire (default: 90).",
)
@click.option(
    "--out", type=click.Path(file_okay=False), default="gate", show_default=True, help="Folder for the files for CI."
)
def gate(**options: Any) -> None:
    """Decide whether a change may be merged: run, compare with a baseline and the last good run, and tell CI."""
    from brokertrial.ci.commands.gate import GateWords
    from brokertrial.ci.commands.gate import gate as command

    mine = {name: options.pop(name) for name in GateWords.__struct_fields__}
    sys.exit(command(GateWords(**mine), **options))


@cli.command()
@click.argument("place", metavar="RUN[/CASE]|HISTORY|FILE", shell_complete=in_a_run)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jepsen", "jsonl"]),
    help="Format of FILE, a history recorded by another harness.",
)
@click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True)
@click.option(
    "--assume",
    default="",
    metavar="NAME=VALUE,...",
    help="Client settings that FILE does not state: acks, isolation, idempotence, ...",
)
@click.option("--strict", is_flag=True, help="Also report behaviour that Kafka allows (for testing checkers).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the verdict and all anomalies.")
@CASES
def check(place: str, cases: tuple[str, ...], **options: Any) -> None:
    """Re-check a stored history without a broker, or a history of another harness (docs/formats.md)."""
    from brokertrial.ci.commands.check import check as command

    use_folders(cases)
    sys.exit(command(place, **options))


@cli.command()
@click.argument("place", metavar="RUN/CASE", shell_complete=in_a_run)
@click.argument("anomaly", required=False)
@click.option("--list", "listed", is_flag=True, help="List all anomalies, a line each.")
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Output file.")
@CASES
def explain(place: str, anomaly: str | None, listed: bool, html: str | None, cases: tuple[str, ...]) -> None:
    """Explain one anomaly (by name or number; by default the first) with a timeline."""
    from brokertrial.ci.commands.explain import explain as command

    use_folders(cases)
    sys.exit(command(place, anomaly, Path(html) if html else None, listed))


@cli.command()
@click.argument("places", metavar="RUN...", nargs=-1, required=True, shell_complete=a_run)
@click.option("--master", default="local[*]", show_default=True, help="local[N], spark://HOST:PORT, yarn, k8s://...")
@click.option("--out", default="analysis", metavar="DIR", show_default=True, help="Output folder or URI.")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="Spark setting. Repeatable.")
def analyze(places: tuple[str, ...], master: str, out: str, conf: tuple[str, ...]) -> None:
    """Check many runs on Spark and profile their availability; takes folders or URIs."""
    from brokertrial.ci.commands.analyze import analyze as command

    sys.exit(command(places, master, out, conf))


@cli.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=a_run)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="site",
    metavar="DIR",
    show_default=True,
    help="Folder for the site.",
)
@click.option(
    "--notes",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    multiple=True,
    help="Names of targets and notes of their vendors (TOML), shown beside the verdicts. Repeatable.",
)
@click.option(
    "--baseline",
    metavar="RUN",
    help="Run whose times the others are multiples of (default: the first).",
    shell_complete=a_run,
)
@click.option("--recheck", is_flag=True, help="Judge the stored histories again, all by this version of the suite.")
@click.option("--title", metavar="TEXT", default="Kafka brokers compared", help="Title of the site.")
def compare(**options: Any) -> None:
    """Compare runs of several targets, versions or days: a static site that works offline, and the same as JSON."""
    from brokertrial.ci.commands.compare import Wanted
    from brokertrial.ci.commands.compare import compare as command

    sys.exit(command(Wanted(**options)))


@cli.command()
@click.argument("run", metavar="RUN", shell_complete=a_run)
@click.option(
    "--out", type=click.Path(dir_okay=False), metavar="FILE.zip", help="Output file (default: RUN.zip beside the run)."
)
def archive(run: str, out: str | None) -> None:
    """Pack a run into one file, which check, compare, analyze, explain and replay read."""
    from brokertrial.ci.commands.archive import archive as command

    sys.exit(command(run, Path(out) if out else None))


@cli.command()
@click.argument("place", metavar="RUN/CASE", shell_complete=in_a_run)
@click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True, help="Number of repetitions.")
@RUNS
@CASES
def replay(place: str, times: int, runs: str, cases: tuple[str, ...]) -> None:
    """Replay one case with the same target, seed and fault schedule; reports k of N reproduced."""
    from brokertrial.ci.commands.replay import replay as command

    sys.exit(command(place, times, Path(runs), cases))


@cli.command()
@RUNS
@click.option("--open/--no-open", "opened", default=True, help="Open the report in a browser, where there is one.")
def demo(runs: str, opened: bool) -> None:
    """Show in a minute what a green and a red run look like, on the bundled broker; needs nothing."""
    from brokertrial.ci.commands.demo import demo as command

    sys.exit(command(Path(runs), opened))


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options, targets, cases and runs in a shell."""
    from brokertrial.ci.commands.completion import script

    click.echo(script(cli, shell))


@cli.command()
@click.option("--coverage", is_flag=True, help="Show which guarantees are covered by cases, and which are not.")
@click.option("--matrix", is_flag=True, help="Show in which situations each case has passed on Apache Kafka.")
@CASES
def cases(coverage: bool, matrix: bool, cases: tuple[str, ...]) -> None:
    """List the cases: id, level, guarantees, statement, needs."""
    from brokertrial.ci.commands.cases import coverage_page, list_page
    from brokertrial.ci.commands.matrix import matrix_page

    use_folders(cases)
    click.echo(matrix_page() if matrix else coverage_page() if coverage else list_page())


@cli.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=a_run)
@CASES
def prove(runs: tuple[str, ...], cases: tuple[str, ...]) -> None:
    """Record that cases of your own passed on Apache Kafka in these runs; until then they can only warn."""
    from brokertrial.ci.commands.prove import prove as command

    use_folders(cases)
    sys.exit(command(runs))


@cli.command()
@click.option(
    "--target", required=True, metavar="TARGET", help="Broker to explore; `brokertrial targets` lists the forms."
)
@click.option(
    "--against",
    metavar="TARGET",
    help="Broker that is known to be good (default: Apache Kafka where there is Java, else `reference`).",
)
@click.option("--minutes", type=click.FloatRange(0.05), default=30.0, help="How long.", show_default=True)
@click.option("--seed", type=int, help="Random seed. If omitted, one is chosen, printed and stored.")
@click.option("--only", metavar="FAMILY,...", default="", help="Only these families of requests, such as transactions.")
@click.option(
    "--known",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Known differences (TOML), which do not fail the run.",
)
@click.option(
    "--stop-after", type=click.IntRange(1), metavar="N", help="Stop after N differences, even if time is left."
)
@click.option(
    "--export",
    type=click.Choice(["script"]),
    multiple=True,
    help="Also write each difference as a Python program without dependencies, to send to others.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=4, help="Sequences run at the same time.", show_default=True
)
@RUNS
def explore(**options: Any) -> None:
    """Send the same random sequences of requests to a broker and to one that is known to be good, and compare the
    answers."""
    from brokertrial.ci.commands.explore import WantedBrokers
    from brokertrial.ci.commands.explore import explore as command

    sys.exit(command(WantedBrokers(**options)))


@cli.command()
@click.option("--example", is_flag=True, help="Print a commented broker.toml for `file:` targets.")
def targets(example: bool) -> None:
    """List what --target takes."""
    from brokertrial.ci.commands.targets import example_page, list_page

    click.echo(example_page() if example else list_page(), nl=False)


@cli.group()
def image() -> None:
    """Make images for `image:` targets."""


@image.command("build")
@click.option(
    "--kafka", metavar="VERSION", help="Of this release of Apache Kafka (4.0 or newer; needs Java, and Maven)."
)
@click.option("--reference", is_flag=True, help="Of the bundled broker.")
@click.option(
    "--name", default="", metavar="NAME:TAG", help="Its name, in place of brokertrial/kafka:VERSION or the like."
)
def image_build(kafka: str | None, reference: bool, name: str) -> None:
    """Make an image of programs of this machine: no registry, no base image."""
    from brokertrial.ci.commands.image import build as command

    if reference == bool(kafka):
        raise click.UsageError("either --kafka VERSION or --reference")
    sys.exit(command(kafka, name))


@cli.command()
@click.option("--target", metavar="TARGET", help="Start this target once and test its capabilities.")
@click.option(
    "--clean",
    metavar="[RUN]",
    shell_complete=a_run,
    is_flag=False,
    flag_value="",
    help="Remove leftovers of killed runs: temporary folders and, for RUN, faults, data, topics and groups.",
)
@TOXIPROXY
def doctor(target: str | None, clean: str | None, toxiproxy: str | None) -> None:
    """Show what this machine supports, and what is left out for each missing tool."""
    from brokertrial.ci.commands.doctor import doctor as command

    sys.exit(command(target, clean, toxiproxy))


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def broker(arguments: tuple[str, ...]) -> None:
    """Run the bundled broker (`broker node --data DIR`, `broker --nodes 3`); `--mutants` lists its planted bugs."""
    from brokertrial.ci.child import become

    if arguments == ("--mutants",):
        from brokertrial.ci.commands.mutants import page

        click.echo(page())
    else:
        become("brokertrial.reference_impl", arguments)


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def proxy(arguments: tuple[str, ...]) -> None:
    """Run the Kafka-aware fault proxy by itself."""
    from brokertrial.ci.child import become

    become("brokertrial.faults.proxy", arguments)


for _command in cli.commands.values():
    _command.params.append(LOG_FILE)


def main(arguments: list[str] | None = None) -> None:
    """Runs a command; trouble is one sentence on the standard error and an exit status, never a traceback."""
    shells.register()
    try:
        cli.main(arguments, prog_name="brokertrial", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(ExitStatus.INTERRUPTED)
    except click.ClickException as error:
        where = (
            f" {error.ctx.info_name}" if isinstance(error, click.UsageError) and error.ctx and error.ctx.parent else ""
        )
        click.echo(f"brokertrial{where}: {error.format_message()}\n  `brokertrial{where} --help` says more.", err=True)
        sys.exit(ExitStatus.USAGE)
    except UserError as trouble:
        click.echo(f"brokertrial: {trouble}", err=True)
        sys.exit(trouble.status)
    except (BadCase, BadOptions, BrokenExtension) as trouble:
        click.echo(f"brokertrial: {trouble}", err=True)
        sys.exit(ExitStatus.USAGE)
    except TargetProblem as problem:
        click.echo(f"brokertrial: {problem}", err=True)
        sys.exit(problem.exit_status)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitStatus.PASSED)
    except Exception:  # noqa: BLE001  status 1 would accuse the broker of our own mistake
        traceback.print_exc()
        sys.exit(ExitStatus.INTERNAL)
