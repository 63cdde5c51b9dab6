"""The page that owns a trial: the whole story, top to bottom.

What it saw goes to the history; the verdict is read from there (suites/trials/verdict.py), so that `check` finds the
same.
"""

from __future__ import annotations

from brokertrial.faults.apply import applied
from brokertrial.faults.schedule import Schedule
from brokertrial.histories.clock import now_ns
from brokertrial.suites.trials.clients import Clients
from brokertrial.suites.trials.context import TrialContext
from brokertrial.suites.trials.facts import TrialFacts
from brokertrial.suites.trials.final_read import FinalRead
from brokertrial.suites.trials.load import Load
from brokertrial.suites.trials.sightings import Sightings, WatchedRecorder
from brokertrial.suites.trials.trial import Trial

WARM_UP_S = 30.0
FRESH_AFTER_S = 15.0
"""Of the warm-up, before fresh clients try what has not moved once; the clients of the workload go on meanwhile."""
STUCK_TOO_S = 5.0
"""Beyond the limit that was for all, for what depends on it."""
FRESH_S = 15.0
"""For fresh clients to make progress, once the recovery limit has passed without any: a try begun by then is ended."""
SILENT_S = 10.0
"""For clients that are to end: as long as none of them does and nothing is acknowledged, before it is asked why."""
FINAL_READ_S, SIGHTED_READ_S = 75.0, 40.0
CERTAIN_READ_S, CERTAIN_ANSWER_S = 6.0, 2.0
"""For the final read, and for one answer to it, where the verdict is certain: it may show more of what is wrong."""


def run_trial(trial: Trial, schedule: Schedule, trial_context: TrialContext) -> TrialFacts:
    """Runs one trial: warm up, disturb, heal, recover, read everything. Every phase has a deadline.

    Where the verdict is certain, it ends early: dead, and nobody killed it; stuck, and fresh clients are too. What
    clients see and nothing can make right (sightings.py) ends the load; all is read and judged as ever.
    """
    seen, healed_ns = TrialFacts(latency_ms=trial_context.case_context.latency_ms), 0
    with trial_context.links(schedule) as links:
        watched = WatchedRecorder(trial_context.recorder)
        clients = Clients(trial.workload, trial_context, links, watched)
        load, sightings = Load(clients, trial_context), Sightings(watched, _cleaned(trial, trial_context))
        if trial_context.case_context.attempt > 1:  # whatever it was, it did not decide the first
            watched.close()
        try:
            trial_context.phase("warm-up")
            clients.start()
            _warm_up(trial, trial_context, clients, seen, load)
            if not seen.warm:
                return seen

            trial_context.phase("faults")
            with applied(
                schedule,
                links,
                trial_context.node_controls,
                trial_context.recorder,
                clients.clock,
                network=trial_context.network,
                lines=trial_context.lines,
            ) as faults:
                enough_ns = now_ns() + int(trial.at_least_s * 1e9)
                clients.until(
                    lambda: (
                        (
                            clients.acked >= trial.length
                            and clients.context.log_starts_risen >= trial.log_starts_rise
                            and clients.context.assignments >= trial.assignments
                            and _all_bitten(schedule, faults.hits)
                            and faults.finished
                            and now_ns() >= enough_ns
                        )
                        or sightings.look()
                        or load.leads_nowhere(faults)
                    ),
                    trial_context.limit(trial.longest_s),
                    active=lambda: tuple(faults.active),
                )
                seen.faults_over_ns, seen.sighted, seen.died = now_ns(), sightings.first, load.found_dead
                watched.close()
            # leaving the block heals, and reads back that it did
            healed_ns = now_ns()
            seen.take_faults(faults.hits, faults.unhealed, faults.failed)

            trial_context.phase("recovery")
            seen.alive = trial_context.alive()
            if not (seen.certain or seen.sighted):
                _recover(trial, trial_context, clients, seen, load)
            if seen.certain or seen.sighted:
                pass  # nothing is left to wait for
            elif not (clients.end(load.died, trial_context.limit(SILENT_S)) or seen.stuck or seen.behind):
                _ask_why(trial_context, clients, seen)
        except KeyboardInterrupt:
            clients.give_up()
            raise
        finally:
            if seen.certain:
                clients.hurry()
            seen.take_clients(clients.stop(load.died), clients.problems, clients.acked, clients.context.hung_calls)

        trial_context.phase("final read")
        _read_everything(trial, trial_context, clients, seen, healed_ns)
        seen.take_links(links.leaks(), links.lag()["p99"])
        links.flush(last=True)
        links.drain(trial_context.recorder.add)

    trial_context.phase("judging")
    return seen


