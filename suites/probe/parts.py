"""A case whose parts stand by themselves: all that was false in them, as one outcome (`wire.part`)."""

from __future__ import annotations

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.probe.failures import BrokerAtFault
from brokertrial.suites.probe.prerequisites import step_of
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Failure, Outcome, Reason
from brokertrial.suites.signature import signature

SHOWN = 8
STATEMENT = BrokerAtFault.kind


def with_parts(ended: Outcome, wire: Wire) -> Outcome:
    """The outcome of the case with what was false in its parts, in the order in which it was found.

    One statement that is false in several parts is one failure: it names the others. What was proven stands, whatever
    kept the case from its end. A statement behind the parts presupposes them, for a request that was wrongly accepted
    leaves something behind: it is no failure of its own.
    """
    if not wire.kept:
        return ended
    found: dict[str, Failure] = {}
    also: dict[str, list[str]] = {}
    for error in wire.kept:
        failure = _failure(error, wire.case_context.prefix)
        if failure.signature in found:
            also.setdefault(failure.signature, []).append(error.part)
        else:
            found[failure.signature] = failure
    failures = [_with_others(one, also.get(one.signature, [])) for one in found.values()]
    behind = [one for one in ended.failures if one.signature not in found]
    presupposing = ended.reason is not None and ended.reason.kind == STATEMENT
    failures += [] if presupposing else behind
    warned = tuple(f"also false, which may follow from that: {one.sentence}" for one in behind if presupposing)
    if ended.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE) and ended.reason:
        warned = (f"the case did not come to its end: {ended.reason.sentence}",)
    return msgspec.structs.replace(
        ended,
        verdict=Verdict.FAIL,
        reason=Reason(wire.kept[0].kind, failures[0].sentence),
        evidence=failures[0].evidence,
        warnings=(*ended.warnings, *warned),
        failures=tuple(failures),
    )


def _failure(error: BrokerAtFault, ours: str) -> Failure:
    told = signature(error.kind, error.sentence, error.about, ours)
    named = not error.part or error.sentence.startswith(error.part)
    sentence = error.sentence if named else f"{error.part}: {error.sentence}"
    return Failure(told, sentence, error.evidence, step=step_of(error, ours), guarantees=error.guarantees)


def _with_others(failure: Failure, parts: list[str]) -> Failure:
    unlike = list(dict.fromkeys(part for part in parts if part))
    if not unlike:
        return failure
    more = f" and {len(unlike) - SHOWN} more" if len(unlike) > SHOWN else ""
    names = ", ".join(unlike[:SHOWN]) + more
    return msgspec.structs.replace(failure, sentence=f"{failure.sentence} (likewise: {names})")
