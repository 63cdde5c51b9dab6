"""Results that no case has: a claim that is broken, an area that is required and not offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.clock import now_ns
from brokertrial.suites.outcome import failed
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running import features
from brokertrial.suites.running.features import of_case
from brokertrial.suites.running.requirements import AREAS, missing_apis, required, statement
from brokertrial.suites.running.support import TargetSupport, broken_claims, is_chosen
from brokertrial.suites.targets import FEATURES

#: Reasons of the not applicable that are the broker's doing.
THE_BROKERS = ("not-offered", "unsupported", "too-slow-here", "refused-by-settings", "cluster-setting")
#: Features that their cases alone can show.
NO_API_SHOWS = tuple(name for name, feature in features.FEATURES.items() if not feature.apis)
IDLE = frozenset(case for feature in features.FEATURES.values() for case in feature.idle)
NAMES_BEGIN = CLAIMS, REQUIRES = "claims/", "requires/"


class Promise(NamedTuple):
    """What a target claims, or is required to offer: the subject of a result that no case has."""

    id: str
    statement: str
    guarantees: tuple[str, ...] = ()
    level: str = "must"


def names() -> list[str]:
    """Every name of such a result."""
    return [*(CLAIMS + feature for feature in FEATURES), *(REQUIRES + area for area in AREAS)]


def broken_promises(claims: Mapping[str, bool], require: Sequence[str], offer: TargetSupport) -> list[CaseResult]:
    """A failed `claims/<feature>` for each claimed feature that is not offered, and `requires/<area>` likewise."""
    found = [
        broken(CLAIMS + feature, f"The target claims {feature}, so it MUST offer it.", "claim", sentence)
        for feature, sentence in broken_claims(claims, offer).items()
    ]
    lacking = missing_apis(required(require, offer, claims), offer)
    return found + [
        broken(REQUIRES + area, statement(area), "requires", sentence) for area, sentence in lacking.items()
    ]


def unkept_promises(
    claimed: Collection[str],
    required: Collection[str],
    results: Sequence[CaseResult],
    chosen: Collection[str],
) -> list[CaseResult]:
    """A failed promise for each feature that no API shows, where the broker let none of its cases be decided.

    What the target cannot do, what was disclaimed, and
    what settings of the user's own choice keep from a case speak against nobody.
    """
    told = {result.case for result in results}
    found = []
    for feature in NO_API_SHOWS:
        mine = [r for r in results if feature in of_case(r.case, ()) and r.case not in IDLE and _counts(r, chosen)]
        if not mine or any(result.verdict is not Verdict.NOT_APPLICABLE for result in mine):
            continue
        (kind, why), _ = Counter((r.reason.kind, r.reason.sentence) for r in mine if r.reason).most_common(1)[0]
        sentence = f"none of its {len(mine)} cases could be decided: {kind}: {why}"
        if feature in claimed and CLAIMS + feature not in told:
            said = f"The target claims {feature}, so it MUST offer it."
            found.append(broken(CLAIMS + feature, said, "claim", f"claimed, and {sentence}"))
        if feature in required and REQUIRES + feature not in told:
            found.append(broken(REQUIRES + feature, statement(feature), "requires", f"required, and {sentence}"))
    return found


def _counts(result: CaseResult, chosen: Collection[str]) -> bool:
    """Whether a result says something of the broker."""
    if result.verdict is not Verdict.NOT_APPLICABLE:
        return True
    return (
        result.reason is not None
        and result.reason.kind in THE_BROKERS
        and not is_chosen(result.reason.sentence, chosen)
    )


def broken(name: str, statement: str, kind: str, sentence: str) -> CaseResult:
    """The failure of one promise."""
    return CaseResult.of(Promise(name, statement), failed(kind, sentence), started_ns=now_ns())
