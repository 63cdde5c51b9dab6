"""Several transactions in drawn steps, while nodes go and come back and leaders and coordinators move."""

from collections.abc import Callable
from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC, hand_over
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.cases.transactions.drawn import APIS, follow
from brokertrial.suites.probe.preferred_leaders import await_leaders

TRANSACTION = 1
TURNS = 46


@case(
    "transactions/whatever-comes-next-among-nodes",
    guarantees=["txn-011", "txn-001", "txn-002", "txn-004", "txn-021", "repl-012", "idem-008"],
    apis=APIS | MOVES,
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "terminate", "restart"],
    detects=["K39", "M17"],
)
def every_log_follows_its_transactions_among_nodes(wire, topic_of, rng, nodes):
    """Each partition MUST have the end and the last stable offset of its transactions, MUST list the open ones with
    their start, and MUST hold what was committed for readers, whichever node leads it or coordinates them.

    In a drawn order nodes are killed and stopped cleanly, and are away for some steps; leaders and coordinators are
    handed over, and the controllers crash. Each time all transactions are open, in two partitions.
    """
    among = Among(wire, nodes, rng)
    ways = rng.sample([nodes.kill, nodes.kill, nodes.terminate], 3)
    moves = rng.sample([among.leaders_move, among.coordinators_move, nodes.crash_controllers], 3)
    turns: dict[int, Callable[[], None]] = {}
    for number, (away, move) in enumerate(zip(ways, moves, strict=True)):
        first = 4 + number * 14
        turns |= {first: partial(among.goes, away), first + 5: among.comes_back, first + 9: move}

    def disturb(turn, *topics):
        if turn in turns:
            among.topics = topics
            turns[turn]()
            among.look_up_again()
        return turn in turns

    follow(wire, topic_of, rng, TURNS, disturb, turns_before=turns, replicas=3, configs={"segment.ms": "60000"})


class Among:
    """Who is away, and where what moves goes to."""

    def __init__(self, wire, nodes, rng):
        self.wire, self.nodes, self.rng = wire, nodes, rng
        self.topics: tuple[str, ...] = ()
        self.away = NO_NODE

    def goes(self, how):
        """A node that leads a partition, or coordinates a transaction, is gone: others do so then."""
        self.away = self.rng.choice([self.wire.leader(self.rng.choice(self.topics)), self._coordinator()])
        others = [node for node in self.wire.nodes if node != self.away]
        how(self.away)
        for node in others:
            self.wire.until(
                lambda node=node: self._is_done_without(node), within=WITHIN_S, what=f"node {self.away} leads nothing"
            )

    def comes_back(self):
        """It is in sync again with all that there is, and leads what it is first of: what the broker moves back by
        itself a little later may have a marker twice."""
        self.nodes.start(self.away)
        self.away = NO_NODE
        self.wire.until(self._all_in_sync, within=WITHIN_S, what="all replicas are in sync")
        self.wire.refresh_metadata()
        await_leaders(self.wire, of_all=True)

    def leaders_move(self):
        topic = self.rng.choice(self.topics)
        former = self.wire.leader(topic)
        hand_over(self.wire, topic, former, self._another(former))

    def coordinators_move(self):
        former = self._coordinator()
        hand_over(self.wire, STATE_TOPIC, former, self._another(former))

    def look_up_again(self):
        for kind, key in self.wire.known_coordinators:
            self.wire.forget_coordinator(key, kind)
        for topic in self.topics:
            if self.away == NO_NODE:
                self.wire.await_topic(topic)
            self.wire.refresh_metadata(topic)

    def _coordinator(self):
        ids = [key for kind, key in self.wire.known_coordinators if kind == TRANSACTION]
        return self.wire.coordinator(self.rng.choice(ids), TRANSACTION)

    def _another(self, node):
        return self.rng.choice([each for each in self.wire.nodes if each != node])

    def _partitions(self, node=None):
        answer = self.wire.metadata(STATE_TOPIC, *self.topics, to=node)
        return [row for topic in answer.struct.topics for row in topic.partitions]

    def _is_done_without(self, node):
        return all(row.leader_id not in (self.away, NO_NODE) for row in self._partitions(node))

    def _all_in_sync(self):
        return all({*row.isr_nodes} == {*row.replica_nodes} for row in self._partitions())
