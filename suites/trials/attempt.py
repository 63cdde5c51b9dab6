"""One attempt at a case under faults: topics and names made, the trial conducted, the history closed and judged."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from brokertrial.faults.journal import JOURNALS
from brokertrial.faults.kinds import schedule_text
from brokertrial.faults.proxy_process import ProxyFailed
from brokertrial.faults.schedule import Schedule
from brokertrial.faults.toxiproxy.toxic import ToxiproxyFailed
from brokertrial.histories.header import Header, HistoryWriteFailed
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.outcome import failed, inconclusive, not_applicable
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.naming import shortened
from brokertrial.suites.probe.permission_check import not_permitted
from brokertrial.suites.probe.prerequisites import excused, step_of
from brokertrial.suites.probe.promptness import counted_ms
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import NO_PROGRESS, Evidence, Outcome
from brokertrial.suites.running.attempt_session import AttemptSession
from brokertrial.suites.running.support import unsupported_apis
from brokertrial.suites.trials.context import TrialContext
from brokertrial.suites.trials.facts import KIND
from brokertrial.suites.trials.late_reassignment import SESSIONS
from brokertrial.suites.trials.run_trial import run_trial
from brokertrial.suites.trials.topic_settings import tell_settings
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.trials.verdict import UNDISTURBED, judged
from brokertrial.suites.workloads.workload import Workload

if TYPE_CHECKING:
    from brokertrial.suites.running.crowd import CrowdMember
    from brokertrial.suites.running.liveness import Liveness

SYSTEM = frozenset({"proxy"})


def attempt_trial(
    session: AttemptSession, case: Case, case_context: CaseContext, folder: Path, liveness: Liveness | CrowdMember
) -> Outcome:
    """Runs it and judges what it left on the disk; whatever is not the broker's doing is inconclusive."""
    wire = session.probe(case_context)
    try:
        trial = _trial_of(case).at_scale(session.profile)
        if (lack := _lacks(case, trial, session)) is not None:
            return lack
        for name, at_most in trial.settings:
            wire.needs_setting(name, at_most=at_most)
        liveness.expect_faults(trial.schedule.needs())
        topics, names = _names(trial, wire)
        if lack_of := not_permitted(session.permissions, wire, trial.workload.apis, topics):
            return not_applicable("no-permission", f"no permission: {lack_of}")
        nodes = {f"node{number}": str(node) for number, node in enumerate(wire.nodes, 1)}
        schedule = trial.schedule.with_seed(case_context.seed).naming(**names, **nodes)
        _run(session, case, case_context, folder, trial, schedule, topics, names, wire, liveness)
    except NotApplicable as error:
        return not_applicable(error.kind, error.sentence)
    except Unclear as error:
        return inconclusive(error.kind, error.sentence)
    except BrokerAtFault as error:
        if excuse := wire.permissions.excuse(error.ops):
            return not_applicable("no-permission", f"no permission: {excuse}")
        step = step_of(error, case_context.prefix)
        told = failed(
            error.kind, error.sentence, error.evidence, about=error.about, ours=case_context.prefix, step=step
        )
        return excused(told, case.id, case_context.known)
    except HistoryWriteFailed:
        raise  # the session says it, and does not try again
    except ProxyFailed as error:
        return inconclusive("suite", f"the proxy failed: {error}")
    except ToxiproxyFailed as error:
        return inconclusive("suite", f"{error}")
    except Exception as error:  # noqa: BLE001 - a mistake of ours must never look like one of the broker
        trace = Evidence("exception", traceback.format_exc())
        return inconclusive("suite", f"{type(error).__name__}: {error}", (trace,))
    finally:
        session.tidy(wire)
    return shortened(judged(case, History.open(folder)), wire.named)


def _trial_of(case: Case) -> Trial:
    trial = case.function()
    if not isinstance(trial, Trial):
        raise TypeError(f"{case.id} returned {type(trial).__name__}; a case without `wire` returns a Trial")
    return trial


