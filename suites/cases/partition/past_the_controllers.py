"""Followers that catch up while the controllers are gone."""

from contextlib import ExitStack

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, is_in_sync
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

ALONE = {"min.insync.replicas": "1"}
TURNS, CAUGHT_UP_S = 2, 1


@case(
    "partition/caught-up-past-the-controllers",
    guarantees=["repl-002", "repl-012"],
    needs=[*NEEDS, "kill", "restart"],
    apis={"CreateTopics": 5},
    detects=["B23"],
)
def who_catches_up_while_the_controllers_are_gone_is_in_sync(wire, nodes, rng):
    """A replica that was left out, and catches up while the controllers crash, MUST be in sync again; and again when it
    is left out once more: what its leader asks for in vain it asks for again.

    Where brokers are controllers too, none of these crashes.
    """
    leader, lagging, third = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, lagging, third], **ALONE)
    all_in_sync(wire, topic)
    for turn in range(TURNS):
        with ExitStack() as parted:
            parted.enter_context(apart(nodes, lagging, "brokers"))
            wire.produce(topic, batch(f"{turn}"), acks=1, to=leader).must_be_at(turn)
            wire.until(
                lambda: not is_in_sync(wire, topic, lagging, leader),
                within=WITHIN_S,
                what=f"node {lagging} is not in sync",
            )

            def meanwhile(healed=parted):
                healed.close()
                wire.rest(CAUGHT_UP_S)

            nodes.crash_controllers(meanwhile)
        all_in_sync(wire, topic)
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold(*(f"{turn}" for turn in range(TURNS)))
