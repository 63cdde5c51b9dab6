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
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent))

from broker_copy import BROKER, ROOT, broker_copy, looked_at, wire_cases

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
    cases = wire_cases()
    scores: list[Scored] = []
    for file, operator, line, text in drawn(options.sample, Random(options.seed)):
        with broker_copy() as copy:
            (copy / file).write_text(text, encoding="utf-8")
            found = looked_at(cases, ("sample",), seed=options.seed, jobs=options.jobs)
        scores.append(Scored(str(file), operator, line, found.kill, found.by[:6]))
        with options.table.open("ab") as table:
            table.write(msgspec.json.encode(scores[-1]) + b"\n")
        print(f"{found.kill:<9} {scores[-1].file}: {line.strip()[:90]}  {', '.join(found.by[:3])}", flush=True)
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
    files = sorted(path for folder in FOLDERS for path in (ROOT / BROKER / folder).rglob("*.py"))
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
            yield file.relative_to(ROOT), name.partition("/")[2], changed[0], mutated


if __name__ == "__main__":
    main()
