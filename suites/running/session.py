"""A run's hold on its target: what it offers, how fast it answers, which names are ours; one case after the other."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from brokertrial.faults.client_aliases import ClientAliases
from brokertrial.faults.journal import forget_run
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import NetworkFailed
from brokertrial.histories.header import HistoryWriteFailed
from brokertrial.suites.capabilities import NETWORK
from brokertrial.suites.case import Case
from brokertrial.suites.closing_look.look import failed_in_several
from brokertrial.suites.events import CaseFinished, RunEvent
from brokertrial.suites.outcome import inconclusive, not_applicable
from brokertrial.suites.probe import naming
from brokertrial.suites.probe.cluster_settings import ClusterSettings, states_a_policy, withheld_apis
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.default_topics import DefaultTopicsProbe, read_cluster_settings
from brokertrial.suites.probe.exchanger import LiveExchanger
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.known import KnownSteps
from brokertrial.suites.probe.permission_check import RunPermissions
from brokertrial.suites.probe.preferred_leaders import restore_preferred_leaders
from brokertrial.suites.probe.prerequisites import known_from
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Attempt, CaseResult, Evidence, Outcome
from brokertrial.suites.running.byte_faults import lines_are_enough
from brokertrial.suites.running.case_result import lost, result_of
from brokertrial.suites.running.case_run import UNWRITTEN, CaseRun
from brokertrial.suites.running.claims import broken_promises, unkept_promises
from brokertrial.suites.running.cleanup import (
    RESOURCES_FILE,
    CleanupProbe,
    NameJournal,
    RunResources,
    clean,
    names_on,
    remove_created,
)
from brokertrial.suites.running.cluster_moves import ClusterMoves
from brokertrial.suites.running.coordinators import Coordinators
from brokertrial.suites.running.crowd import CrowdMember
from brokertrial.suites.running.estimates import RepeatBudget
from brokertrial.suites.running.fresh_start import FreshStart
from brokertrial.suites.running.health import Health
from brokertrial.suites.running.interruption import Interruption
from brokertrial.suites.running.liveness import Liveness
from brokertrial.suites.running.out_of_reach import unless_missed
from brokertrial.suites.running.requirements import CORE, required
from brokertrial.suites.running.run_folder import history_of
from brokertrial.suites.running.run_wide_faults import RunWideFaults
from brokertrial.suites.running.support import TargetSupport
from brokertrial.suites.running.wire_attempt import attempt_wire
from brokertrial.suites.targets import Target, TargetProblem
from brokertrial.suites.targets.effects import CheckedNode, checked
from brokertrial.wire.addresses import all_parsed, reached

if TYPE_CHECKING:
    from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies


class TargetSession:
    """Everything between the start of a target and its stop. `emit` gets every event."""

    def __init__(
        self,
        target: Target,
        run_dir: Path,
        *,
        seed: int,
        profile: str,
        claims: Mapping[str, bool],
        emit: Callable[[RunEvent], None],
        unproven: str = "warn",
        run_wide_faults: RunWideFaults | None = None,
        interruption: Interruption | None = None,
        require: tuple[str, ...] = (CORE,),
        release: tuple[int, ...] = (),
        alone: bool = False,
        repeats: RepeatBudget | None = None,
        toxiproxies: Toxiproxies | None = None,
    ) -> None:
        self.target = target
        self.run_dir = run_dir
        self.seed = seed
        self.profile = profile
        self.asked_claims = dict(claims)
        self.claims = self.asked_claims
        self.require = require
        self.release = release
        self.emit = emit
        self.unproven = unproven
        self.run_wide_faults = run_wide_faults
        self._checked: dict[int, CheckedNode] = {}
        self.interruption = interruption or Interruption()
        self._alone = alone or (run_wide_faults is not None and run_wide_faults.refute)
        """Each case is judged as if it had run alone: to see that it fails."""
        self.repeats = repeats or RepeatBudget()
        self.toxiproxies = toxiproxies
        self._entropy = f"{seed}/{time.time_ns()}/{os.getpid()}"
        self._salt = naming.salt(self._entropy)
        self.prefix = naming.unused(self._entropy, ())
        self.names = NameJournal(run_dir)
        self.metadata_version = CaseContext("", "").metadata_version
        self.health = Health(lambda: self.unrecorded("health"))
        self.cluster_moves = ClusterMoves(lambda: self.unrecorded("moves"))
        self.coordinators = Coordinators(lambda: self.unrecorded("coordinators"))
        edited = run_wide_faults is not None and run_wide_faults.refute
        self.fresh_start = FreshStart(target, addresses_stay=run_wide_faults is not None)
        self.liveness = Liveness(target, self.health, self._given_bootstrap, blind=edited, fresh_start=self.fresh_start)
        self.required: tuple[str, ...] = ()
        self.topic_policy = False
        self.permissions = RunPermissions()
        self.set_up = ClusterSettings()
        self.version = ""
        self.offer = TargetSupport({}, {}, frozenset(), 0)
        self.results: list[CaseResult] = []

    # the target

    def open(self) -> None:
        """Learns what the started target offers and how fast it acknowledges."""
        self.version = self.target.version()
        self._choose_names()
        if self.run_wide_faults is not None:
            aliases = (self.prefix, self._salt)
            self.run_wide_faults.open(self._given_bootstrap(), self.reach_table(), self.seed, aliases)
        (self.run_dir / RESOURCES_FILE).write_bytes(
            msgspec.json.encode(RunResources(self.prefix, self.target.bootstrap, dict(self.reach_table())))
        )
        wire = self.unrecorded("warm-up")
        served = wire.learn()
        self.claims = {**self.target.claims, **self.asked_claims}
        self.offer = TargetSupport(
            served,
            dict(wire.features),
            self.target.capabilities,
            len(wire.nodes),
            self.target.leaderless,
            frozenset(feature for feature, claimed in self.claims.items() if not claimed),
            withheld_apis(wire),
            frozenset(self.require),
            self.target.chosen,
            self.target.volatile,
            self.release or self.target.release_number,
        )
        self.required = tuple(required(self.require, self.offer, self.claims))
        self.set_up = self._read_settings()
        self.topic_policy = self.claims.get("topic-policy", False) or states_a_policy(wire)
        remove_created(wire)
        self.metadata_version = wire.metadata_version
        self.liveness.open()

    def _read_settings(self) -> ClusterSettings:
        probes: list[DefaultTopicsProbe] = []

        def another() -> DefaultTopicsProbe:
            probes.append(self.unrecorded(f"settings-{len(probes) + 1}"))
            return probes[-1]

        read = read_cluster_settings(another)
        for probe in probes:
            remove_created(probe)
        return read

    def close(self) -> None:
        """Removes what the run made. The target is stopped by whoever started it."""
        self.liveness.close()
        with contextlib.suppress(BrokerAtFault, NotApplicable, Unclear):  # a target that is gone keeps nothing of ours
            clean(self._cleanup_probe(), self.names.names())
        if self.run_wide_faults is not None:
            self.run_wide_faults.close()

    def _choose_names(self) -> None:
        """A prefix that nothing on the cluster has; where it does not tell what is there, the first."""
        with contextlib.suppress(BrokerAtFault, NotApplicable, Unclear):
            case_context, table = self.case_context("names", 1), self.reach_table()
            wire = Wire.unrecorded(case_context, self._given_bootstrap(), lambda host, port: reached(host, port, table))
            topics, groups = names_on(wire)
            self.prefix = naming.unused(self._entropy, [*topics, *groups])

    def bootstrap(self) -> list[tuple[str, int]]:
        """The addresses to begin with."""
        if self.run_wide_faults is not None:
            return self.run_wide_faults.bootstrap()
        return self._given_bootstrap()

    def _given_bootstrap(self) -> list[tuple[str, int]]:
        return all_parsed(self.target.bootstrap)

    def reach(self, host: str, port: int) -> tuple[str, int]:
        """Where an advertised address really is."""
        if self.run_wide_faults is not None:
            return host, port  # the proxy has named its own
        return reached(host, port, self.reach_table())

    def reach_table(self) -> Mapping[str, str]:
        """Advertised addresses that do not resolve here, and where they really are."""
        table: Mapping[str, str] = getattr(self.target, "reach", {})
        return table

    def unrecorded(self, case: str) -> DefaultTopicsProbe:
        """A probe whose tape nobody keeps: for our own housekeeping."""
        return self.probe(self.case_context(case, 1))

    def probe(self, case_context: CaseContext, exchanger: LiveExchanger | None = None) -> DefaultTopicsProbe:
        """A probe for a case; without an exchanger of the caller's, nobody keeps its tape."""
        exchanger = exchanger or LiveExchanger(lambda entry: None, self.interruption.wake)
        wire = DefaultTopicsProbe(exchanger, case_context, self.bootstrap(), self.reach)
        wire.set_up = self.set_up
        wire.journal = self.names.add
        return wire

    def case_context(
        self, case: str, attempt: int, member: CrowdMember | None = None, went_away: bool = False
    ) -> CaseContext:
        """What a case is told of the run."""
        return CaseContext(
            prefix=self.prefix,
            case=case,
            attempt=attempt,
            seed=self.seed + attempt - 1,
            salt=self._salt,
            client_id=ClientAliases(self.prefix, self._salt).hide("probe"),
            latency_ms=self.health.latency_ms,
            time_ms=time.time_ns() // 1_000_000,
            metadata_version=self.metadata_version,
            target=self.target.name,
            target_version=self.version,
            leaderless=self.target.leaderless,
            capabilities=tuple(sorted(self.target.capabilities)),
            our_timers=self.target.sets_timers,
            chosen=tuple(sorted(self.target.chosen)),
            topic_policy=self.topic_policy,
            required=self.required,
            permitted=tuple(sorted(self.permissions.permitted)),
            went_away=went_away,
            crowded=member is not None,
            closing_look=not self._alone,
            look_failures=failed_in_several(self.results),
            waits_once=True,
            names_alike=True,
            known=KnownSteps() if self._alone else known_from(self.results),
        )

    # the cases

    def broken_promises(self) -> list[CaseResult]:
        """What is claimed or required and not offered."""
        return broken_promises(self.claims, self.require, self.offer) + self.health.broken()

    def unkept_promises(self) -> list[CaseResult]:
        """What is claimed or required, and no case could decide for reasons of the broker's; once all have run."""
        promised = [feature for feature, claimed in self.claims.items() if claimed]
        return unkept_promises(promised, self.required, self.results, self.target.chosen)

    def run(self, case: Case, index: int, total: int, estimate_s: float = 0.0) -> CaseResult:
        """Runs a case to its verdict, alone on the target."""
        return CaseRun(self, case, index, total, estimate_s).to_verdict()

    def lost(self, case: Case, error: Exception) -> CaseResult:
        """The result of a case that a mistake of ours kept from its own; called where the mistake was caught."""
        return self.tell(lost(case, error))

    def attempt(self, case: Case, number: int, member: CrowdMember | None = None, went_away: bool = False) -> Outcome:
        """One attempt at a case; with `member` while others are under way. `went_away`: see Liveness.begin.

        Inconclusive where something that was done to a node did not reach its broker, unless a record was harmed.
        """
        self._checked = {}
        outcome = self._attempt(case, number, member, went_away)
        return unless_missed(outcome, self._checked.values())

    def _attempt(self, case: Case, number: int, member: CrowdMember | None, went_away: bool) -> Outcome:
        folder = self.run_dir / history_of(case.id, number)
        case_context = msgspec.structs.replace(
            self.case_context(case.id, number, member, went_away), situation=case.situation
        )
        liveness = member or self.liveness
        if case.hurts or case.kind == "trial" or case.situation is not None:
            self.cluster_moves.forget()
        try:
            in_network = NETWORK in case.needs or not lines_are_enough(case, self.toxiproxies)
            if in_network and not self._has_sound_network():
                if self.run_wide_faults is not None:
                    return not_applicable("needs", "needs nodes that are in a network from the first case on")
                self._enter_network()
            if case.kind == "wire":
                return attempt_wire(self, case, case_context, folder, liveness)
            from brokertrial.suites.trials.attempt import attempt_trial  # the first trial loads the client library

            return attempt_trial(self, case, case_context, folder, liveness)
        except HistoryWriteFailed as error:
            return inconclusive(UNWRITTEN, str(error))
        except TargetProblem:
            raise
        except Exception as error:  # noqa: BLE001 - a mistake of ours must never look like one of the broker
            trace = Evidence("exception", traceback.format_exc())
            return inconclusive("suite", f"{type(error).__name__}: {error}", (trace,))

    @property
    def is_blind(self) -> bool:
        """Whether answers are edited on purpose, so that what is seen of the target proves nothing."""
        return self.liveness.blind

    def _has_sound_network(self) -> bool:
        """Whether the nodes live in a network, of which no fault of an earlier case is left."""
        try:
            return self.target.network is not None and not self.target.network.left()
        except NetworkFailed:
            return False

    def _enter_network(self) -> None:
        """From now on the nodes can be cut off from each other; what was on them is gone."""
        self.liveness.close()
        self.target.enter_network()
        self.liveness.renew()

    def node_controls(self) -> dict[int, NodeControl]:
        """The nodes that may be hurt."""
        self._checked = self._checked or checked(self.target.nodes)
        return dict(self._checked)

    def tidy(self, wire: Wire) -> None:
        """Removes what a case made, on connections of its own; an interrupted run leaves that to its end."""
        if not self.interruption.came:
            cleanup_probe = self._cleanup_probe()
            cleanup_probe.made_topics, cleanup_probe.made_groups = wire.made_topics, wire.made_groups
            remove_created(cleanup_probe)

    def _cleanup_probe(self) -> CleanupProbe:
        cleanup_probe = CleanupProbe.unrecorded(self.case_context("cleaning", 1), self.bootstrap(), self.reach)
        cleanup_probe.hurried = self.interruption.came
        return cleanup_probe

    def bring_back(self) -> None:
        """Every node serves again."""
        if not self.target.alive():
            self.fresh_start.recover()
            forget_run(self.run_dir)

    def restore(self, case: Case | None = None, failed_in: str = "", *, failed: bool = False) -> tuple[str, ...]:
        """Starts a sick target anew, and has every node lead again what it led; what there is to say of it."""
        unserved = self.coordinators.lost_in(case) if failed and case and self.target.restartable else ""
        restarted = self.liveness.restart_if_sick(failed_in or (case.id if case else ""), unserved)
        hurt = bool(restarted) or (case is not None and case.hurts)
        return (*restarted, *(self._unsettled() if self.health.is_well and hurt else ()))

    def _unsettled(self) -> tuple[str, ...]:
        """What of several nodes does not lead again what it led, a warning; waits for that."""
        if len(self.node_controls()) < 2:
            return ()
        unsettled = restore_preferred_leaders(self.unrecorded("settling"), self.offer.nodes)
        return (unsettled,) if unsettled else ()

    def finish(
        self, case: Case, began: int, spent_ns: int, attempts: list[Attempt], outcome: Outcome, number: int
    ) -> CaseResult:
        """The result of a case, told to everybody; `spent_ns` on its attempts, between which others may have run."""
        result = result_of(
            case,
            outcome,
            attempts,
            target=self.target,
            nodes=self.offer.nodes,
            began=began,
            spent_ns=spent_ns,
            seed=self.seed + number - 1,
            facts={"latency_ms": round(self.health.latency_ms, 3)},
            only_proven_accuse=self.unproven == "warn",
        )
        return self.tell(result)

    def tell(self, result: CaseResult) -> CaseResult:
        """Keeps a result and tells everybody."""
        self.results.append(result)
        self.emit(CaseFinished(result))
        return result
