"""How many generated bugs of the bundled broker the suite shows: by cases as they are written, and by pairs alone.

    pip install cosmic-ray
    python -m bench.generated_mutants --sample 20 --seed 1 [--table generated.jsonl]

Mutants are made by Cosmic Ray's operators (comparisons, numbers, negation, and/or, loops that are not run) in the
modules of reference_impl that decide what a client sees, drawn by the seed. Each is a broker of its own; the wire cases
are put to it plain and in a sample of situations. A kill is a `must` that failed, or a warning of a pair that is not
proven; brokers that die or that fail over 5 % of the cases are counted apart. What nobody kills may be no bug that a
client could see: these lines are to be read by a person.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import own_cases
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.estimates import healthy_s
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run
from brokertrial.suites.targets import TargetProblem

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "brokertrial"
FOLDERS = ("api", "group", "txn", "log", "replica", "coordinator")
OPERATORS = (
    "ReplaceComparisonOperator_",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "NumberReplacer",
    "ZeroIterationForLoop",
    "ReplaceBreakWithContinue",
)
PLANTED = "bugs.on("
BROAD = 0.05
LONGEST_S = 5.0
STARTS = "import sys; sys.path.insert(0, sys.argv.pop(1)); from brokertrial.reference_impl.__main__ import main; main()"


class Scored(msgspec.Struct):
    """One mutant and what came of it."""

    file: str
    operator: str
    line: str
    kill: str
    """`plain`, `pair`, `broad`, `dead` or `survived`."""
    killed_by: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--table", type=Path, default=Path("generated-mutants.jsonl"))
    options = parser.parse_args()
    cases = [one.id for one in own_cases() if one.kind == "wire" and healthy_s(one, "full") <= LONGEST_S]
    scores: list[Scored] = []
    for file, operator, line, text in drawn(options.sample, Random(options.seed)):
        with Scratch("mutant") as scratch:
            kill, killers = score(broker(Path(scratch), file, text), Path(scratch), cases, options.jobs, options.seed)
        scores.append(Scored(str(file.relative_to(PACKAGE)), operator, line, kill, killers[:6]))
        with options.table.open("ab") as table:
            table.write(msgspec.json.encode(scores[-1]) + b"\n")
        print(f"{kill:<9} {scores[-1].file}: {line.strip()[:90]}  {', '.join(killers[:3])}", flush=True)
    for kill in ("plain", "pair", "broad", "dead", "survived"):
        print(f"{kill:<9} {sum(one.kill == kill for one in scores)} of {len(scores)}")


def drawn(count: int, rng: Random) -> Iterator[tuple[Path, str, str, str]]:
    """So many mutants: the file, the operator, the line that differs, and the new text."""
    try:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator, operator_names
    except ImportError:
        sys.exit("Cosmic Ray makes the mutants: pip install cosmic-ray")
    names = [name for name in operator_names() if name.partition("/")[2].startswith(OPERATORS)]
    files = sorted(path for folder in FOLDERS for path in (PACKAGE / "reference_impl" / folder).rglob("*.py"))
    found = 0
    while found < count:
        file, name = rng.choice(files), rng.choice(names)
        text = file.read_text(encoding="utf-8")
        mutated = mutate_code(text, get_operator(name)(), rng.randrange(12))
        if mutated is None or mutated == text:
            continue
        changed = [new for old, new in zip(text.splitlines(), mutated.splitlines(), strict=False) if old != new]
        if changed and PLANTED not in changed[0]:
            found += 1
            yield file, name.partition("/")[2], changed[0], mutated


def broker(folder: Path, file: Path, text: str) -> str:
    """A `file:` target of the mutated broker."""
    copy = folder / "package" / "brokertrial"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "suites", "ci", "spark_analysis"))
    (copy / file.relative_to(PACKAGE)).write_text(text, encoding="utf-8")
    start = [sys.executable, "-P", "-c", STARTS, str(folder / "package"), "node", "--data={data}", "--port={port}"]
    path = folder / "broker.toml"
    path.write_text(f"start = {start!r}\nready = {{ within_s = 30 }}\n", encoding="utf-8")
    return f"file:{path}"


def score(target: str, folder: Path, cases: list[str], jobs: int, seed: int) -> tuple[str, list[str]]:
    """How it was killed, and by which cases and pairs."""
    options = RunOptions(
        target,
        select=tuple(cases),
        situations=("sample",),
        seed=seed,
        run_dir=str(folder / "run"),
        jobs=jobs,
        require=(),
        keep="failed",
    )
    try:
        results = run(options).results
    except TargetProblem:
        return "dead", []
    return judged(results)


def judged(results: tuple[CaseResult, ...]) -> tuple[str, list[str]]:
    """Broad before plain before pair: what fails everywhere says little of a suite."""
    failed = [result for result in results if result.verdict is Verdict.FAIL]
    plain = [result.case for result in failed if "@" not in result.case]
    pairs = [result.case for result in failed if "@" in result.case]
    tried = sum("@" not in result.case for result in results)
    if not tried or any(result.reason and result.reason.kind in ("died", "sick") for result in failed):
        return "dead", plain
    if len(plain) > BROAD * tried:
        return "broad", plain
    return ("plain", plain) if plain else ("pair", pairs) if pairs else ("survived", [])


if __name__ == "__main__":
    main()
