"""AlterPartitionReassignments and ListPartitionReassignments, drawn: what is refused, and what is listed (KIP-455)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

NO_SUCH_BROKER, WITHIN_S, WITH_FACTOR = 77_777, 30, 1
REFUSED, NONE_UNDER_WAY = errors.INVALID_REPLICA_ASSIGNMENT, errors.NO_REASSIGNMENT_IN_PROGRESS
LOST = (errors.UNKNOWN_TOPIC_OR_PARTITION, REFUSED, NONE_UNDER_WAY)
"""Of a partition that there is not: the nodes may be looked at first, as Kafka did with ZooKeeper."""


@case(
    "admin/moves-asked-for-in-any-way",
    guarantees=["adm-019", "adm-016"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    needs=["partitions", "leaders"],
    detects=["H12", "H13", "H14"],
)
def each_move_is_judged_for_itself(wire, topic_of, rng):
    """Each partition that one AlterPartitionReassignments names MUST be judged separately. Existing nodes, each named
    once, are accepted; an empty list, a node named twice or an unknown one is refused (39), as is cancelling a
    reassignment that is not under way (85), a partition that does not exist (3), and another number of nodes where the
    request forbids that (38). A refused row moves nothing, an accepted one is placed as asked;
    ListPartitionReassignments MUST list the reassignments under way of the partitions that it is asked for, and nothing
    else.

    25 drawn requests.
    """
    moves = AskedMoves(wire, {topic_of(partitions=count, what=f"t{count}"): count for count in (1, 3)}, rng)
    for _ in range(25):
        moves.step()


class AskedMoves:
    """Where each partition is to be."""

    def __init__(self, wire, counts, rng):
        self.wire, self.rng, self.nodes, self.absent = wire, rng, sorted(wire.nodes), wire.name("absent")
        self.counts = counts
        self.placed: dict[tuple[str, int], list[int]] = {}
        for name in counts:
            self.placed |= self._replicas(name)[1]

    def step(self):
        rng = self.rng
        version = rng.choice(list(self.wire.versions("AlterPartitionReassignments")))
        strict = version >= WITH_FACTOR and rng.random() < 0.4
        named = [(name, index) for name in self.counts for index in range(self.counts[name])]
        named += [(self.absent, 0), (rng.choice(sorted(self.counts)), 99), (rng.choice(sorted(self.counts)), -1)]
        chosen = rng.sample(named, rng.randint(1, len(named)))
        rows = {one: self._drawn(one, strict) for one in chosen}
        topics = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": index, "replicas": nodes}
                    for (each, index), (nodes, _) in rows.items()
                    if each == name
                ],
            }
            for name in dict.fromkeys(name for name, _ in chosen)
        ]
        asked = request("AlterPartitionReassignments", topics=topics, timeout_ms=20_000)
        if version >= WITH_FACTOR:
            asked.allow_replication_factor_change = not strict
        answer = self.wire.ask(asked, version=version, to=self.wire.controller(), may_take_s=20)
        found = {
            (row.name, part.partition_index): part.error_code
            for row in answer.struct.responses
            for part in row.partitions
        }
        wanted = {one: (code, *LOST * (code == LOST[0])) for one, (_, code) in rows.items()}
        for one in {**wanted, **found}:
            answer.must(found.get(one) in wanted.get(one, ()), _differs(one, found, wanted), "responses")
        answer.must(answer.struct.error_code == 0, "each partition is judged, and the whole is refused", "error_code")
        if version >= WITH_FACTOR:
            answer.must_have("allow_replication_factor_change", not strict)
        for one, (nodes, code) in rows.items():
            if code == errors.NONE:
                self._must_be_under_way(one, nodes)
        self.placed |= {one: nodes for one, (nodes, code) in rows.items() if code == errors.NONE}
        self.wire.eventually(self._must_be_placed, within=WITHIN_S)
        some = [{"topic": name, "partitions": [0, 99]} for name in (*self.counts, self.absent)]
        # While nodes only come, the partition is shown where it will be: what counts is that no move is under way.
        self.wire.eventually(lambda: self._must_list_none(None), within=WITHIN_S)
        self._must_list_none(rng.choice((None, some, some[-1:])))

    def _drawn(self, one, strict):
        """Nodes for a partition, and the error code that this must have."""
        rng, there = self.rng, self.placed.get(one)
        some = rng.sample(self.nodes, rng.randint(1, len(self.nodes)))
        if there is None:
            return rng.choice((None, [], some, [NO_SUCH_BROKER])), LOST[0]
        good = there if rng.random() < 0.4 else some
        odd = rng.choice((None, [], [good[0], good[0]], [NO_SUCH_BROKER], [*good, NO_SUCH_BROKER], [-1], *[good] * 5))
        if odd is None:
            return odd, NONE_UNDER_WAY
        if not odd or len(set(odd)) < len(odd) or not set(odd) <= set(self.nodes):
            # whether the number of nodes is looked at first is the broker's to say
            return (odd, REFUSED) if not strict or len(odd) == len(there) else (there, errors.NONE)
        if strict and len(odd) != len(there):
            return odd, errors.INVALID_REPLICATION_FACTOR
        return odd, errors.NONE

    def _must_be_under_way(self, one, nodes):
        """As long as it is listed: who comes is not there yet, who goes is not to stay."""
        name, index = one
        answer, rows = self._listed([{"topic": name, "partitions": [index]}])
        for row in rows.get(one, []):
            before = set(self.placed[one])
            found = (set(row.adding_replicas), set(row.removing_replicas))
            wanted = (set(nodes) - before, before - set(nodes))
            self.wire.must(found == wanted, f"the nodes that come and go are {found}; they must be {wanted}", answer)

    def _must_be_placed(self):
        for name in self.counts:
            answer, found = self._replicas(name)
            wanted = {one: nodes for one, nodes in self.placed.items() if one[0] == name}
            answer.must(found == wanted, f"the partitions are on {found}; they must be on {wanted}", "topics")

    def _must_list_none(self, asked_for):
        answer, rows = self._listed(asked_for)
        ours = sorted(one for one in rows if one[0] in (*self.counts, self.absent))
        self.wire.must(not ours, f"{ours} are reported as under way; nothing is", answer)

    def _listed(self, topics):
        rows = topics and [{"name": row["topic"], "partition_indexes": row["partitions"]} for row in topics]
        asked = request("ListPartitionReassignments", topics=rows, timeout_ms=20_000)
        answer = self.wire.ask(asked, to=self.wire.controller(), may_take_s=20).must_succeed()
        found: dict[tuple[str, int], list[object]] = {}
        for topic in answer.struct.topics:
            for part in topic.partitions:
                found.setdefault((topic.name, part.partition_index), []).append(part)
        return answer, found

    def _replicas(self, name):
        answer = self.wire.metadata(name).must_succeed()
        rows = answer.struct.topics[0].partitions
        return answer, {(name, row.partition_index): list(row.replica_nodes) for row in rows}


def _differs(one, found, wanted):
    """What is wrong with the answer of a partition, for a person."""
    name, index = one
    if one not in wanted:
        return f"{name}-{index} is in the answer, and was not asked for"
    may = " or ".join(map(errors.name, wanted[one]))
    is_ = f"is answered {errors.name(found[one])}" if one in found else "is not in the answer"
    return f"{name}-{index} {is_}; it must be {may}"
