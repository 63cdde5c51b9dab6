"""Runs a wire case once, against a broker or against a tape, and says what came of it.

Only what the broker did fails a case; whatever else goes wrong is ours, and inconclusive.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import msgspec

from checkers.verdict import Verdict
from faults.victim import Victim
from suites.case import Case
from suites.harm import harm_in
from suites.naming import shortened
from suites.outcome import Outcome, failed, inconclusive, not_applicable, passed
from suites.parts import with_parts
from suites.prerequisites import excused, step_of
from suites.probe.core import SOFTWARE
from suites.probe.exchanger import Exchanger
from suites.probe.failures import BrokerAtFault, NoAnswer, NotApplicable, TapeMismatch, Unclear
from suites.probe.nodes import Nodes
from suites.probe.produce import case_time
from suites.probe.wire import Wire
from suites.result import Evidence, Reason
from wire.messages import request
from wire.records import RecordsMalformed

WITNESS_S = 20.0


def attempt(
    case: Case, wire: Wire, exchanger: Exchanger, victims: Mapping[int, Victim], alive: Callable[[], bool]
) -> Outcome:
    """One attempt at a wire case; raises TapeMismatch alone, and only when played back."""
    return shortened(_attempt(case, wire, exchanger, victims, alive), wire.named)


def _attempt(
    case: Case, wire: Wire, exchanger: Exchanger, victims: Mapping[int, Victim], alive: Callable[[], bool]
) -> Outcome:
    if case.level != "must":
        wire.traffic.exchanges = []  # a failure of the case would be a warning, unless they show harm
    return _with_harm(_judged_to_the_end(case, wire, exchanger, victims, alive), wire)


def _judged_to_the_end(
    case: Case, wire: Wire, exchanger: Exchanger, victims: Mapping[int, Victim], alive: Callable[[], bool]
) -> Outcome:
    nodes = Nodes(wire, exchanger, victims)
    outcome = with_parts(_judged(lambda: _run(case, wire, nodes), wire, exchanger, alive), wire)
    outcome = excused(outcome, case.id, wire.scene.known)
    healed = _judged(nodes.heal, wire, exchanger, alive)
    if outcome.verdict is Verdict.PASS and healed.verdict is not Verdict.PASS:
        return healed
    if outcome.verdict is not Verdict.FAIL and not _alive(exchanger, alive):
        return failed("died", "the target died of this case", wire.traffic.under_way() or outcome.evidence)
    return outcome


def _with_harm(outcome: Outcome, wire: Wire) -> Outcome:
    """A record that was harmed is a failure of its own, whatever the case came to."""
    harm = harm_in(wire.traffic.exchanges or (), wire.topic_ids, all_seen=not wire.traffic.raw)
    if harm is None:
        return outcome
    if outcome.verdict is Verdict.FAIL:
        return msgspec.structs.replace(outcome, failures=(*outcome.failures, harm))
    return Outcome(Verdict.FAIL, Reason("statement", harm.sentence), harm.evidence, failures=(harm,))


def _run(case: Case, wire: Wire, nodes: Nodes) -> None:
    with case_time(wire.scene.time_ms):
        case.function(**arguments(case, wire, nodes))
        wire.settle()


def arguments(case: Case, wire: Wire, nodes: Nodes | None) -> dict[str, Any]:
    """What the case asked for, by the names of its parameters."""
    makers: dict[str, Callable[[], Any]] = {
        "wire": lambda: wire,
        "topic": wire.new_topic,
        "topic_of": lambda: lambda **wanted: wire.new_topic(**wanted),
        "group": lambda: wire.name("g"),
        "transactional_id": lambda: wire.name("x"),
        "rng": lambda: Random(f"{wire.scene.seed}/{case.id}"),
        "nodes": lambda: nodes,
        "target_info": lambda: wire.scene,
    }
    return {name: makers[name]() for name in case.parameters}


def _judged(run: Callable[[], None], wire: Wire, exchanger: Exchanger, alive: Callable[[], bool]) -> Outcome:
    try:
        run()
    except NotApplicable as error:
        return not_applicable(error.kind, error.sentence)
    except Unclear as error:
        return inconclusive(error.kind, error.sentence)
    except NoAnswer as error:
        return _unanswered(error, wire, exchanger, alive)
    except BrokerAtFault as error:
        if excuse := wire.permissions.excuse(error.ops):
            return not_applicable("no-permission", f"no permission: {excuse}")
        return _failed(error, wire)
    except RecordsMalformed as error:
        sentence = f"the records of an answer cannot be read: {error}"
        return failed("protocol", sentence, wire.traffic.latest_answer(), ours=wire.scene.prefix)
    except TapeMismatch:
        raise
    except Exception as error:  # noqa: BLE001 - a mistake of ours must never look like one of the broker
        trace = traceback.format_exc()
        return inconclusive("suite", f"{type(error).__name__}: {error}", (Evidence("exception", trace),))
    return passed()


def _failed(error: BrokerAtFault, wire: Wire, sentence: str = "") -> Outcome:
    """What the broker did wrong, with the step on the way in which it did."""
    ours = wire.scene.prefix
    told = {"about": error.about, "ours": ours, "step": step_of(error, ours)}
    return failed(error.kind, sentence or error.sentence, error.evidence, **told)


def _unanswered(error: NoAnswer, wire: Wire, exchanger: Exchanger, alive: Callable[[], bool]) -> Outcome:
    """No answer is a failure while the broker serves others, or when it died of the question."""
    served = _witness(wire, exchanger)
    if served:
        sentence = f"{error.sentence}; another connection was served meanwhile"
        return _failed(error, wire, sentence)
    if not _alive(exchanger, alive):
        return failed("died", f"{error.sentence}; the target is dead", wire.traffic.under_way() or error.evidence)
    if wire.answered:
        sentence = f"{error.sentence}; nor is any other connection served any more"
        return _failed(error, wire, sentence)
    return inconclusive("unreachable", f"{error.sentence}; nothing was answered in this case before", error.evidence)


def _witness(wire: Wire, exchanger: Exchanger) -> bool:
    began = exchanger.clock()[0]
    tries = 0
    while exchanger.clock()[0] - began < (WITNESS_S + wire.slack_s) * 1e9:
        tries += 1
        try:
            line = wire.connect(f"witness{tries}")
            line.send(request("ApiVersions", **SOFTWARE), 0).wait()
        except BrokerAtFault:
            exchanger.pause(0.5)
        else:
            line.close()
            return True
    return False


def _alive(exchanger: Exchanger, alive: Callable[[], bool]) -> bool:
    return exchanger.act("alive", lambda: "yes" if alive() else "no") == "yes"
