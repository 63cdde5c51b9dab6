"""What is new, one line a cause, for the end of the console: what was broken, and how to see it."""

from __future__ import annotations

from collections.abc import Iterator

from brokertrial.ci.gate.findings import findings
from brokertrial.ci.gate.gated import Gated

MOST = 5
LONGEST = 160


def lines(gated: Gated) -> Iterator[str]:
    """The causes of new failures, the most harmful first, and the command that explains the first."""
    new = [one for one in findings(gated.decision, gated.state.known, gated.policy) if one.kind == "new"]
    first_of_cause = {one.cause: one for one in reversed(new)}
    shown = [one for one in new if first_of_cause[one.cause] is one][:MOST]
    for one in shown:
        yield f"{one.case}: {shortened(one.sentence)}"
    if len(first_of_cause) > MOST:
        yield f"and {len(first_of_cause) - MOST} more causes"
    if shown:
        result = next(each for each in gated.runs.results if each.case == shown[0].case)
        yield f"brokertrial explain {gated.state.place_of(result)}/{result.case}"


def shortened(sentence: str, longest: int = LONGEST) -> str:
    """One line of a sentence."""
    plain = " ".join(sentence.split())
    return plain if len(plain) <= longest else f"{plain[:longest]} ..."
