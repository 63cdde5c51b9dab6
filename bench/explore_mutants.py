"""Which planted bugs of the bundled broker `explore` finds by itself, how soon, and in how many requests.

    python bench/explore_mutants.py [--minutes 2] [--only P53,M09] [--seed 1] [--out FILE]

Each planted bug, on one node, is explored against the healthy broker until the first difference, at most so long. A
line each: found or not, seconds until it was met, requests after shrinking, cause. Bugs that only a cluster, a crash of
several nodes or a clock of minutes can show are listed too: they count as missed.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from brokertrial.suites.explore.brokers import Brokers
from brokertrial.suites.explore.explorer import Exploration, Explorer
from brokertrial.suites.explore.finding import ShrunkDifference
from brokertrial.suites.proving.mutants import mutants


def main() -> int:
    """Explores each bug in turn and prints what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(mutants())
    found: list[ShrunkDifference] = []
    lines: list[str] = []
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="brokertrial-explore-") as scratch:
            line, finding = explored(f"reference?mutant={name}", name, options, Path(scratch))
        if finding is not None:
            found.append(finding)
        lines.append(line)
        print(line, flush=True)
        if options.out:
            options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    lengths = [len(finding.story) for finding in found] or [0]
    seconds = [finding.found_after_s for finding in found] or [0]
    print(f"{len(found)} of {len(chosen)} found, median {statistics.median(lengths)} requests, "
          f"{statistics.median(seconds):.0f} s")  # fmt: skip
    return 0


def explored(target: str, name: str, options: argparse.Namespace, scratch: Path) -> tuple[str, ShrunkDifference | None]:
    """A line on what came of it, and the first difference."""
    plan = Exploration(target, "reference", options.minutes, options.seed, frozenset(), options.jobs, (), 1, False)
    try:
        with (
            Brokers(plan.oracle, plan.target, scratch / "brokers") as brokers,
            Brokers(plan.oracle, plan.target, scratch / "alone", restarts=True) as alone,
        ):
            explorer = Explorer(plan, brokers, scratch / "examples", lambda line: None, alone)
            explorer.run()
    except Exception as error:  # noqa: BLE001  one bug that cannot be explored is a line like the others
        return f"{name:<7} broken: {type(error).__name__}: {error}", None
    finding = next(iter(explorer.findings.values()), None)
    if finding is None:
        return f"{name:<7} missed after {explorer.progress.sequences} sequences: {mutants()[name].story}", None
    told = f"{name:<7} found {finding.found_after_s:>5.0f} s, {len(finding.story):>2} requests"
    return f"{told} (of {finding.found_length}): {finding.cause} [{finding.guarantee}]", finding


if __name__ == "__main__":
    sys.exit(main())
