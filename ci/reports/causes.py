"""Failures grouped by cause, the most harmful first: report.html, summary.md and the console all go through these.

    Duplicated records
      8 cases: duplicate: a value that was sent once lies in the log twice
    No usable response
     26 cases: DescribeConfigs: no response, or the connection was closed

Failures have one cause if one check found them, or if the same API did the same: no response, an unreadable response,
the same error in the same field. A case that fails in several ways stands under its most harmful cause; the others
list it as `also`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.suites.outcome import derived
from brokertrial.suites.result import CaseResult, Failure


class HarmKind(IntEnum):
    """What a failure does to the users of a broker, the worst first."""

    LOSS = 1
    DUPLICATION = 2
    DISORDER = 3
    ISOLATION = 4
    UNAVAILABLE = 5
    INCONSISTENT = 6
    UNUSABLE = 7
    WRONG = 8
    MISSING = 9

    @property
    def title(self) -> str:
        """The heading of its causes."""
        return TITLES[self]


TITLES = {
    HarmKind.LOSS: "Lost or altered records",
    HarmKind.DUPLICATION: "Duplicated records",
    HarmKind.DISORDER: "Reordered records",
    HarmKind.ISOLATION: "Transaction isolation",
    HarmKind.UNAVAILABLE: "Crashes and unavailability",
    HarmKind.INCONSISTENT: "Inconsistent reads, offsets and group assignments",
    HarmKind.UNUSABLE: "No usable response",
    HarmKind.WRONG: "Wrong responses",
    HarmKind.MISSING: "Missing features",
}
BY_NAME = {
    "altered": HarmKind.LOSS,
    "lost-write": HarmKind.LOSS,
    "lost-copy": HarmKind.LOSS,
    "doubled-copy": HarmKind.DUPLICATION,
    "duplicate": HarmKind.DUPLICATION,
    "dedup-ack": HarmKind.DUPLICATION,
    "sequence-repeat": HarmKind.DISORDER,
    "sequence-gap": HarmKind.DISORDER,
    "zombie-append": HarmKind.DISORDER,
    "moved-record": HarmKind.DISORDER,
    "nonmonotonic-send": HarmKind.DISORDER,
    "reordered": HarmKind.DISORDER,
    "aborted-read": HarmKind.ISOLATION,
    "no-progress-after-heal": HarmKind.UNAVAILABLE,
    "no-progress": HarmKind.UNAVAILABLE,
    "orphan-partition": HarmKind.UNAVAILABLE,
    "hanging-transaction": HarmKind.UNAVAILABLE,
}
"""Where neither the guarantee of an anomaly nor its strength says how bad it is."""
BY_KIND = {
    "died": HarmKind.UNAVAILABLE,
    "sick": HarmKind.UNAVAILABLE,
    "requires": HarmKind.MISSING,
    "claim": HarmKind.MISSING,
    "no-answer": HarmKind.UNUSABLE,
    "protocol": HarmKind.UNUSABLE,
}
LONGEST = 160
CANNOT_WRITE = "requires/data"
NEEDS = "needs"
OBSERVED = re.compile(r"(?P<observed>.*\bis [A-Z][A-Z_]{3,});")
"""An error where another, or none, was asked for: what it ought to have been is the same cause."""
CODE = re.compile(r"error_code|\bis [A-Z][A-Z_]{3,}")
API = re.compile(r"\b(?P<api>[A-Z][A-Za-z]+) v\d+")


@dataclass(frozen=True)
class Cause:
    """One root of failures, with the cases that it made fail."""

    key: str
    harm: HarmKind
    title: str
    results: tuple[CaseResult, ...]
    also: tuple[CaseResult, ...] = ()
    """Cases that fail in this way too, and stand under a cause that is worse."""
    blocked: tuple[CaseResult, ...] = ()
    """Cases that could not be judged, for what they need failed in one of these."""

    @property
    def count(self) -> str:
        """`26 cases`."""
        return f"{len(self.results)} case{'s' * (len(self.results) > 1)}"


@dataclass
class _Group:
    first: Failure
    harm: HarmKind
    results: list[CaseResult] = field(default_factory=list)
    also: list[CaseResult] = field(default_factory=list)


def causes(failed: Sequence[CaseResult], everything: Iterable[CaseResult] = ()) -> list[Cause]:
    """The causes of these failed results; `everything` is searched for cases that they kept from being judged."""
    groups: dict[str, _Group] = {}
    ways = [(result, ways_of(result)) for result in failed]
    for result, found in ways:
        key, failure, harm = found[0]
        groups.setdefault(key, _Group(failure, harm)).results.append(result)
    for result, found in ways:
        for key in dict.fromkeys(key for key, _, _ in found):
            if key in groups and result not in groups[key].results:
                groups[key].also.append(result)
    blocked = [result for result in everything if result.reason is not None and result.reason.kind == NEEDS]
    made = [_cause(key, group, blocked) for key, group in groups.items()]
    return sorted(made, key=lambda cause: (cause.harm, -len(cause.results) - len(cause.blocked)))


def ways_of(result: CaseResult) -> list[tuple[str, Failure, HarmKind]]:
    """What a failed case did wrong, the most harmful first: the key of the cause, the failure, its harm."""
    found = result.failures or derived(result.reason, result.anomalies)
    made = [(key_of(one, result), one, harm_of(one, result)) for one in found]
    return sorted(made, key=lambda way: way[2])


def key_of(failure: Failure, result: CaseResult) -> str:
    """The name of the cause: two failures with one key have one cause."""
    kind, _, rest = failure.signature.partition(":")
    if kind in ("anomaly", "harm"):
        return f"anomaly:{rest}"
    if kind in ("no-answer", "protocol"):
        return f"{kind}:{rest.partition(':')[0]}"
    if kind == "died":
        return f"died:{_api_of(failure, result)}"
    observed = OBSERVED.match(failure.signature)
    if kind == "statement" and observed and not observed["observed"].endswith(" NONE"):
        return observed["observed"]
    return failure.signature


def harm_of(failure: Failure, result: CaseResult) -> HarmKind:
    """How bad one failure is."""
    kind, _, rest = failure.signature.partition(":")
    if kind in ("anomaly", "harm"):
        named = [anomaly for anomaly in result.anomalies if anomaly.name == rest]
        return harm_of_anomaly(named[0]) if named else BY_NAME.get(rest, HarmKind.LOSS)
    if kind == "requires" and result.case == CANNOT_WRITE:
        return HarmKind.UNAVAILABLE
    if kind == "statement" and result.guarantees[:1] and result.guarantees[0].startswith("ord-"):
        return HarmKind.WRONG if CODE.search(rest) else HarmKind.DISORDER
    return BY_KIND.get(kind, HarmKind.WRONG)


def harm_of_anomaly(anomaly: Anomaly) -> HarmKind:
    """How bad it is: by its name, its guarantee and its strength."""
    if anomaly.name in BY_NAME:
        return BY_NAME[anomaly.name]
    if anomaly.guarantee.startswith("txn-"):
        return HarmKind.ISOLATION
    if anomaly.harms:
        return HarmKind.DISORDER if anomaly.strength == "order" else HarmKind.LOSS
    return HarmKind.INCONSISTENT


def _cause(key: str, group: _Group, blocked: Sequence[CaseResult]) -> Cause:
    names = [result.case for result in group.results]
    waiting = [each for each in blocked if each.reason and any(_names(each.reason.sentence, name) for name in names)]
    return Cause(key, group.harm, _title(key, group), tuple(group.results), tuple(group.also), tuple(waiting))


def _names(sentence: str, case: str) -> bool:
    return f"which failed in {case}:" in sentence


def _title(key: str, group: _Group) -> str:
    kind, _, rest = key.partition(":")
    if kind == "anomaly":
        return f"{rest}: {_definition(rest) or _brief(group.first)}"
    if len(group.results) == 1:
        return _brief(group.first)
    if kind == "no-answer":
        return f"{rest or 'a request'}: no response, or the connection was closed"
    if kind == "protocol":
        return f"{rest}: the response cannot be read"
    if kind == "died":
        return f"the broker crashed{f' on {rest}' if rest else ''}"
    sentence = _brief(group.first)
    return sentence if key == group.first.signature else sentence.partition(";")[0]


def _brief(failure: Failure) -> str:
    """The sentence without the other parts of a case in which the same was found."""
    sentence = failure.sentence.partition(" (likewise: ")[0]
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…"


def _definition(name: str) -> str:
    """The first line of the check that finds it: `lost-write: an acknowledged record that readers passed by.`"""
    from brokertrial.checkers.check import all_checks  # brings Arrow along: a green run needs none

    for check in all_checks().values():
        names, _, meaning = check.definition.strip().partition("\n")[0].partition(": ")
        if name in re.split(r",\s*", re.sub(r"\s*\(.*\)", "", names)):
            return meaning.rstrip(".")
    return ""


def _api_of(failure: Failure, result: CaseResult) -> str:
    found = API.search(failure.sentence)
    if found is None and result.evidence:
        found = API.search(result.evidence[0].text)
    return found["api"] if found else ""


def by_harm(found: Iterable[Cause]) -> list[tuple[str, list[Cause]]]:
    """The causes under the headings of their harm."""
    groups: dict[str, list[Cause]] = {}
    for cause in found:
        groups.setdefault(cause.harm.title, []).append(cause)
    return list(groups.items())
