"""`brokertrial broker --mutants`: every planted bug of the bundled broker, and what shows it."""

from __future__ import annotations

from brokertrial.suites.proving import proof_record
from brokertrial.suites.proving.mutants import Mutant, catchers, mutants

INDENT = " " * 8


def page() -> str:
    """A paragraph a bug: id and story, the guarantee that it violates, where it was seen, the cases that catch it."""
    seen_to_fail = proof_record.record()
    blocks = []
    for mutant in mutants().values():
        names = {case.id for _, case in catchers(mutant.id)}
        names |= {name for name, entry in seen_to_fail.cases.items() if mutant.id in entry.fails_with}
        blocks.append("\n".join(_block(mutant, sorted(names))))
    how = "Plant one with `--target 'reference?mutant=ID'`, or `ID:every=K` to spoil each K-th occasion only."
    return "\n".join([*blocks, "", f"{len(blocks)} planted bugs. {how}"])


def _block(mutant: Mutant, names: list[str]) -> list[str]:
    every = f" (each {mutant.every}th occasion)" if mutant.every > 1 else ""
    lines = [f"{mutant.id:<8}{mutant.story.rstrip('.')}{every}", f"{INDENT}violates {mutant.guarantee}"]
    if mutant.seen:
        lines.append(f"{INDENT}seen in {mutant.seen}")
    lines.append(f"{INDENT}caught by {', '.join(names) or 'no case: proven in tests/reference_impl'}")
    return lines
