"""One attempt at a wire case of a run: a tape opened, the case asked, the tape closed, what it made cleared away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from brokertrial.faults.journal import JOURNALS
from brokertrial.faults.journaled_node import journaled
from brokertrial.faults.node_control import NodeControl
from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.case import Case
from brokertrial.suites.closing_look.look import closing_look
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.exchanger import LiveExchanger
from brokertrial.suites.probe.run_case import Situate, attempt
from brokertrial.suites.probe.target_condition import Condition
from brokertrial.suites.probe.transcript import TranscriptWriter
from brokertrial.suites.probe.zookeeper import ZooKeeperReader
from brokertrial.suites.result import Outcome
from brokertrial.suites.running.attempt_session import AttemptSession
from brokertrial.suites.running.disturbance import Disturbance
from brokertrial.suites.situations import situation_of
from brokertrial.suites.targets.effects import checked

if TYPE_CHECKING:
    from brokertrial.suites.running.crowd import CrowdMember
    from brokertrial.suites.running.liveness import Liveness


def attempt_wire(
    session: AttemptSession, case: Case, case_context: CaseContext, folder: Path, liveness: Liveness | CrowdMember
) -> Outcome:
    """Runs it against the target; everything that it saw is on the tape in the folder."""
    with Recorder.create(folder, _header(session, case, case_context)) as recorder:
        tape = TranscriptWriter(recorder)
        exchanger = LiveExchanger(tape, session.interruption.wake)
        wire = session.probe(case_context, exchanger)
        look = None if liveness.blind else _look(session, case, liveness)
        zookeeper = ZooKeeperReader(session.target.zookeeper)
        alive = session.target.alive
        try:
            if not case.hurts:
                situate = _situate(session, case, {}, {}, liveness)
                return attempt(case, wire, exchanger, {}, alive, look, closing_look, situate, zookeeper)
            journal = session.run_dir / JOURNALS / f"{folder.name}.jsonl"
            processes: dict[int, NodeControl] = {**checked(session.target.controllers), **session.node_controls()}
            with journaled(processes, journal, session.target.network) as controllers:
                node_controls = {node: controllers.pop(node) for node in session.node_controls()}
                situate = _situate(session, case, node_controls, controllers, liveness)
                return attempt(
                    case, wire, exchanger, node_controls, alive, look, closing_look, situate, zookeeper,
                    controllers.values(),
                )  # fmt: skip
        finally:
            exchanger.close_all()
            zookeeper.close()
            tape.close()
            session.permissions.learn(wire.permissions)
            session.tidy(wire)


def _look(session: AttemptSession, case: Case, liveness: Liveness | CrowdMember) -> Callable[[], Condition]:
    """How the target fares after the case, and on several nodes whether leaderships moved that it did not move."""
    if case.hurts or case.situation is not None or session.offer.nodes == 1:
        return liveness.look
    before = session.cluster_moves.known()

    def look() -> Condition:
        found, moved = liveness.look(), session.cluster_moves.since(before)
        return Condition("unsettled", moved) if moved and found.kind == "well" else found

    return look


def _situate(
    session: AttemptSession,
    case: Case,
    node_controls: Mapping[int, NodeControl],
    controllers: Mapping[int, NodeControl],
    liveness: Liveness | CrowdMember,
) -> Situate | None:
    if (draw := case.situation) is None:
        return None
    disturb = liveness.disturbing(Disturbance(node_controls, controllers, lambda: session.unrecorded("settling")))
    return lambda wire: situation_of(draw, case.plain_id, wire, disturb)


def _header(session: AttemptSession, case: Case, case_context: CaseContext) -> Header:
    return Header(
        case=case.id,
        target=session.target.name,
        target_version=session.version,
        seed=case_context.seed,
        nodes=session.offer.nodes,
        profile=session.profile,
        attempt=case_context.attempt,
        settings={
            "scene": msgspec.to_builtins(case_context),
            "kind": case.kind,
            "content": case.content_hash,
            "addresses": len(session.bootstrap()),
            "set_up": msgspec.to_builtins(session.set_up),
            "watched": not session.is_blind,
        },
    )
