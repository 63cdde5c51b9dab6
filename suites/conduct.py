"""The page that owns a trial: the whole story, top to bottom.

What it saw goes to the history; the verdict is read from there (suites/trial_verdict.py), so that `check` finds the
same.
"""

from __future__ import annotations

from faults.apply import applied
from faults.schedule import Schedule
from histories.clock import now_ns
from suites.clients import Clients
from suites.conclusion import Conclusion
from suites.final_read import FinalRead
from suites.ground import Ground
from suites.trial import Trial

WARM_UP_S = 30.0
FINAL_READ_S = 75.0
FRESH_S = 10.0
"""For fresh clients to make progress, once the recovery limit has passed without any: a try begun by then is ended."""
STUCK_TOO_S = 5.0
"""For readers, where the recovery limit has passed already without progress."""


def conduct(trial: Trial, schedule: Schedule, ground: Ground) -> Conclusion:
    """Runs one trial: warm up, disturb, heal, recover, read everything. Every phase has a deadline."""
    seen = Conclusion(latency_ms=ground.scene.latency_ms)
    with ground.links() as links:
        clients = Clients(trial.workload, ground, links)
        try:
            ground.phase("warm-up")
            clients.start()
            seen.warm = clients.until(lambda: clients.acked >= trial.warm_up, ground.limit(WARM_UP_S))
            if not seen.warm:
                seen.stuck = clients.stuck(0)
                seen.fresh = clients.fresh_start(ground.limit(STUCK_TOO_S))
                return seen

            ground.phase("faults")
            with applied(schedule, links, ground.victims, ground.recorder, clients.clock) as faults:
                enough_ns = now_ns() + int(trial.at_least_s * 1e9)
                clients.until(
                    lambda: (
                        clients.acked >= trial.length
                        and clients.stage.log_starts_risen >= trial.log_starts_rise
                        and _all_bitten(schedule, faults.hits)
                        and faults.finished
                        and now_ns() >= enough_ns
                    ),
                    ground.limit(trial.longest_s),
                    active=lambda: tuple(faults.active),
                )
                seen.faults_over_ns = now_ns()
            # leaving the block heals, and reads back that it did
            seen.take_faults(faults.hits, faults.unhealed, faults.failed)

            ground.phase("recovery")
            healed_ns = now_ns()
            seen.alive = ground.alive()
            _recover(trial, ground, clients, seen, healed_ns)
            if (seen.stuck or seen.behind) and clients.stage.hung_calls:  # others have taken over since
                _recover(trial, ground, clients, seen, healed_ns)
            if seen.stuck or seen.behind:
                seen.fresh = clients.fresh_start(ground.limit(FRESH_S))
                if not (seen.fresh or seen.stuck):  # a transaction that the fresh ones ended may have been in the way
                    seen.behind = clients.readers_behind(ground.limit(STUCK_TOO_S))
        except KeyboardInterrupt:
            clients.give_up()
            raise
        finally:
            seen.take_clients(clients.stop(), clients.problems, clients.acked, clients.stage.hung_calls)

        ground.phase("final read")
        final = FinalRead(ground.wire(), ground.recorder)
        final.everything(clients.places, ground.limit(FINAL_READ_S), bool(trial.workload.transactional_ids))
        seen.take_final_read(final.incomplete, final.hanging)
        seen.take_malformed(final.malformed)
        seen.take_links(links.leaks(), links.lag()["p99"])
        links.flush(last=True)
        links.drain(ground.recorder.add)

    ground.phase("judging")
    return seen


def _recover(trial: Trial, ground: Ground, clients: Clients, seen: Conclusion, healed_ns: int) -> None:
    """Waits, within the limit, until all that must move has moved since the heal, and every reader has caught up."""
    clients.until(lambda: not clients.stuck(healed_ns), ground.limit(trial.recovery_s))
    seen.stuck = clients.stuck(healed_ns)
    seen.behind = clients.readers_behind(ground.limit(STUCK_TOO_S if seen.stuck else trial.recovery_s))


def _all_bitten(schedule: Schedule, hits: dict[str, int]) -> bool:
    return all(hits.get(window.id, 0) > 0 for window in schedule)