def _warm_up(trial: Trial, trial_context: TrialContext, clients: Clients, seen: TrialFacts, load: Load) -> None:
    """Waits until there is enough, and everything has moved once.

    What does not is tried by fresh clients, while those of the workload go on: where neither gets anywhere within the
    limit, no fault is needed to tell.
    """
    deadline_ns = now_ns() + int(trial_context.limit(WARM_UP_S) * 1e9)

    def moves() -> bool:
        return clients.acked >= trial.warm_up and not clients.stuck(0)

    moved = clients.until(lambda: moves() or load.died(), trial_context.limit(FRESH_AFTER_S)) and moves()
    seen.alive = moved or trial_context.alive()
    if not (moved or seen.certain or clients.problems):
        seen.fresh = clients.fresh_start(_left_s(deadline_ns) + STUCK_TOO_S, unless=moves)
        if not seen.fresh:
            clients.until(moves, _left_s(deadline_ns))
    seen.warm = not seen.fresh and clients.acked >= trial.warm_up
    if not seen.warm:
        seen.stuck = clients.stuck(0) or ["the warm-up"]


def _recover(trial: Trial, trial_context: TrialContext, clients: Clients, seen: TrialFacts, load: Load) -> None:
    """Waits until all that must move has moved since the heal; what has not is tried by fresh clients.

    Where those do make progress, clients that have taken over from hung ones get the same time again.
    """
    _await(trial, trial_context, clients, seen, load, load.recovery_began_ns())
    if seen.fresh or not (seen.stuck or seen.behind):
        return
    seen.alive = trial_context.alive()
    if seen.certain:
        return
    seen.fresh = clients.fresh_start(trial_context.limit(FRESH_S))
    if seen.fresh:
        return
    if clients.context.hung_calls:
        _await(trial, trial_context, clients, seen, load, now_ns())
    elif not seen.stuck:  # a transaction that the fresh ones ended may have been in the way
        seen.behind = clients.readers_behind(trial_context.limit(STUCK_TOO_S))


def _await(
    trial: Trial, trial_context: TrialContext, clients: Clients, seen: TrialFacts, load: Load, since_ns: int
) -> None:
    """Waits, within the limit, for progress everywhere, and then for every reader to catch up; for none if it died.

    A target that is silent to everybody is tried by fresh clients meanwhile: what they meet by the limit is certain.
    """
    limit_s = trial_context.limit(trial.recovery_s)
    limit_ns = since_ns + int(limit_s * 1e9)

    def moves() -> bool:
        return not clients.stuck(since_ns)

    clients.until(lambda: moves() or load.died() or load.is_silent(), _left_s(limit_ns))
    seen.alive = moves() or trial_context.alive()
    if not (moves() or seen.certain) and load.is_silent():
        seen.fresh = clients.fresh_start(_left_s(limit_ns), unless=moves)
        if not seen.fresh:
            clients.until(lambda: moves() or load.died(), _left_s(limit_ns))
    seen.stuck = clients.stuck(since_ns)
    seen.behind = [] if seen.fresh else clients.readers_behind(0.0 if seen.stuck else limit_s)


def _read_everything(
    trial: Trial, trial_context: TrialContext, clients: Clients, seen: TrialFacts, healed_ns: int
) -> None:
    """The final read. What is certain already does not wait for transactions to time out, and says nothing of them."""
    wire = trial_context.wire()
    if seen.certain:
        wire.at_most_s = wire.until_at_most_s = CERTAIN_ANSWER_S
    final = FinalRead(wire, trial_context.recorder, lambda: not trial_context.alive())
    within_s = CERTAIN_READ_S if seen.certain else SIGHTED_READ_S if seen.sighted else FINAL_READ_S
    transactions = bool(trial.workload.transactional_ids)
    final.everything(clients.places, trial_context.limit(within_s), transactions, healed_ns)
    seen.take_final_read(final.incomplete, {} if seen.certain else final.hanging)
    seen.take_malformed(final.malformed)
    seen.alive = seen.alive and (not final.incomplete or trial_context.alive())  # it may have died of being read


def _ask_why(trial_context: TrialContext, clients: Clients, seen: TrialFacts) -> None:
    """Clients are still in a call: the library hangs, or the broker does, and then it does for fresh clients too."""
    seen.alive = trial_context.alive()
    if not seen.certain:
        seen.fresh = clients.fresh_start(trial_context.limit(FRESH_S))
        seen.stuck = ["calls that have no answer yet"] if seen.fresh else []


def _left_s(deadline_ns: int) -> float:
    return max(0.0, (deadline_ns - now_ns()) / 1e9)


def _all_bitten(schedule: Schedule, hits: dict[str, int]) -> bool:
    return all(hits.get(window.id, 0) > 0 for window in schedule)


def _cleaned(trial: Trial, trial_context: TrialContext) -> list[str]:
    """The topics with settings of their own: their records may go by right."""
    return [trial_context.names[plan.name] for plan in trial.workload.topics if plan.configs]