def _lacks(case: Case, trial: Trial, session: AttemptSession) -> Outcome | None:
    if (reason := unsupported_apis(case.id, trial.workload.apis, session.offer)) is not None:
        return not_applicable(reason.kind, reason.sentence)
    if (failed_in := _never_began(trial.workload, session)) is not None:
        return not_applicable("needs", f"needs clients that get anywhere before any fault, which failed in {failed_in}")
    if missing := sorted(trial.schedule.needs() - session.target.capabilities - SYSTEM):
        return not_applicable("missing-capability", f"the target cannot be made to: {', '.join(missing)}")
    return None


def _never_began(workload: Workload, session: AttemptSession) -> str | None:
    """The case that failed before its first fault, for nothing moved, with clients of the same kind."""
    for result in session.results:
        stuck = any(a.name == NO_PROGRESS and a.sentence.startswith(UNDISTURBED) for a in result.anomalies)
        if result.is_failure and stuck and type(_trial_of(by_id()[result.case]).workload) is type(workload):
            return result.case
    return None


def _names(trial: Trial, wire: Wire) -> tuple[dict[str, int], dict[str, str]]:
    """Makes the topics; every {word} of the schedule gets its name of this run."""
    topics: dict[str, int] = {}
    names: dict[str, str] = {}
    for plan in trial.workload.topics:
        names[plan.name] = wire.new_topic(
            plan.name, partitions=plan.partitions, configs=dict(plan.configs), more_will_do=True
        )
        topics[names[plan.name]] = len(wire.known_partitions(names[plan.name]))
    for word in trial.workload.groups:
        names[word] = wire.name("g")
        wire.will_make(wire.made_groups, names[word])
    for word in trial.workload.transactional_ids:
        names[word] = wire.name("x")
    return topics, names


def _run(
    session: AttemptSession,
    case: Case,
    case_context: CaseContext,
    folder: Path,
    trial: Trial,
    schedule: Schedule,
    topics: dict[str, int],
    names: dict[str, str],
    wire: Wire,
    liveness: Liveness | CrowdMember,
) -> None:
    header = Header(
        case=case.id,
        target=session.target.name,
        target_version=session.version,
        seed=case_context.seed,
        schedule=msgspec.to_builtins(schedule),
        nodes=session.offer.nodes,
        profile=session.profile,
        attempt=case_context.attempt,
        settings={
            "scene": msgspec.to_builtins(case_context),
            "kind": case.kind,
            "content": case.content_hash,
            "length": trial.length,
            "during_faults": trial.during_faults,
            "assignments": trial.assignments,
            "schedule_text": schedule_text(schedule),
            "named": wire.named,
            "checks": list(trial.checks),
            "observations": trial.observations,
            "takeover_s": trial.session_s and trial.session_s * SESSIONS + 0.1 * counted_ms(case_context.latency_ms),
        },
    )
    journals = session.run_dir / JOURNALS
    journals.mkdir(exist_ok=True)
    with Recorder.create(folder, header) as recorder:
        trial_context = TrialContext(
            case_context=case_context,
            recorder=recorder,
            node_controls=session.node_controls(),
            bootstrap=session.bootstrap(),
            reach=session.reach_table(),
            topics=topics,
            names=names,
            alive=session.target.alive,
            emit=session.emit,
            journal=journals / f"{folder.name}.jsonl",
            network=session.target.network,
            toxiproxies=session.toxiproxies,
            wire=lambda client: session.probe(
                structs.replace(case_context, client_id=client) if client else case_context
            ),
        )
        tell_settings(wire, recorder, topics)
        seen = run_trial(trial, schedule, trial_context)
        if session.target.alive():  # who is dead is brought back, and looked at, later: the history says it already
            seen.condition = liveness.look_after_trial(bool(seen.fresh))
        recorder.event(KIND, seen=msgspec.to_builtins(seen))
