"""What followers give to read_committed consumers of transactions that were committed and aborted (KIP-392)."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, replicated, roles
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.fetch import PositionReader
from brokertrial.wire import errors

FOLLOWED_SINCE, ROUNDS = 11, 60
TRANSACTION, NAMES, PLAIN = 1, 60, -1


@case(
    "replication/aborted-at-every-replica",
    guarantees=["txn-002", "txn-003", "txn-001", "txn-005", "fetch-012"],
    needs=["three-nodes", "leaders", "kill", "restart"],
    apis={"Fetch": FOLLOWED_SINCE, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["B82"],
)
def each_replica_gives_the_same_to_consumers(wire, nodes, rng):
    """In each version of Fetch in which followers serve consumers, a read_committed consumer MUST get the same records
    from every replica, wherever it begins: those that were committed and plain ones, and no aborted one. A
    read_uncommitted one MUST get them all.

    Three producers in turn, of whose transactions at least one is committed and two are aborted, interleaved with each
    other and with plain batches; again after a follower was dead for a part of it, and has what it missed from the
    leader at once.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    names = (wire.name("x") for _ in range(NAMES))
    beside = islice((name for name in names if wire.coordinator(name, TRANSACTION) == leader), 3)
    producers = [wire.producer(name) for name in beside]
    held: list[tuple[int, str, bool]] = []
    _written(wire, rng, topic, producers, held)
    _must_be_shown(wire, topic, held)
    dead = rng.choice(followers)
    nodes.kill(dead)
    wire.until(lambda: dead not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{dead} is out of sync")
    _written(wire, rng, topic, producers, held)
    nodes.start(dead)
    all_in_sync(wire, topic)
    wire.await_topic(topic)
    _must_be_shown(wire, topic, held)


def _written(wire, rng, topic, producers, held):
    """One transaction of each producer; `held` gets (offset, value, whether readers of what is committed get it)."""
    ends = rng.sample([True, False, False], 3)
    for number in rng.sample([0, 1, 2, *rng.choices([0, 1, 2, PLAIN], k=6)], 9):
        value = f"{len(held)}"
        sent = wire.produce(topic, batch(value)) if number == PLAIN else producers[number].send(topic, value)
        held.append((sent.must_succeed().offset, value, number == PLAIN or ends[number]))
    for number in rng.sample(range(3), 3):
        (producers[number].commit if ends[number] else producers[number].abort)().must_succeed()
    wire.await_settled(topic, within=WITHIN_S)


def _must_be_shown(wire, topic, held):
    """By each replica, once it knows what is committed."""
    end = wire.log_end(topic)
    for node in partition(wire, topic).replica_nodes:
        wire.eventually(
            lambda node=node: _fetched(wire, topic, node, end - 1, COMMITTED).must_reach(end - 1), within=WITHIN_S
        )
        for version in (each for each in wire.versions("Fetch") if each >= FOLLOWED_SINCE):
            with wire.part(f"Fetch v{version} of node {node}"):
                for begin in range(end):
                    _must_give(wire, topic, node, version, begin, held)


def _must_give(wire, topic, node, version, begin, held):
    for isolation in (COMMITTED, UNCOMMITTED) if begin == 0 else (COMMITTED,):
        wanted = [value for offset, value, shown in held if offset >= begin and (shown or isolation == UNCOMMITTED)]
        answer = _fetched(wire, topic, node, begin, isolation, version)
        reading = PositionReader(isolation)
        reading.take(answer, begin)
        found = [(record.value or b"").decode() for record in reading.records]
        answer.must(
            found == wanted, f"from offset {begin} it gives {found}; it must give {wanted}", f"{answer.row}.records"
        )


def _fetched(wire, topic, node, begin, isolation, version=None):
    answer = wire.fetch(topic, offset=begin, isolation=isolation, to=node, version=version, max_wait_ms=0, retry=False)
    if answer.error == errors.NOT_LEADER_OR_FOLLOWER:
        wire.not_applicable("followers do not serve consumers: what they hold does not show")
    return answer.must_succeed()
