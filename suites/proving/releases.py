"""Runs every case on Apache Kafka's releases, and writes which do not pass where, and why.

    python -P -m suites.proving.releases                      # make releases: what is not noted yet, then the page
    python -P -m suites.proving.releases 3.6.2 4.0.1          # only these releases; the page is of all that is noted
    python -P -m suites.proving.releases --wire               # without the trials, which take ten times as long
    python -P -m suites.proving.releases 4.4.0 --select 'offsets/*'
    python -P -m suites.proving.releases --page               # runs nothing

One node each. Verdicts are kept as they fall (runs/kafka-releases/VERSION.jsonl) and hold for a case as it is
written: said again, the command runs what is new, changed or was inconclusive. Writes docs/apache-kafka-releases.md.
Exit status 1 when a failure is explained by nothing in suites/proving/release_defects.toml, or an entry there explains
none though its case was run on a release that it names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.proving.notes import noted_run
from brokertrial.suites.proving.release_notes import ReleaseNotes, defects, findings
from brokertrial.suites.proving.release_page import page, problems
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.selection import select
from brokertrial.suites.since import number

RELEASES = (
    *("3.3.1", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.0", "3.7.2", "3.8.0", "3.8.1", "3.9.0", "3.9.2"),
    *("4.0.0", "4.0.1", "4.1.0", "4.1.2", "4.2.0", "4.2.2", "4.3.1", "4.4.0"),
)
"""The newest patch of each, and earlier ones where a patch mended what a broker promises."""
NOTES = Path("runs", "kafka-releases")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "apache-kafka-releases.md"
RUN_LIMIT_S = 4 * 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is not noted yet, writes the page; 0 when every failure is explained."""
    options = _options(argv)
    chosen, _ = select(own_cases(), options.select, (), "full")
    for release in [] if options.page else options.releases or RELEASES:
        shelf = ReleaseNotes(release, options.notes / f"{release}.jsonl")
        for kind in ("wire",) if options.wire else ("wire", "trial"):
            _run(shelf, shelf.missing([case for case in chosen if case.kind == kind]))
    files = sorted(options.notes.glob("*.jsonl"), key=lambda path: number(path.stem))
    shelves = [ReleaseNotes(path.stem, path) for path in files]
    cases, known = own_cases(), defects()
    options.to.write_text(page(shelves, cases, known, findings()), encoding="utf-8")
    found = problems(shelves, cases, known)
    print("\n".join(found) or f"{len(shelves)} releases: every failure is explained ({options.to})")
    return 1 if found else 0


def _run(shelf: ReleaseNotes, cases: Sequence[Case]) -> None:
    """One run; its exit status says nothing here: a release may fail."""
    if not cases:
        return
    shelf.forget_what_is_said_again()
    before = len(shelf.path.read_bytes())
    with Scratch("releases") as folder:
        options = RunOptions(
            f"kafka:{shelf.release}",
            select=tuple(case.id for case in cases),
            run_dir=str(Path(folder, "run")),
            unproven="fail",
            keep="failed",
            jobs=1,
        )
        said = noted_run(options, shelf.path.absolute(), RUN_LIMIT_S)
    if len(shelf.path.read_bytes()) == before:
        raise SystemExit(f"kafka:{shelf.release}: no verdict at all.\n{said}")
    verdicts = [str(note.verdict) for note in shelf.verdicts(cases).values()]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
    print(f"kafka:{shelf.release}: {counted}", flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -P -m suites.proving.releases", description=__doc__.split("\n", 1)[0])
    parser.add_argument("releases", nargs="*", metavar="VERSION", help=f"of: {', '.join(RELEASES)}")
    parser.add_argument("--wire", action="store_true", help="wire cases alone")
    parser.add_argument("--select", action="append", default=[], metavar="AREA/NAME", help="only these cases")
    parser.add_argument("--page", action="store_true", help="write the page from what is noted")
    parser.add_argument("--notes", type=Path, default=NOTES, help="where verdicts are kept as they fall")
    parser.add_argument("--to", type=Path, default=PAGE, help="the page")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
