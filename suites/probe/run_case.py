"""Runs a wire case once, against a broker or against a tape, and says what came of it.

Only what the broker did fails a case; whatever else goes wrong is ours, and inconclusive.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.case import Case
from brokertrial.suites.outcome import failed, inconclusive, not_applicable, passed
from brokertrial.suites.probe.answered_rows import must_be_answered_once
from brokertrial.suites.probe.core import SOFTWARE
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.failures import (
    BrokerAtFault,
    NoResponse,
    NotApplicable,
    StatementFalse,
    TranscriptMismatch,
    Unclear,
)
from brokertrial.suites.probe.harm import harm_in
from brokertrial.suites.probe.naming import shortened
from brokertrial.suites.probe.nodes import Nodes
from brokertrial.suites.probe.parts import with_parts
from brokertrial.suites.probe.prerequisites import excused, step_of
from brokertrial.suites.probe.produce import case_time
from brokertrial.suites.probe.promptness import SLOW
from brokertrial.suites.probe.silent_members import silent_member
from brokertrial.suites.probe.situation import Situation
from brokertrial.suites.probe.target_condition import (
    CROWDED,
    DIED,
    WELL,
    WENT_AWAY,
    Condition,
    gone,
    on_tape,
    unsettled,
)
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.probe.zookeeper import ZooKeeperReader
from brokertrial.suites.result import Evidence, Outcome, Reason
from brokertrial.wire.messages import request
from brokertrial.wire.records import RecordsMalformed

OPEN = (WENT_AWAY, CROWDED)
"""Reasons for which a target that is gone is laid to no case: somebody else, or another case, may have ended it."""
WITNESS_S = 20.0
LONG_S = 12.0
"""A situation in which nothing was asked for longer accuses nobody: members of the usual session timeout are gone."""
NO_EFFECT = "no-effect"
Look = Callable[[Wire, bool], None]
"""Asks everything about what a case made, which may have been undisturbed: suites/closing_look."""
Situate = Callable[[Wire], Situation]
"""Makes the situation of an attempt: suites/situations."""


def attempt(
    case: Case,
    wire: Wire,
    exchanger: Exchanger,
    node_controls: Mapping[int, NodeControl],
    alive: Callable[[], bool],
    condition: Callable[[], Condition] | None = None,
    look: Look | None = None,
    situate: Situate | None = None,
    zookeeper: ZooKeeperReader | None = None,
    controllers: Collection[NodeControl] = (),
) -> Outcome:
    """One attempt at a wire case; raises TranscriptMismatch alone, and only when played back.

    `condition` looks how the target fares afterwards; it is not asked where the case hurt a node. `look` is made
    where the case passed and its context says so. A case that passed without an effect of its situation was not tried.
    """
    looks = look if wire.case_context.closing_look else None
    if looks or situate or case.level != "must":
        wire.traffic.exchanges = []  # a failure of the case would be a warning, unless they show harm
    nodes = Nodes(wire, exchanger, node_controls, zookeeper, controllers)
    if situate is not None:
        wire.situation = situate(wire)
        nodes.hurt = case.hurts
    outcome = _judged_to_the_end(case, wire, exchanger, nodes, _Target(exchanger, nodes, alive, condition), looks)
    return shortened(_with_harm(outcome, wire), wire.named)


class _Target:
    """How the target itself fares, the case apart; what each look found is on the tape."""

    def __init__(
        self,
        exchanger: Exchanger,
        nodes: Nodes,
        alive: Callable[[], bool],
        condition: Callable[[], Condition] | None,
    ) -> None:
        self._exchanger = exchanger
        self._nodes = nodes
        self._alive = alive
        self._condition = condition

    @property
    def looked_at(self) -> bool:
        """Whether what happens to it is laid to a request: not where the case stops nodes itself."""
        return self._condition is not None and not self._nodes.hurt

    def lives(self) -> bool:
        return self._exchanger.act("alive", lambda: "yes" if self._alive() else "no") == "yes"

    def condition(self) -> Condition:
        return on_tape(self._exchanger, self._condition) if self._condition is not None and self.looked_at else WELL


def _judged_to_the_end(
    case: Case, wire: Wire, exchanger: Exchanger, nodes: Nodes, target: _Target, look: Look | None
) -> Outcome:
    outcome = with_parts(_judged(lambda: _run(case, wire, nodes), wire, exchanger, target), wire)
    outcome = excused(outcome, case.id, wire.case_context.known)
    if outcome.verdict is Verdict.FAIL and nodes.hurt and (moved := nodes.moved_by_itself()):
        outcome = unsettled(outcome, f"{moved} was moved by the broker after the nodes were back")
    healed = _judged(nodes.heal, wire, exchanger, target)
    if outcome.verdict is Verdict.PASS and healed.verdict is not Verdict.PASS:
        return healed
    if outcome.verdict is Verdict.PASS:
        wire.await_deleted()
        outcome = with_parts(_judged(wire.situation.at_the_end, wire, exchanger, target), wire)
    if case.situation is not None and outcome.verdict is Verdict.PASS and not wire.situation.effects:
        return not_applicable(NO_EFFECT, f"the situation {case.situation.situation} changes nothing in this case")
    if look is not None and outcome.verdict is Verdict.PASS:
        undisturbed = case.situation is None and not nodes.hurt
        seen = with_parts(_judged(lambda: look(wire, undisturbed), wire, exchanger, target), wire)
        outcome = outcome if seen.verdict is Verdict.NOT_APPLICABLE else seen
        outcome = msgspec.structs.replace(outcome, warnings=(*outcome.warnings, *wire.noted))
    if outcome.verdict is Verdict.FAIL and case.situation is not None and (paused_s := _longest_pause_s(wire)) > LONG_S:
        long = f"no request could be sent for {paused_s:.0f} s, and members may have been expelled meanwhile"
        outcome = inconclusive(SLOW, f"{long}: {outcome.reason.sentence if outcome.reason else ''}")
    failure = outcome.reason.sentence if outcome.reason else ""
    exchanges = wire.traffic.exchanges or ()
    if not nodes.hurt and (silent := silent_member(exchanges, failure, wire.consumer_session_ms)):
        outcome = unsettled(outcome, silent)
    outcome = target.condition().upon(outcome, wire.traffic)
    undecided = outcome.verdict is not Verdict.FAIL and (outcome.reason is None or outcome.reason.kind not in OPEN)
    if undecided and not target.lives():
        return _gone(wire).upon(outcome, wire.traffic)
    return outcome


def _longest_pause_s(wire: Wire) -> float:
    """Between two requests, while nothing was under way: so long the nodes were away, or others were waited for."""
    longest, heard_ns = 0, 0
    for asked in wire.traffic.exchanges or ():
        if heard_ns:
            longest = max(longest, asked.sent_ns - heard_ns)
        heard_ns = max(heard_ns, asked.sent_ns, asked.received_ns)
    return longest / 1e9


def _with_harm(outcome: Outcome, wire: Wire) -> Outcome:
    """A record that was harmed is a failure of its own, whatever the case came to."""
    harm = harm_in(wire.traffic.exchanges or (), wire.topic_ids, all_seen=not wire.traffic.raw)
    if harm is None:
        return outcome
    if outcome.verdict is Verdict.FAIL:
        return msgspec.structs.replace(outcome, failures=(*outcome.failures, harm))
    return Outcome(Verdict.FAIL, Reason("statement", harm.sentence), harm.evidence, failures=(harm,))


def _run(case: Case, wire: Wire, nodes: Nodes) -> None:
    with case_time(wire.case_context.time_ms):
        case.function(**arguments(case, wire, nodes))
        wire.settle()


def arguments(case: Case, wire: Wire, nodes: Nodes) -> dict[str, Any]:
    """What the case asked for, by the names of its parameters."""
    makers: dict[str, Callable[[], Any]] = {
        "wire": lambda: wire,
        "topic": wire.new_topic,
        "topic_of": lambda: lambda **wanted: wire.new_topic(**wanted),
        "group": lambda: wire.name("g"),
        "transactional_id": lambda: wire.name("x"),
        "rng": lambda: Random(f"{wire.case_context.seed}/{case.id}"),
        "nodes": lambda: nodes,
        "zookeeper": lambda: nodes.zookeeper,
        "target_info": lambda: wire.case_context,
    }
    return {name: makers[name]() for name in case.parameters}


def _judged(run: Callable[[], None], wire: Wire, exchanger: Exchanger, target: _Target) -> Outcome:
    try:
        run()
    except NotApplicable as error:
        return not_applicable(error.kind, error.sentence)
    except Unclear as error:
        return inconclusive(error.kind, error.sentence)
    except NoResponse as error:
        return _unanswered(error, wire, exchanger, target)
    except BrokerAtFault as error:
        if excuse := wire.permissions.excuse(error.ops):
            return not_applicable("no-permission", f"no permission: {excuse}")
        return _failed(error, wire)
    except RecordsMalformed as error:
        sentence = f"the records of an answer cannot be read: {error}"
        return failed("protocol", sentence, wire.traffic.latest_answer(), ours=wire.case_context.prefix)
    except TranscriptMismatch:
        raise
    except Exception as error:  # noqa: BLE001 - a mistake of ours must never look like one of the broker
        if (unread := _unread(wire)) is not None:
            return _failed(unread, wire)
        trace = traceback.format_exc()
        return inconclusive("suite", f"{type(error).__name__}: {error}", (Evidence("exception", trace),))
    return passed()


def _unread(wire: Wire) -> BrokerAtFault | None:
    """The newest answer that has no row for what was asked, which no case can read."""
    try:
        for asked in wire.traffic.latest_exchanges():
            must_be_answered_once(asked)
    except StatementFalse as error:
        return error
    return None


def _failed(error: BrokerAtFault, wire: Wire, sentence: str = "") -> Outcome:
    """What the broker did wrong, with the step on the way in which it did."""
    ours = wire.case_context.prefix
    return failed(
        error.kind,
        sentence or error.sentence,
        error.evidence,
        about=error.about,
        ours=ours,
        step=step_of(error, ours),
        guarantees=error.guarantees,
    )


def _unanswered(error: NoResponse, wire: Wire, exchanger: Exchanger, target: _Target) -> Outcome:
    """No answer is a failure while the broker serves others, or when it died of the question."""
    died = _gone(wire, f"{error.sentence}; the target is dead")
    unanswered = inconclusive("unreachable", error.sentence, error.evidence)
    if target.looked_at and not target.lives():  # who is dead is not waited for
        return died.upon(unanswered, wire.traffic)
    if wire.case_context.crowded:
        return inconclusive(CROWDED, f"{error.sentence}; other cases were under way", error.evidence)
    if _witness(wire, exchanger):
        sentence = f"{error.sentence}; other connections were served meanwhile"
        return _failed(error, wire, sentence)
    if not target.lives():
        return died.upon(unanswered, wire.traffic)
    if wire.answered:
        sentence = f"{error.sentence}; other connections are not served either"
        return _failed(error, wire, sentence)
    return inconclusive("unreachable", f"{error.sentence}; nothing was answered in this case before", error.evidence)


def _gone(wire: Wire, sentence: str = DIED) -> Condition:
    return gone(wire.case_context.capabilities, wire.case_context.went_away, sentence)


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
