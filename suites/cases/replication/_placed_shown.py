"""How partitions are shown and listed that are moved in any stage, some of them without a known outcome."""

from brokertrial.suites.cases.replication._placements import ABSENT, MovedPartitions
from brokertrial.suites.cases.replication._roles import NO_NODE
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request


class ShownPlaces(MovedPartitions):
    """Partitions of which some may be `loose`: who holds them is decided when the dead node is back. Of one that is
    `lost` the dead node alone has what there is."""

    def __init__(self, wire, rng):
        self.loose: set[int] = set()
        self.lost: set[int] = set()
        super().__init__(wire, rng)

    @breaks("adm-007")
    def _must_be_shown(self, node):
        answer = self.wire.metadata(self.topic, to=node)
        rows = {row.partition_index: row for row in answer.struct.topics[0].partitions}
        wanted = list(range(len(self.places)))
        answer.must(sorted(rows) == wanted, f"node {node} shows the partitions {sorted(rows)}; they must be {wanted}")
        self._must_be_safe(answer, node, rows)
        for index, place in enumerate(self.places):
            if index not in self.loose | self.lost:
                self._must_be_exact(answer, node, index, place, rows[index])

    @breaks("repl-009")
    def _must_be_exact(self, answer, node, index, place, row):
        living = self._living(place)
        where = f"node {node} shows partition {index}"
        with breaks("adm-014", "adm-019"):
            answer.must(row.replica_nodes == place.replicas, f"{where} on {row.replica_nodes}, not on {place.replicas}")
        offline = sorted(set(place.replicas) - set(living))
        answer.must(sorted(row.offline_replicas) == offline, f"{where} offline on {row.offline_replicas}")
        right = sorted(row.isr_nodes) == sorted(living) or (not living and row.isr_nodes == [self.dead])
        answer.must(right, f"{where} in sync on {row.isr_nodes}, not on {living or self.dead}")  # KIP-966: nobody is
        right = row.leader_id in living if living else row.leader_id == NO_NODE
        with breaks("repl-005"):
            answer.must(right, f"{where} led by {row.leader_id}; alive are {living or 'none'} of its replicas")
        if not living:
            return
        with breaks("repl-007"):
            answer.must(
                row.leader_epoch > place.epoch or (row.leader_epoch, row.leader_id) == (place.epoch, place.leader),
                f"{where} led by {row.leader_id} in epoch {row.leader_epoch}; {place.leader} led in {place.epoch}",
            )
        place.epoch, place.leader = row.leader_epoch, row.leader_id

    @breaks("repl-005")
    def _must_be_safe(self, answer, node, rows):
        for index in sorted(self.loose):
            row, living = rows[index], set(rows[index].replica_nodes) & set(self.alive)
            answer.must(
                row.leader_id in living and row.leader_id in row.isr_nodes and {*row.isr_nodes} <= {*self.alive},
                f"node {node} shows partition {index} on {row.replica_nodes}, in sync on {row.isr_nodes}, led by "
                f"{row.leader_id}; it must be one of either, and alive",
            )
        for index in sorted(self.lost):
            row = rows[index]
            nobody = row.leader_id == NO_NODE and row.isr_nodes in ([], [self.dead])
            answer.must(
                nobody and row.replica_nodes == self.places[index].replicas,
                f"node {node} shows partition {index} on {row.replica_nodes}, in sync on {row.isr_nodes}, led by "
                f"{row.leader_id}; {self.dead}, which is dead, has what there is",
            )

    @breaks("adm-019")
    def _must_be_listed(self):
        """What is on the move, asked for by partition or all; of what is loose nothing is asked."""
        names = [index for index in range(len(self.places)) if self.rng.random() < 0.7] + [ABSENT]
        asked = None if self.rng.random() < 0.5 else [{"name": self.topic, "partition_indexes": names}]
        asked_of = self.rng.choice(self.alive)
        answer = self.wire.ask(request("ListPartitionReassignments", topics=asked, timeout_ms=10_000), to=asked_of)
        if answer.error == errors.NOT_CONTROLLER:
            return
        found = {
            row.partition_index: (row.replicas, sorted(row.adding_replicas), sorted(row.removing_replicas))
            for each in answer.must_succeed().struct.topics
            if each.name == self.topic
            for row in each.partitions
            if row.partition_index not in self.loose
        }
        wanted = {
            index: (place.replicas, sorted(place.adding), sorted(place.removing))
            for index, place in enumerate(self.places)
            if place.target is not None and index not in self.loose and (asked is None or index in names)
        }
        answer.must(found == wanted, f"on the move are {found}; it must be {wanted}", "topics")
