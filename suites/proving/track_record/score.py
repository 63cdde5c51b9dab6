"""Puts releases that have a known bug on trial, and the mended ones: which cases find it? Writes docs/track-record.md.

    python -P -m suites.proving.track_record.score                  # make track-record: what is not noted yet, the page
    python -P -m suites.proving.track_record.score newest-time      # these bugs alone; the page is of all that is noted
    python -P -m suites.proving.track_record.score --case admin/x   # these cases alone; others stay not noted
    python -P -m suites.proving.track_record.score --page           # runs nothing

On the release that has the bug all wire cases of the row's areas are run, on the mended one those that failed there.
Verdicts are kept as they fall (runs/track-record/) and hold for a case as it is written: said again, the command goes
on. Which failure shows which bug is said in found.toml, and checked. Exit status 1 when something there is not so."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.proving.notes import noted_run
from brokertrial.suites.proving.track_record.bugs import bugs
from brokertrial.suites.proving.track_record.kfake import target_of
from brokertrial.suites.proving.track_record.page import counted, page
from brokertrial.suites.proving.track_record.record import ReleaseRecord, findings, problems
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.targets.cache import cache_folder

NOTES = Path("runs", "track-record")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "track-record.md"
RUN_LIMIT_S = 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is not noted yet, writes the page; 0 when all that found.toml says is so."""
    options = _options(argv)
    record = ReleaseRecord(options.notes)
    chosen = [bug for bug in bugs() if not options.bugs or bug.id in options.bugs]
    if not options.page:
        for target in dict.fromkeys(bug.has for bug in chosen):
            areas = {area for bug in bugs() if bug.has == target for area in bug.areas}
            _run(record, target, _asked(areas, options.case))
        for bug in chosen:
            if bug.mended:
                _run(record, bug.mended, record.failed(bug.has, _asked(bug.areas, options.case)))
    found, missed = findings()
    before = counted(options.to.read_text(encoding="utf-8")) if options.to.exists() else {}
    options.to.write_text(page(bugs(), record, found, missed, before), encoding="utf-8")
    wrong = problems(bugs(), record, found, missed)
    print("\n".join(wrong) or f"{len(bugs())} bugs: what found.toml says is so ({options.to})")
    return 1 if wrong else 0


def _asked(areas: Iterable[str], ids: Sequence[str]) -> list[Case]:
    wanted = set(areas)
    return [case for case in own_cases() if case.kind == "wire" and case.area in wanted and (not ids or case.id in ids)]


def _run(record: ReleaseRecord, target: str, cases: Iterable[Case]) -> None:
    """One run of what is not noted there; its exit status says nothing here: a release may fail."""
    shelf = record.shelf(target)
    missing = shelf.missing(list(cases))
    if not missing:
        return
    shelf.forget_what_is_said_again()
    with Scratch("track-record") as folder:
        options = RunOptions(
            target_of(target, cache_folder() / "kfake"),
            select=tuple(case.id for case in missing),
            run_dir=str(Path(folder, "run")),
            require=(),
            unproven="fail",
            keep="failed",
        )
        said = noted_run(options, shelf.path.absolute(), RUN_LIMIT_S)
    verdicts = [str(note.verdict) for note in shelf.verdicts(missing).values()]
    if not verdicts:
        raise SystemExit(f"{target}: no verdict at all.\n{said}")
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
    print(f"{target}: {counted}", flush=True)
    for note in shelf.verdicts(missing).values():
        if note.verdict == Verdict.FAIL:
            print(f"  {note.case}: {note.sentence}", flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -P -m suites.proving.track_record.score", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="ids of bugs.toml; default: all")
    parser.add_argument("--case", action="append", default=[], metavar="AREA/NAME", help="this case alone; repeatable")
    parser.add_argument("--page", action="store_true", help="write the page from what is noted")
    parser.add_argument("--notes", type=Path, default=NOTES, help="where verdicts are kept as they fall")
    parser.add_argument("--to", type=Path, default=PAGE, help="the page")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
