"""Which of a folder of bugs the suite shows: each is a patch of the bundled broker.

    python bench/patched_brokers.py PATCHES [--stage plain --stage sample --stage deep] [--only 02 ...]
        [--target 02=reference:3 ...] [--table patched.jsonl]

Each NN.patch is put on a copy of reference_impl (`git apply`, else as far as its lines are found near where they were),
and the wire cases on that broker: as they are written, then in the sample of situations, then in all that are proven.
They are put to it in one process first, on virtual time (in_process.py); what accuses there is run as a user would run
it, and counts when it accuses there too. Only where nothing does, all are run (with `--quick` none: it has survived). A
patch that was found is not tried again, and what the table holds is not run again. The first row is the broker without
a patch, which must fail nothing. Exit status 1 where it does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[1]))

from bench.broker_copy import Found, broker_copy, looked_at, wire_cases
from bench.in_process import accused, entries

IN_PROCESS = {"reference": 1, "reference:3": 3}
"""Targets that there are in one process too, and their nodes."""
STAGES = {"plain": (), "sample": ("sample",), "deep": ("deep",)}
CONTROL = "unpatched"
FOUND = ("plain", "pair")
ENOUGH = 4
"""So many accusations in one process are tried as a run."""


class Row(msgspec.Struct):
    """One patch in one stage."""

    patch: str
    stage: str
    target: str
    found: Found


def main() -> int:
    options = _options()
    rows = _read(options.table)
    places = dict(one.split("=", 1) for one in options.target)
    patches = [CONTROL, *(path.stem for path in sorted(options.patches.glob("*.patch")))]
    for stage in options.stage or STAGES:
        for patch in patches:
            over = any(row.patch == patch and (row.stage == stage or row.found.kill != "survived") for row in rows)
            if over or (options.only and patch not in options.only):
                continue
            row = _scored(options, patch, stage, places.get(patch, "reference"))
            rows.append(row)
            with options.table.open("ab") as table:
                table.write(msgspec.json.encode(row) + b"\n")
            print(_line(row), flush=True)
    print("\n".join(_table(rows, patches)))
    return int(any(row.patch == CONTROL and row.found.kill != "survived" for row in rows))


def _scored(options: argparse.Namespace, patch: str, stage: str, target: str) -> Row:
    with broker_copy() as copy:
        if patch != CONTROL and (refusal := _put_on(copy, options.patches / f"{patch}.patch")):
            return Row(patch, stage, target, Found("refused", [], refusal))
        return Row(patch, stage, target, _found(options, patch, STAGES[stage], target))


def _found(options: argparse.Namespace, patch: str, situations: tuple[str, ...], target: str) -> Found:
    run = partial(looked_at, target=target, seed=options.seed, jobs=options.jobs)
    nodes = IN_PROCESS.get(target, 0)
    if nodes and patch != CONTROL:
        suspects = accused(entries(situations, options.seed, nodes), ENOUGH, nodes)
        if suspects:
            found = run([one.entry for one in suspects], of=len(wire_cases()))
            if found.kill != "survived":
                return found
        if options.quick:
            return Found("survived", [], "; ".join(f"in one process {one.entry}: {one.sentence}" for one in suspects))
    return run(wire_cases(), situations)


def _put_on(copy: Path, patch: Path) -> str:
    """Why the patch does not fit; empty where it is in the copy."""
    said = ""
    for words in (["git", "apply"], ["patch", "--strip=1", "--fuzz=3", "--silent", "--input"]):
        done = subprocess.run([*words, str(patch.resolve())], cwd=copy, capture_output=True, text=True)
        if not done.returncode:
            return ""
        said = (done.stderr or done.stdout).strip()
    return said


def _line(row: Row) -> str:
    by = ", ".join(row.found.by[:3]) + (f" and {len(row.found.by) - 3} more" if len(row.found.by) > 3 else "")
    return f"{row.patch:<10} {row.stage:<7} {row.found.kill:<9} {by}  {row.found.sentence[:160]}"


def _table(rows: list[Row], patches: list[str]) -> Iterator[str]:
    """How many were found, at which stage, and what was not."""
    last = {row.patch: row for row in rows if row.patch in patches and row.patch != CONTROL}
    for kill in (*FOUND, "broad", "dead", "refused", "survived"):
        names = [name for name, row in last.items() if row.found.kill == kill]
        yield f"{kill:<9} {len(names):>3} of {len(last)}  {' '.join(names)}"


def _read(table: Path) -> list[Row]:
    if not table.exists():
        return []
    return [msgspec.json.decode(line, type=Row) for line in table.read_bytes().splitlines()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patches", type=Path)
    parser.add_argument("--stage", action="append", choices=STAGES, default=[])
    parser.add_argument("--only", action="append", default=[], metavar="PATCH")
    parser.add_argument("--target", action="append", default=[], metavar="PATCH=TARGET")
    parser.add_argument("--table", type=Path, default=Path("patched.jsonl"))
    parser.add_argument("--quick", action="store_true", help="what no case accuses in one process has survived")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
