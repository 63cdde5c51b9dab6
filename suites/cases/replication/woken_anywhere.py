"""Readers that wait at any replica, and when their fetch returns what is written (KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, replicated, roles
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.wire import errors

WAIT_MS, TURNS = 20_000, 12
FOLLOWED_SINCE = 11  # the first Fetch that followers answer


@case(
    "replication/followers-wake-their-readers",
    guarantees=["fetch-008", "fetch-012"],
    needs=["three-nodes", "leaders"],
    apis={"Fetch": FOLLOWED_SINCE},
    detects=["K21"],
)
def a_reader_that_waits_at_a_follower_is_woken(wire, rng):
    """Whichever replica a consumer waits at, its fetch MUST return a record once that is written and replicated, and
    not only when its wait time is over; in whatever version and isolation.

    Twelve turns, each at a drawn replica that has shown all that was written before.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    versions = wire.versions("Fetch")
    for turn in range(TURNS):
        node, isolation = rng.choice([leader, *followers, *followers]), rng.choice((COMMITTED, UNCOMMITTED))
        version = rng.randint(FOLLOWED_SINCE, versions[-1])
        how = {"offset": turn, "isolation": isolation, "version": version, "to": node}
        wire.until(
            lambda node=node, turn=turn: _shown_at(wire, topic, node, turn) == turn,
            within=WITHIN_S,
            what=f"node {node} shows what was written before",
        )
        with wire.part(f"v{version} at node {node}, {'which leads' if node == leader else 'which follows'}"):
            waiting = wire.fetch(topic, **how, max_wait_ms=WAIT_MS, via=f"reader {turn}", wait=False)
            wire.list_offsets(topic).must_name(offset=turn)
            written = wire.produce(topic, batch(f"{turn}")).must_be_at(turn)
            waiting.must_hold(f"{turn}")
            wire.at_once(waiting, after=written, hidden_s=WAIT_MS / 1_000)


def _shown_at(wire, topic, node, offset):
    answer = wire.fetch(topic, offset=offset, to=node, max_wait_ms=0)
    if answer.error == errors.NOT_LEADER_OR_FOLLOWER:
        wire.not_applicable("followers do not serve consumers: who waits there cannot be woken")
    return answer.high_watermark if not answer.error else -1
