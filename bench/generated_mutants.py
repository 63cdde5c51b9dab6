"""How many generated bugs of the bundled broker the wire cases show.

    pip install cosmic-ray
    python bench/generated_mutants.py --sample 100 --seed 1 [--table generated.jsonl] [--confirm] [--nodes 3]

A mutant is one line of reference_impl that is otherwise (mutation_operators.py), in a module that decides what a client
sees; kind and place are drawn by the seed. Each is a broker of its own, and all wire cases that one node is enough for
are put to it in one process, on virtual time (in_process.py): half a minute for one that survives. With `--nodes 3` the
modules are those that matter where there are several nodes, and the cases those that need several: three minutes. With
`--confirm` what accuses there counts only if a run with real processes accuses too. Brokers that die, or that fail over
5 % of the cases, are counted apart. What survives may be no bug that a client could see: these lines are to be read by
a person. A table that holds mutants already is gone on with.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Protocol

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[1]))

from bench.broker_copy import BROAD, BROKER, ROOT, broker_copy, looked_at, wire_cases
from bench.in_process import Said, accused, entries
from brokertrial.suites.case import own_cases
from brokertrial.suites.proving.mutants import CLUSTER_NEEDS

FOLDERS = {
    1: ("api", "group", "txn", "log", "replica", "coordinator", "settings"),
    3: ("replica", "control", "coordinator", "txn", "broker"),
}
"""By the number of nodes."""
SEVERAL_NODES = ("following.py", "fetcher.py", "peers.py", "powercut.py", "spoil.py", "synced.py")
"""What runs only where there are other nodes, or where power is cut."""
PLANTED = "bugs.on("
NO_BEHAVIOUR = ("log.debug", "log.info", "log.warning", "log.exception", "from ", "import ", "Setting(", "@", '"""')
KILLS = ("killed", "broad", "dead", "survived")


class Operator(Protocol):
    """What Cosmic Ray, which need not be there, calls by this name."""

    def mutation_positions(self, node: object) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]: ...


class Scored(msgspec.Struct):
    """One mutant and what came of it."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    kill: str
    by: list[str]
    sentence: str = ""


def main() -> None:
    options = _options()
    table: Path = options.table
    scores = (
        [msgspec.json.decode(row, type=Scored) for row in table.read_bytes().splitlines()] if table.exists() else []
    )
    known = {(one.file, one.line, one.after) for one in scores}
    for one, text in drawn(options.sample, Random(options.seed), options.nodes):
        if (one.file, one.line, one.after) in known:
            continue
        with broker_copy() as copy:
            (copy / one.file).write_text(text, encoding="utf-8")
            _score(one, options)
        scores.append(one)
        with table.open("ab") as rows:
            rows.write(msgspec.json.encode(one) + b"\n")
        print(
            f"{one.kill:<9} {one.file}:{one.line} {one.kind}: {one.after.strip()[:90]}  {', '.join(one.by[:2])}",
            flush=True,
        )
    for row in _summary(scores):
        print(row)


def _score(one: Scored, options: argparse.Namespace) -> None:
    chosen = entries(seed=options.seed, nodes=options.nodes)
    if options.nodes > 1:
        for_clusters = {case.id for case in own_cases() if CLUSTER_NEEDS.intersection(case.needs)}
        chosen = [name for name in chosen if name in for_clusters]
    most = int(BROAD * len(wire_cases()))
    accusing = accused(chosen, 1 if options.first else most + 1, options.nodes)
    one.by, one.sentence = [said.entry for said in accusing][:6], accusing[0].sentence if accusing else ""
    one.kill = "broad" if len(accusing) > most else "dead" if _dies(accusing) else "killed" if accusing else "survived"
    if one.kill == "killed" and options.confirm:
        target = "reference" if options.nodes == 1 else f"reference:{options.nodes}"
        found = looked_at(one.by[:4], target=target, seed=options.seed, jobs=options.jobs, of=len(wire_cases()))
        one.kill = "killed" if found.kill == "plain" else found.kill


def _dies(accusing: list[Said]) -> bool:
    return bool(accusing) and all("did not come back" in said.sentence for said in accusing)


def drawn(count: int, rng: Random, nodes: int) -> Iterator[tuple[Scored, str]]:
    """So many mutants, none twice, each with the whole text of its file."""
    places = {kind: list(found) for kind, found in _places(nodes).items()}
    for found in places.values():
        rng.shuffle(found)
    for _ in range(count):
        kind = rng.choice([kind for kind, found in places.items() if found])
        path, operator, nth = places[kind].pop()
        yield _mutant(path, kind, operator, nth)


def _places(nodes: int) -> dict[str, Iterator[tuple[Path, Operator, int]]]:
    try:
        from bench.mutation_operators import kinds
    except ImportError:
        sys.exit("Cosmic Ray makes the mutants: pip install cosmic-ray")
    files = sorted(path for folder in FOLDERS[nodes] for path in (ROOT / BROKER / folder).rglob("*.py"))
    chosen = [path for path in files if nodes > 1 or path.name not in SEVERAL_NODES]
    texts = {path: path.read_text(encoding="utf-8") for path in chosen}
    return {kind: _of_kind(texts, operators) for kind, operators in kinds().items()}


def _of_kind(texts: dict[Path, str], operators: list[Operator]) -> Iterator[tuple[Path, Operator, int]]:
    from parso import parse

    for path, text in texts.items():
        passed_over = _passed_over(text)
        tree = parse(text)
        for operator in operators:
            nth = -1
            for node in _nodes(tree):
                for start, _ in operator.mutation_positions(node):
                    nth += 1
                    if start[0] not in passed_over:
                        yield path, operator, nth


def _nodes(node: object) -> Iterator[object]:
    """As Cosmic Ray walks: a node, then what is below it."""
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


def _passed_over(text: str) -> set[int]:
    """Lines that are no behaviour, and those of planted bugs."""
    lines = text.splitlines()
    found = {nth for nth, line in enumerate(lines, 1) if PLANTED in line or line.strip().startswith(NO_BEHAVIOUR)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and PLANTED in ast.unparse(node.test):
            found.update(nth for each in node.body for nth in range(each.lineno, (each.end_lineno or each.lineno) + 1))
        elif isinstance(node, ast.IfExp) and PLANTED in ast.unparse(node.test):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _mutant(path: Path, kind: str, operator: Operator, nth: int) -> tuple[Scored, str]:
    from cosmic_ray.mutating import mutate_code

    text = path.read_text(encoding="utf-8")
    mutated = mutate_code(text, operator, nth)
    assert mutated is not None and mutated != text, (path, kind, nth)
    pairs = enumerate(zip(text.splitlines(), mutated.splitlines(), strict=False), 1)
    line, before, after = next((number, old, new) for number, (old, new) in pairs if old != new)
    return Scored(str(path.relative_to(ROOT)), line, kind, before, after, "", []), mutated


def _summary(scores: list[Scored]) -> Iterator[str]:
    for kill in KILLS:
        yield f"{kill:<9} {sum(one.kill == kill for one in scores):>4} of {len(scores)}"
    for kind in sorted({one.kind for one in scores}):
        of_kind = [one for one in scores if one.kind == kind]
        yield f"{kind:<18} survived {sum(one.kill == 'survived' for one in of_kind)} of {len(of_kind)}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=1, choices=sorted(FOLDERS))
    parser.add_argument(
        "--first", action="store_true", help="the first case that fails ends it: none is counted as broad"
    )
    parser.add_argument("--confirm", action="store_true", help="a kill counts when a run with real processes fails too")
    parser.add_argument("--table", type=Path, default=Path("generated-mutants.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
