"""An in-sync set that a leader has asked for, and that the controllers have not agreed to yet: the suite plays a
follower."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._played import LONG_MS, Played
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, produce_request, shown_by
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

TIMES = 3


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
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
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
            waiting = OpenRequest(wire, leader, produce_request(wire, topic, batch("last"), LONG_MS), "produce")
            waiting.await_answer(REPLICATED_S)
            if waiting.answered:
                waiting.response.must(
                    not waiting.acknowledged,
                    f"it is acknowledged; node {followers[0]}, which is asked for, has all below offset {played.end}",
                )
            seen = wire.fetch(topic, offset=played.end, to=leader, max_wait_ms=0).must_succeed()
            seen.must(
                not seen.records,
                f"it returns {seen.values}; node {followers[0]}, which is asked for, has all below offset {played.end}",
            )
            played.said(followers[0], played.end + 1)
            waiting.await_answer(WITHIN_S)
            wire.must(waiting.acknowledged, f"it is {waiting.said}; node {followers[0]}, which is asked for, has it")
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold(*played.values, "last")
