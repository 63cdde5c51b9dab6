"""Transactions as the replicas of a partition show them to readers of what is committed (KIP-98, KIP-392)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, replicated, roles
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.fetch import PositionReader
from brokertrial.wire import errors

STEPS, ROUNDS = 24, 40
WORDS = (*["send"] * 4, *["plain"] * 2, "commit", "commit", "abort")


@case(
    "replication/committed-on-any-replica",
    guarantees=["txn-001", "txn-002", "repl-004"],
    needs=["three-nodes", "leaders"],
    apis={"Fetch": 11, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["V16"],
)
def each_replica_shows_what_is_committed(wire, transactional_id, rng):
    """Whichever replica serves it, a read_committed consumer MUST get the records of committed transactions and plain
    ones up to the oldest transaction that is open, in their order, and none of open or aborted ones.

    Two transactional producers and plain batches, 24 drawn steps; after each the log is read from every replica.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    producers = [wire.producer(transactional_id), wire.producer(wire.name("x"))]
    fates: list[list[bool | None]] = [[None], [None]]
    records: list[tuple[str, list[bool | None]]] = []
    for turn in range(STEPS):
        word, number = rng.choice(WORDS), rng.randrange(2)
        fate, value = fates[number], f"{turn}"
        if word == "plain":
            wire.produce(topic, batch(value))
            records.append((value, [True]))
        elif word == "send":
            producers[number].send(topic, value)
            records.append((value, fate))
        elif any(each is fate for _, each in records):
            (producers[number].commit if word == "commit" else producers[number].abort)().must_succeed()
            fate[0], fates[number] = word == "commit", [None]
        for node in (leader, *followers):
            wire.eventually(lambda node=node: _must_show(wire, topic, node, records), within=WITHIN_S)


def _must_show(wire, topic, node, records):
    wanted = []
    for value, fate in records:
        if fate[0] is None:
            break
        wanted += [value] if fate[0] else []
    reading, position = PositionReader(COMMITTED), 0
    answer = _shown(wire, topic, node, position)
    for _ in range(ROUNDS):
        if not answer.batches:
            break
        position = reading.take(answer, position)
        answer = _shown(wire, topic, node, position)
    found = [(record.value or b"").decode() for record in reading.records]
    answer.must(found == wanted, f"node {node} shows {found}; it must show {wanted}", f"{answer.row}.records")


def _shown(wire, topic, node, position):
    answer = wire.fetch(topic, offset=position, isolation=COMMITTED, to=node, max_wait_ms=0)
    if answer.error == errors.NOT_LEADER_OR_FOLLOWER:
        wire.not_applicable("followers do not serve consumers: what they hold does not show")
    return answer.must_succeed()
