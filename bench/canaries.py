"""Chooses the canaries of `brokertrial analyze`: random small histories in which, together, all checks find something.

python -m bench.canaries        writes spark_analysis/canaries.json; to be run again when a check is added
"""

from typing import Any

import msgspec

from brokertrial.checkers.check import all_checks
from brokertrial.histories.rows import TABLES
from brokertrial.spark_analysis.canaries import FILE, Canary, StoredCanary, judged
from tests.checkers.random_histories import random_history

SEEDS = 800


def stored(seed: int) -> StoredCanary:
    """One random history; fields that are null or usual are left out."""
    header, rows = random_history(seed)
    names = {kind: name for name, kind in TABLES.items()}
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        given = {name: value for name, value in msgspec.to_builtins(row).items() if value is not None}
        tables.setdefault(names[type(row)], []).append(given)
    return StoredCanary(header=header, tables=tables)


def main() -> None:
    """Takes, again and again, the history in which most of the checks left find something."""
    found = [stored(seed) for seed in range(SEEDS)]
    names = [name for name, check in all_checks().items() if check.default]
    by_check = judged([Canary(each) for each in found], names)
    held = {name for name in names if any(each.totals for each in by_check[name])}
    by_seed = [
        {name for name in names if by_check[name][seed].totals or (name not in held and by_check[name][seed].permitted)}
        for seed in range(SEEDS)
    ]
    left, chosen = set.union(*by_seed), []
    print("found, but held against nobody:", ", ".join(sorted(left - held)) or "none")
    print("nothing is planted for:", ", ".join(sorted(set(names) - left)) or "none")
    while left:
        best = max(range(SEEDS), key=lambda seed: len(by_seed[seed] & left))
        chosen.append(best)
        left -= by_seed[best]
    FILE.write_bytes(msgspec.json.encode([found[seed] for seed in chosen]) + b"\n")
    print(f"{len(chosen)} histories, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
