"""Results that no case has: a claim that is broken, an area that is required and not offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from checkers.verdict import Verdict
from histories.clock import now_ns
from suites.floor import AREAS, below, required, statement
from suites.offer import Offer, broken_claims
from suites.outcome import failed
from suites.result import CaseResult
from suites.targets import FEATURES

NAMES_BEGIN = CLAIMS, REQUIRES = "claims/", "requires/"


def names() -> list[str]:
    """Every name of such a result."""
    return [*(CLAIMS + feature for feature in FEATURES), *(REQUIRES + area for area in AREAS)]


def broken_promises(claims: Mapping[str, bool], require: Sequence[str], offer: Offer) -> list[CaseResult]:
    """A failed `claims/<feature>` for each claimed feature that is not offered, and `requires/<area>` likewise."""
    found = [
        broken(CLAIMS + feature, f"The target claims {feature}, so it MUST offer it.", "claim", sentence)
        for feature, sentence in broken_claims(claims, offer).items()
    ]
    lacking = below(required(require, offer, claims), offer)
    return found + [
        broken(REQUIRES + area, statement(area), "requires", sentence) for area, sentence in lacking.items()
    ]


def broken(name: str, statement: str, kind: str, sentence: str) -> CaseResult:
    """The failure of one promise."""
    outcome = failed(kind, sentence)
    return CaseResult(
        case=name,
        statement=statement,
        guarantees=(),
        level="must",
        verdict=Verdict.FAIL,
        reason=outcome.reason,
        started_ns=now_ns(),
        failures=outcome.failures,
    )
