"""What cases do to get to their subject, which case decides each of it, and what is known of it in a run.

A case that cannot write an ordinary record says nothing of its own statement. That a record can be written is decided
by the case that owns it: there it fails, once. A case that comes to the same failure of the same step later is not
applicable, and names the case in which it failed. Nothing is hidden by that: only a failure of the run excuses, only
the very same one. Where no owner failed in it so, the first case that failed in nothing else stands in for them: it may
have done something out of the ordinary before, and so did those after it. A case that is run alone excuses itself from
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.outcome import not_applicable
from brokertrial.suites.probe.failures import BrokerAtFault
from brokertrial.suites.probe.known import KnownSteps, Met
from brokertrial.suites.result import CaseResult, Failure, Outcome, Reason
from brokertrial.suites.signature import signature

NEEDS = "needs"
DATA = "requires/data"  # found when the run begins (suites/running/health.py), before any case
BY_SENTENCE = "statement"


class Prerequisite(msgspec.Struct, frozen=True):
    """A step on the way to the subject of many cases, and those that decide it, the first of them first."""

    what: str
    owners: tuple[str, ...]
    stated: bool = False
    """Several cases state it themselves: one that fails in it may well have come to its statement."""


WRITES = "produce/base-offset"
COMMITS = "commits/round-trip"
JOINS = "groups/each-its-own-assignment"
COMMITTED = "transactions/all-or-nothing"
PREREQUISITES: dict[str, Prerequisite] = {
    "versions": Prerequisite("an answer to ApiVersions", ("protocol/api-versions-list",)),
    "metadata": Prerequisite("an answer to Metadata", (DATA, "protocol/metadata-is-consistent")),
    "connection": Prerequisite("a connection to a broker that Metadata names", (DATA, WRITES)),
    "topic": Prerequisite("a new topic", (DATA, WRITES)),
    "write": Prerequisite("an ordinary record that is written", (DATA, WRITES)),
    "ends": Prerequisite("the ends of a partition", (WRITES, "offsets/ends")),
    "read": Prerequisite("an ordinary record that is read", (WRITES,)),
    "position": Prerequisite("a fetch from inside a batch", ("fetch/inside-a-batch",), stated=True),
    "coordinator": Prerequisite("the coordinator of a group", (COMMITS, JOINS)),
    "commit": Prerequisite("an offset that is committed", (COMMITS,)),
    "committed": Prerequisite("a committed offset that is returned", (COMMITS,)),
    "all-committed": Prerequisite(
        "all offsets of a group that are returned", ("commits/all-of-a-group-in-every-version",), stated=True
    ),
    "join": Prerequisite("a classic group that is joined", (JOINS,)),
    "rebalance": Prerequisite("members that come into one generation", (JOINS,)),
    "consumer": Prerequisite("a consumer group that is joined (KIP-848)", ("groups/consumer-joins",)),
    "producer-id": Prerequisite("a producer id", ("idempotence/gap-is-refused",)),
    "idempotent-write": Prerequisite("a batch of an idempotent producer", ("idempotence/gap-is-refused",)),
    "retry": Prerequisite(
        "a batch that is sent again and acknowledged", ("idempotence/retry-is-written-once",), stated=True
    ),
    "first-sequence": Prerequisite("a first sequence above 0", ("idempotence/unknown-producer",)),
    "newer-epoch": Prerequisite("a batch of an epoch that its producer raised", ("idempotence/newer-epoch",)),
    "transactional-id": Prerequisite("a producer with a transactional id", (COMMITTED,)),
    "transaction": Prerequisite("a transaction that is written and ended", (COMMITTED,)),
    "stable-end": Prerequisite("the last stable offset of a partition", ("offsets/latest-for-committed",), stated=True),
    "validation": Prerequisite("a topic that is only validated", ("admin/creation-on-trial",)),
    "settings": Prerequisite("settings that are described", ("admin/described-settings",)),
    "topic-deletion": Prerequisite("a topic that is deleted", ("admin/deleted-and-made-again",)),
    "record-deletion": Prerequisite("records that are deleted by request", ("admin/delete-records",)),
}
OWNERS = tuple(dict.fromkeys(owner for entry in PREREQUISITES.values() for owner in entry.owners))


def step_of(error: BrokerAtFault, ours: str) -> str:
    """The step that went wrong, and how: `write: statement:Produce...`; empty where it was none of these steps.

    An answer that cannot be read, or does not come, is the same failure whatever the answer would have said.
    """
    if not error.step:
        return ""
    how = signature(error.kind, error.sentence, error.about, ours) if error.kind == BY_SENTENCE else error.kind
    return f"{error.step}: {how}"


def known_from(results: Iterable[CaseResult]) -> KnownSteps:
    """What the owners have shown so far. One that failed in its closing look alone had done all its steps."""
    failed: list[Met] = []
    decided: list[str] = []
    for result in results:
        mine = [name for name, entry in PREREQUISITES.items() if result.case in entry.owners]
        own = [one for one in result.failures if not one.guarantees]
        if result.verdict is Verdict.PASS or (result.failures and not own):
            decided += mine
        elif result.verdict is Verdict.FAIL:
            decided += [name for name in mine if name in {_name(one.step) for one in own}]
        if result.is_failure:
            owned = [one for one in own if _name(one.step) in mine or _stands_in(result)]
            failed += [Met(one.step, result.case) for one in owned if one.step not in {met.step for met in failed}]
    return KnownSteps(tuple(failed), tuple(dict.fromkeys(decided)))


def _stands_in(result: CaseResult) -> bool:
    """Whether all that failed in a case were steps that no other case would state."""
    named = [PREREQUISITES.get(_name(one.step)) for one in result.failures]
    return all(entry is not None and not entry.stated for entry in named)


def excused(outcome: Outcome, case: str, known: KnownSteps) -> Outcome:
    """Not applicable, where all that went wrong has failed before in the case that decides it.

    What is left leads; a case that came to grief in a step that nobody has decided says that it did not get further.
    """
    if outcome.verdict is not Verdict.FAIL or not any(one.step for one in outcome.failures):
        return outcome
    left = [one for one in outcome.failures if not _failed_before(one, case, known)]
    if not left:
        return not_applicable(NEEDS, _needs(outcome.failures[0], case, known))
    first, name = left[0], _name(left[0].step)
    if name and not PREREQUISITES[name].stated and case not in PREREQUISITES[name].owners and name not in known.decided:
        left[0] = msgspec.structs.replace(first, sentence=f"could not get to its statement: {first.sentence}")
    excuses = [_needs(one, case, known) for one in outcome.failures if one not in (first, *left)]
    return msgspec.structs.replace(
        outcome,
        reason=Reason(first.signature.partition(":")[0], left[0].sentence),
        evidence=first.evidence or outcome.evidence,
        warnings=(*outcome.warnings, *excuses),
        failures=tuple(left),
    )


def owners_first(cases: Iterable[Case]) -> list[Case]:
    """The order in which cases run: what others rest on comes before them, else as they stood."""
    return sorted(cases, key=lambda case: OWNERS.index(case.id) if case.id in OWNERS else len(OWNERS))


def _failed_before(failure: Failure, case: str, known: KnownSteps) -> str:
    """The other case in which this very step has failed in this very way; empty where there is none."""
    found = (one.case for one in known.failed if one.step == failure.step and one.case != case)
    return next(found, "") if failure.step else ""


def _needs(failure: Failure, case: str, known: KnownSteps) -> str:
    what = PREREQUISITES[_name(failure.step)].what
    return f"needs {what}, which failed in {_failed_before(failure, case, known)}: {failure.sentence}"


def _name(step: str) -> str:
    return step.partition(":")[0]
