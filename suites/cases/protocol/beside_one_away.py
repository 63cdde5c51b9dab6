"""FindCoordinator for several keys of which some have no coordinator (KIP-699)."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._led_in_turn import APIS as MOVES
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.cases.replication._too_few import COPIES
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition, names_in
from brokertrial.wire import errors
from brokertrial.wire.messages import request

STATE_TOPIC = "__transaction_state"
KINDS = {"group": (0, OFFSETS_TOPIC), "transaction": (1, STATE_TOPIC)}
AWAY, OTHERS, ORDERS = 2, 6, 4


@case(
    "protocol/coordinators-beside-one-that-is-away",
    guarantees=["prot-019"],
    apis={"FindCoordinator": 4, "IncrementalAlterConfigs": 0, **MOVES},
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["B152"],
)
def each_key_is_answered_for_itself(wire, group, transactional_id, nodes, rng):
    """FindCoordinator that is asked for several keys MUST answer each as it answers that key alone: where some have no
    coordinator at that time (COORDINATOR_NOT_AVAILABLE, 15), the others MUST have theirs, wherever they stand.

    One partition of the log of groups and one of that of transactions are on one node alone, which is killed.
    """
    dead, asked = rng.sample(wire.nodes, 2)
    alive = [node for node in wire.nodes if node != dead]
    logs = [
        LeaderlessKeys(wire, kind, key, asked) for kind, key in (("group", group), ("transaction", transactional_id))
    ]
    for log in logs:
        log.is_on(dead)
    nodes.kill(dead)
    try:
        for log in logs:
            log.has_no_leader(alive)
            with wire.part(log.kind):
                log.must_be_answered(rng, alive)
    finally:
        nodes.start(dead)
        for log in logs:
            log.is_as_before(dead)


class LeaderlessKeys:
    """Keys of one kind: of a partition that will have no leader, and of others."""

    def __init__(self, wire, kind, key, asked):
        self.wire, self.kind, self.asked = wire, kind, asked
        self.number, self.topic = KINDS[kind]
        wire.coordinator(key, self.number)
        (row,) = wire.metadata(self.topic, to=asked).struct.topics
        count = len(row.partitions)
        self.index = coordinator_partition(key, count)
        self.before = [*self._shown().replica_nodes]
        others = [index for index in range(count) if index != self.index]
        if not others or any(len(part.replica_nodes) < len(wire.nodes) for part in row.partitions):
            wire.not_applicable(f"{self.topic} does not have several partitions on each node")
        self.away = [*islice(names_in(wire, self.index, count), AWAY)]
        self.others = [next(names_in(wire, others[n % len(others)], count)) for n in range(OTHERS)]

    def is_on(self, node):
        """On this one alone, which may lead it again when it was killed: so many are enough (KIP-966)."""
        self.wire.change_configs(TOPIC, self.topic, [(COPIES, SET, "1")]).must_succeed()
        comes_to_lead(self.wire, self.topic, [node], self.asked, self.index)

    def is_as_before(self, node):
        """Only a partition that has a leader can be moved."""
        self.wire.until(lambda: self._shown().leader_id == node, within=WITHIN_S, what=f"node {node} leads it again")
        comes_to_lead(self.wire, self.topic, self.before, self.asked, self.index)
        self.wire.until(
            lambda: {*self._shown().isr_nodes} == {*self.before}, within=WITHIN_S, what="all replicas are in sync"
        )
        self.wire.change_configs(TOPIC, self.topic, [(COPIES, DELETE, None)]).must_succeed()

    def _shown(self):
        return shown(self.wire, self.topic, self.asked, self.index)

    def has_no_leader(self, alive):
        """Each living node knows who leads what: one partition has no leader, the others have."""
        for node in alive:
            self.wire.until(lambda node=node: self._knows(node, alive), within=WITHIN_S, what=f"node {node} knows it")

    def _knows(self, node, alive):
        rows = self.wire.metadata(self.topic, to=node).struct.topics[0].partitions
        return all(
            row.leader_id == NO_NODE if row.partition_index == self.index else row.leader_id in alive for row in rows
        )

    def must_be_answered(self, rng, alive):
        for node in alive:
            alone = {}
            for key in (*self.away, *self.others):
                answer, alone[key] = self._asked(node, [key])
                right = errors.COORDINATOR_NOT_AVAILABLE if key in self.away else errors.NONE
                code = alone[key][0][1]
                answer.must(code == right, f"alone it is answered with {code}; it must be {right}", "coordinators")
            for _ in range(ORDERS):
                keys = rng.sample([*alone], rng.randint(2, len(alone)))
                keys = [*dict.fromkeys((*keys, rng.choice(self.away), rng.choice(self.others)))]
                keys = rng.sample(keys, len(keys))
                answer, found = self._asked(node, keys)
                wanted = sorted(alone[key][0] for key in keys)
                said = f"(key, error, node) are {sorted(found)}; each alone they are {wanted}"
                answer.must(sorted(found) == wanted, said, "coordinators")

    def _asked(self, node, keys):
        answer = self.wire.ask(request("FindCoordinator", key_type=self.number, coordinator_keys=keys), to=node)
        return answer, [(row.key, row.error_code, row.node_id) for row in answer.struct.coordinators]
