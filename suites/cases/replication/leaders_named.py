"""Who leads instead, as nodes that do not lead say with their refusals (KIP-951)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ONE_COPY = {"min.insync.replicas": "1"}
HINTS_SINCE = {"Produce": 10, "Fetch": 16}
MOVED = {
    "Produce": (errors.NOT_LEADER_OR_FOLLOWER,),
    "Fetch": (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH),
}
BY_ID = 13
UNSAID, NO_LEADER = -1, (-1, -1)
MUCH = 1 << 20


@case(
    "replication/leaders-are-named",
    guarantees=["repl-018", "prod-009"],
    needs=["three-nodes", "leaders", "topic-settings"],
    apis={"Produce": 10, "Fetch": 16, "AlterPartitionReassignments": 0},
    detects=["X06", "X07"],
)
def who_refuses_names_the_leader(wire, rng):
    """Where a node names leaders with NOT_LEADER_OR_FOLLOWER, and in Fetch with FENCED_LEADER_EPOCH, it MUST name each
    such partition's leader and its epoch, list the address of each of these leaders once, as Metadata has it, and name
    none beside any other answer. Partitions that it leads itself MUST be served as usual.

    Partitions of several leaders in each request, some of which have moved; every version of Produce and Fetch.
    """
    placed = LedByMany(wire, rng)
    for _ in range(3):
        for api in HINTS_SINCE:
            for version in (each for each in wire.versions(api) if each >= HINTS_SINCE[api] - 1):
                placed.ask(api, version, rng.choice(wire.nodes))
        placed.move()
    placed.must_hold_what_was_taken()


class LedByMany:
    """Partitions of one copy each, and how many records each has taken."""

    def __init__(self, wire, rng):
        self.wire, self.rng = wire, rng
        topics = [wire.name(what) for what in ("one", "two")]
        self.taken = {(topic, index): 0 for topic in topics for index in range(5)}
        for topic in topics:
            on = {index: [rng.choice(wire.nodes)] for index in range(5)}
            wire.create_topic(topic, partitions=-1, assignments=on, configs=ONE_COPY).must_succeed()
            wire.await_topic(topic)

    def move(self):
        """Some partitions go to other nodes: the epochs of their leaders rise, and who led them refuses."""
        topic = self.rng.choice(sorted({topic for topic, _ in self.taken}))
        wanted = {index: self.rng.choice(self.wire.nodes) for index in self.rng.sample(range(5), 3)}
        before = {index: self.wire.leader(topic, index) for index in wanted}
        rows = [{"partition_index": index, "replicas": [node]} for index, node in wanted.items()]
        asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": topic, "partitions": rows}])
        self.wire.ask(asked, to=self.wire.controller).must_succeed()
        for node in self.wire.nodes:
            self.wire.until(
                lambda at=node: self._are_led(at, topic, wanted), within=WITHIN_S, what=f"{topic} is led by {wanted}"
            )
        self.wire.await_topic(topic)
        for index, former in before.items():
            if former != wanted[index]:
                self.wire.until(
                    lambda at=former, of=index: self.wire.list_offsets(topic, of, to=at).error != errors.NONE,
                    within=WITHIN_S,
                    what=f"node {former} leads {topic}-{index} no more",
                )

    def _are_led(self, node, topic, wanted):
        partitions = self.wire.metadata(topic, to=node).struct.topics[0].partitions
        shown = {row.partition_index: (row.leader_id, row.replica_nodes) for row in partitions}
        return all(shown.get(index) == (leader, [leader]) for index, leader in wanted.items())

    def ask(self, api, version, node):
        """One request for a drawn choice of the partitions, to one node."""
        places = self.rng.sample(list(self.taken), self.rng.randint(2, len(self.taken)))
        epochs = {place: self._epoch(place) if api == "Fetch" else UNSAID for place in places}
        asked = self._produce(places) if api == "Produce" else self._fetch(epochs)
        answer = self.wire.ask(asked, version=version, to=node)
        codes = {place: self._code(place, node, epochs[place]) for place in places}
        rows = self._rows(answer, api)
        answer.must(sorted(rows) == sorted(codes), f"the rows are of {sorted(rows)}; they must be of {sorted(codes)}")
        for place, part in rows.items():
            said, right = part.error_code, codes[place]
            answer.must(
                said == right, f"node {node} answers {said} for {place[0]}-{place[1]}; it must be {right}", "responses"
            )
            if api == "Produce" and right == errors.NONE:
                self.taken[place] += 1
        if version >= HINTS_SINCE[api]:
            self._must_be_named(answer, rows, {place for place in rows if codes[place] in MOVED[api]}, node)

    def _produce(self, places):
        topics = [
            {
                "name": topic,
                "topic_id": self.wire.topic_id(topic),
                "partition_data": [{"index": n, "records": batch("new")} for name, n in places if name == topic],
            }
            for topic in dict.fromkeys(topic for topic, _ in places)
        ]
        return request("Produce", acks=-1, timeout_ms=10_000, topic_data=topics)

    def _fetch(self, epochs):
        topics = [
            {
                "topic": topic,
                "topic_id": self.wire.topic_id(topic),
                "partitions": [
                    {"partition": n, "current_leader_epoch": epoch, "fetch_offset": 0, "partition_max_bytes": MUCH}
                    for (name, n), epoch in epochs.items()
                    if name == topic
                ],
            }
            for topic in dict.fromkeys(topic for topic, _ in epochs)
        ]
        return request(
            "Fetch", replica_id=-1, max_wait_ms=100, min_bytes=1, max_bytes=MUCH, session_epoch=-1, topics=topics
        )

    def _epoch(self, place):
        known = self.wire.known_epoch(*place)
        return self.rng.choice((UNSAID, known, max(known - 1, UNSAID), known + 1))

    def _code(self, place, node, epoch):
        if self.wire.leader(*place) != node:
            return errors.NOT_LEADER_OR_FOLLOWER
        known = self.wire.known_epoch(*place)
        if epoch in (UNSAID, known):
            return errors.NONE
        return errors.FENCED_LEADER_EPOCH if epoch < known else errors.UNKNOWN_LEADER_EPOCH

    def _rows(self, answer, api):
        names = {self.wire.topic_id(topic): topic for topic, _ in self.taken}
        by_id = answer.version >= BY_ID
        if api == "Produce":
            parts = ((row, part.index, part) for row in answer.struct.responses for part in row.partition_responses)
            return {(names.get(row.topic_id) if by_id else row.name, n): part for row, n, part in parts}
        parts = ((row, part.partition_index, part) for row in answer.struct.responses for part in row.partitions)
        return {(names.get(row.topic_id) if by_id else row.topic, n): part for row, n, part in parts}

    def _must_be_named(self, answer, rows, moved, node):
        """All leaders are named, or none: a client that gets none asks for metadata."""
        named = {
            place: (part.current_leader.leader_id, part.current_leader.leader_epoch) for place, part in rows.items()
        }
        if all(leader == NO_LEADER for leader in named.values()):
            answer.must(
                not answer.struct.node_endpoints,
                "it lists addresses of leaders that it names nowhere",
                "node_endpoints",
            )
            return
        for place, leader in named.items():
            right = (self.wire.leader(*place), self.wire.known_epoch(*place)) if place in moved else NO_LEADER
            answer.must(
                leader == right,
                f"for {place[0]}-{place[1]} it names leader and epoch {leader}; they are {right}",
                "responses",
            )
        brokers = {row.node_id: (row.host, row.port, row.rack) for row in self.wire.metadata(to=node).struct.brokers}
        at = sorted((leader, *brokers[leader]) for leader in {named[place][0] for place in moved})
        listed = sorted((row.node_id, row.host, row.port, row.rack) for row in answer.struct.node_endpoints)
        answer.must(listed == at, f"these leaders listen at {at}; it lists {listed}", "node_endpoints")

    def must_hold_what_was_taken(self):
        for (topic, index), count in self.taken.items():
            self.wire.read_all(topic, index).must_hold(*["new"] * count)
