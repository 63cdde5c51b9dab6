"""The suite plays a follower that is asked for: the controllers have not agreed yet that it is in sync."""

from contextlib import contextmanager

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._played import LONG_MS, Played
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, produce_request, shown_by
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors

TIMES, SHORT_MS = 3, 500
TOO_FEW = (errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


@contextmanager
def _asked_for(wire, nodes, rng, min_insync):
    """A leader, alone in sync, that hears no controller, and a follower that has just said that it has everything."""
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **{"min.insync.replicas": f"{min_insync}"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    with apart(nodes, followers[0], "brokers"), apart(nodes, followers[1], "brokers"):
        played = Played(wire, rng, topic, leader, followers, ["0"])
        told_by_fetches(wire, played)
        wire.until(
            lambda: shown_by(wire, topic, leader).isr_nodes == [leader], within=WITHIN_S, what=f"{leader} is left alone"
        )
        with apart(nodes, leader, "controllers"):
            for _ in range(TIMES):
                played.said(followers[0], played.end)
                wire.rest(REPLICATED_S / TIMES)
            yield played, followers[0]
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.refresh_metadata(topic)


@case(
    "partition/not-counted-before-it-is-agreed",
    guarantees=["repl-003", "repl-010"],
    needs=NEEDS,
    apis=APIS,
    detects=["B40"],
)
def who_is_only_asked_for_is_not_counted(wire, nodes, rng):
    """A leader MUST NOT count a follower for min.insync.replicas before the controllers have agreed that it is in sync:
    who leads next is elected by what they know (KIP-497). acks=all MUST be refused till then (19, or 20 when it is in
    the log already).

    The leader alone is in sync where two must be. The other brokers do not reach it, nor do the controllers; a follower
    says that it has everything.
    """
    with _asked_for(wire, nodes, rng, 2) as (played, follower):
        for _ in range(TIMES):
            refused = wire.produce(played.topic, batch("refused"), to=played.leader, timeout_ms=SHORT_MS, retry=False)
            refused.must_be_refused(*TOO_FEW)
            played.said(follower, played.end)
    log = wire.read_all(played.topic)
    left = [value for value in log.values if value != b"refused"]
    log.must(left == played.values, f"it holds {left}; what the leader took before is {played.values}")


@case(
    "partition/waited-for-before-it-is-agreed",
    guarantees=["repl-001", "repl-004", "repl-010"],
    needs=NEEDS,
    apis=APIS,
    detects=["B42"],
)
def who_is_asked_for_is_waited_for(wire, nodes, rng):
    """From when a leader has asked the controllers to take a follower into those in sync, it MUST NOT take anything for
    committed, nor acknowledge it to acks=all, that this follower lacks: the controllers may have agreed already, and
    make it leader (KIP-497). What the follower has then MUST be acknowledged.

    The leader was alone in sync, and does not hear the controllers; the follower has everything when it comes.
    """
    with _asked_for(wire, nodes, rng, 1) as (played, follower):
        lacks = f"node {follower}, which is asked for, has all below offset {played.end}"
        asked = produce_request(wire, played.topic, batch("last"), LONG_MS)
        waiting = OpenRequest(wire, played.leader, asked, "produce")
        waiting.await_answer(REPLICATED_S)
        if waiting.answered:
            waiting.response.must(not waiting.acknowledged, f"it is acknowledged; {lacks}")
        seen = wire.fetch(played.topic, offset=played.end, to=played.leader, max_wait_ms=0).must_succeed()
        seen.must(not seen.records, f"it returns {seen.values}; {lacks}")
        played.said(follower, played.end + 1)
        waiting.await_answer(WITHIN_S)
        wire.must(waiting.acknowledged, f"it is {waiting.said}; node {follower}, which is asked for, has it")
    wire.read_all(played.topic).must_hold(*played.values, "last")
