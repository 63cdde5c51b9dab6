"""What each node shows of partitions whose leaders change, and how it refuses who is wrong about that."""

from typing import Any

from brokertrial.suites.cases.replication._elected_cluster import ElectedCluster
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition, names_in
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ASKED = {"ListOffsets": "offs-009", "OffsetForLeaderEpoch": "repl-008", "Fetch": "fetch-011", "Produce": "prod-009"}
"""What is asked of leaders, and what is broken where another node answers, or the client's epoch is not looked at."""
EPOCHS_SINCE, MANY, MUCH = 7, 2000, 1 << 20
KNOWS_EPOCHS = {"ListOffsets": 4, "OffsetForLeaderEpoch": 2, "Fetch": 9}
NAMES_LEADERS = {"Produce": 10, "Fetch": 16}
SERVED_BY_FOLLOWERS = 11
"""Followers serve consumers from this version of Fetch on."""
GROUP, UNSAID = 0, (-1, -1)
ELSEWHERE = (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH)


class SeenCluster(ElectedCluster):
    """The nodes are asked about their partitions."""

    def __init__(self, wire, rng):
        super().__init__(wire, rng)
        self.newest: dict[tuple[int, str, int], int] = {}
        """(node, topic, partition) -> the newest epoch that it has shown."""
        self.led: dict[tuple[str, int, int], int] = {}
        """(topic, partition, epoch) -> who leads then."""
        self.groups: list[str] = []
        self.wrong: list[tuple[Any, str]] = []
        """Answers that are right at no time."""

    def begins_anew(self, node):
        self.newest = {key: epoch for key, epoch in self.newest.items() if key[0] != node}

    # what all must show

    def must_be_settled(self):
        """Every node that is alive shows each partition as it must be by now, and all show the same."""
        for node in self.alive:
            self._eventually(self._must_show, node, self._a_version("Metadata", EPOCHS_SINCE))
        self._eventually(self._must_agree)

    def look(self):
        """Each node is asked in several ways; it has heard of everything."""
        for node in self.alive:
            for kind in self.rng.sample(("Metadata", "DescribeTopicPartitions", *ASKED), 4):
                if kind == "Metadata":
                    self._eventually(self._must_show, node, self._a_version("Metadata", EPOCHS_SINCE))
                elif kind != "DescribeTopicPartitions":
                    self._must_answer(node, kind)
                elif self.wire.versions(kind):
                    self._eventually(self._must_describe, node)

    def _eventually(self, must, *what):
        """The same question is asked again; what was never right is false nevertheless."""
        try:
            self.wire.eventually(same_draws(self.rng, must, *what), within=WITHIN_S)
        finally:
            for answer, sentence in self.wrong:
                with breaks("repl-007"):
                    answer.must(False, sentence, "topics")

    def _a_version(self, api, since):
        return self.rng.choice([one for one in self.wire.versions(api) if one >= since])

    def _topics(self):
        return sorted(self.own)

    def _must_show(self, node, version=None):
        answer = self.wire.metadata(*self._topics(), to=node, version=version)
        brokers = sorted(row.node_id for row in answer.struct.brokers)
        with breaks("kraft-005"):
            right = brokers == self.alive
            answer.must(right, f"node {node} shows the brokers {brokers}; {self.alive} are alive", "brokers")
        return self._must_be_right(node, answer)

    def _must_describe(self, node):
        rows = [{"name": name} for name in self._topics()]
        asked = request("DescribeTopicPartitions", topics=rows, response_partition_limit=MANY, cursor=None)
        answer = self.wire.ask(asked, to=node)
        found = self._must_be_right(node, answer, (errors.NONE,))  # Apache Kafka describes a partition without an error
        for part in self.parts:
            eligible = sorted(found[part.topic, part.index].eligible_leader_replicas or ())
            right = sorted(part.eligible)
            with breaks("repl-005"):
                said = f"node {node} shows {eligible} eligible to lead {part}, not {right}"
                answer.must(eligible == right, said, "topics")
        return found

    @breaks("adm-001")
    def _must_be_right(self, node, answer, unsaid=()):
        found = {(row.name, each.partition_index): each for row in answer.struct.topics for each in row.partitions}
        for part in self.parts:
            answer.must((part.topic, part.index) in found, f"node {node} does not show {part}", "topics")
            row = found[part.topic, part.index]
            self._must_be_possible(node, answer, part, row)
            replicas, isr = [*row.replica_nodes], [*row.isr_nodes]
            where = f"node {node} shows {part} on {replicas}"
            answer.must(replicas == part.replicas, f"{where}; it was placed on {part.replicas}", "topics")
            way = (row.leader_id, row.leader_epoch)
            with breaks("repl-005", "repl-007"):
                answer.must(
                    way in part.ways,
                    f"{where}, led in epoch {way[1]} by {way[0]}; in sync are {sorted(part.isr)}, alive "
                    f"{sorted(part.alive)}, and leader and epoch must be {_any_of(part.ways)}",
                    "topics",
                )
            in_sync, gone = sorted(part.isr), sorted({*replicas} - {*self.alive})
            with breaks("repl-009"):
                answer.must(sorted(isr) == in_sync, f"{where}, in sync {isr}; it must be {in_sync}", "topics")
            offline = sorted(row.offline_replicas)
            with breaks("kraft-005"):
                answer.must(offline == gone, f"{where}, offline {offline}; it must be {gone}", "topics")
            code = errors.LEADER_NOT_AVAILABLE if way[0] == NO_NODE else errors.NONE
            right = row.error_code in (code, *unsaid)
            with breaks("repl-005"):
                answer.must(right, f"{where} with error {row.error_code}; it must be {code}", "topics")
        return found

    def _must_be_possible(self, node, answer, part, row):
        """An epoch has one leader, which is in sync; no node goes back to an older one; who was dead when it began is
        not in sync, nor is who does not hold the partition."""
        leader, epoch = row.leader_id, row.leader_epoch
        newest = self.newest.get((node, part.topic, part.index), -1)
        said = f"node {node} shows {part} led by {leader} in epoch {epoch}"
        if epoch < newest:
            self.wrong.append((answer, f"{said}, and had shown epoch {newest}"))
        self.newest[node, part.topic, part.index] = max(epoch, newest)
        if leader == NO_NODE:  # a leader that is not among the brokers any more is not shown
            return
        first = self.led.setdefault((part.topic, part.index, epoch), leader)
        if first != leader:
            self.wrong.append((answer, f"{said}, which is that of {first}"))
        isr = {*row.isr_nodes}
        if not {leader} <= isr <= {*part.replicas}:
            self.wrong.append((answer, f"{said}, in sync {sorted(isr)} of the replicas {part.replicas}"))
        if epoch > part.newest_before and not isr <= {*self.alive}:
            self.wrong.append((answer, f"{said}, in sync {sorted(isr)}; when it was elected {self.alive} were alive"))

    @breaks("repl-007")
    def _must_agree(self):
        shown = {node: self._must_show(node) for node in self.alive}
        ways = {
            node: {key: (row.leader_id, row.leader_epoch) for key, row in found.items()}
            for node, found in shown.items()
        }
        first = next(iter(ways.values()))
        self.wire.must(all(each == first for each in ways.values()), f"leaders and epochs by node: {ways}")
        for part in self.parts:
            part.is_seen(first[part.topic, part.index])

    # refusals

    def _must_answer(self, node, api):
        """A question for the leader of some partitions; the client may know another epoch than the present one."""
        version = self._a_version(api, KNOWS_EPOCHS.get(api, 9))
        parts = [
            part
            for part in self.rng.sample(self.parts, len(self.parts))
            if self._may_be_asked(api, version, node, part)
        ]
        epochs = {}
        for part in parts[: self.rng.randint(2, 6)]:
            current = max(epoch for _, epoch in part.ways)
            epochs[part] = -1 if api == "Produce" else self.rng.choice((-1, current, current, current - 1, current + 1))
        if epochs:
            self._eventually(self._must_be_answered, node, api, version, epochs)

    def _may_be_asked(self, api, version, node, part):
        if api == "Produce":  # a record that is taken is another one
            return node not in part.leaders
        return api != "Fetch" or version < SERVED_BY_FOLLOWERS or node not in part.replicas or part.leaders == {node}

    def _must_be_answered(self, node, api, version, epochs):
        answer = self.wire.ask(_question(self.wire, api, epochs), version=version, to=node)
        rows = self._rows_of(answer, api)
        for part, epoch in epochs.items():
            row, right = rows.get((part.topic, part.index)), part.codes(node, epoch)
            with breaks(ASKED[api]):
                answer.must(row is not None, f"node {node} does not answer for {part}")
                answer.must(
                    row.error_code in right,
                    f"node {node} answers {row.error_code} for {part} to who knows epoch {epoch}; leader and epoch are "
                    f"{_any_of(part.ways)}: it must be {_any_of(right)}",
                )
            if api == "OffsetForLeaderEpoch" and not row.error_code:
                self._must_end(answer, part, row)
        if version >= NAMES_LEADERS.get(api, 1000):
            self._must_be_named(node, answer, epochs, rows)

    @breaks("repl-008")
    def _must_end(self, answer, part, row):
        """Asked was for the newest epoch that there may be."""
        right = {len(part.log)} | ({-1} if len(part.ways) > 1 else set())
        answer.must(row.end_offset in right, f"{part} ends at {row.end_offset}; it must be {len(part.log)}")

    def _rows_of(self, answer, api):
        names = {self.wire.topic_id(topic): topic for topic in self._topics()}
        found = {}
        for topic in (
            answer.struct.topics if api in ("ListOffsets", "OffsetForLeaderEpoch") else answer.struct.responses
        ):
            name = getattr(topic, "name", None) or getattr(topic, "topic", None) or names.get(topic.topic_id)
            for row in topic.partition_responses if api == "Produce" else topic.partitions:
                index = next(
                    getattr(row, key) for key in ("partition_index", "partition", "index") if hasattr(row, key)
                )
                found[name, index] = row
        return found

    @breaks("repl-018")
    def _must_be_named(self, node, answer, epochs, rows):
        named = {}
        for part in epochs:
            row = rows[part.topic, part.index]
            way = (row.current_leader.leader_id, row.current_leader.leader_epoch)
            if way[0] == NO_NODE:
                continue
            said = f"for {part} node {node} names leader and epoch {way}"
            answer.must(row.error_code in ELSEWHERE, f"{said} beside the error {row.error_code}")
            answer.must(way in part.ways, f"{said}; they are {_any_of(part.ways)}")
            named[way[0]] = True
        listed = sorted((row.node_id, row.host, row.port) for row in answer.struct.node_endpoints)
        brokers = {row.node_id: (row.host, row.port) for row in self.wire.metadata(to=node).struct.brokers}
        right = sorted((each, *brokers[each]) for each in named if each in brokers)
        answer.must(listed == right, f"these leaders listen at {right}; node {node} lists {listed}", "node_endpoints")

    # coordinators

    @breaks("prot-019")
    def must_be_coordinated(self):
        """Each node names who leads the group's partition of the offsets topic, and where it listens."""
        for node in self.alive:
            self._eventually(self._must_name_coordinators, node)

    def _must_name_coordinators(self, node):
        (row,) = self.wire.metadata(OFFSETS_TOPIC, to=node).struct.topics
        leaders = {part.partition_index: part.leader_id for part in row.partitions}
        if not self.groups:
            self.groups = [next(names_in(self.wire, index, len(leaders))) for index in leaders]
        for group in self.groups:
            asked = request("FindCoordinator", key=group, key_type=GROUP, coordinator_keys=[group])
            answer = self.wire.ask(asked, to=node)
            found = answer.struct.coordinators[0] if answer.version >= 4 else answer.struct
            leader = leaders[coordinator_partition(group, len(leaders))]
            answer.must(leader in self.alive, f"node {node} shows that {leader} leads its partition of {OFFSETS_TOPIC}")
            at = self.wire.metadata(to=node).struct.brokers
            right = next((each.node_id, each.host, each.port) for each in at if each.node_id == leader)
            said = (found.node_id, found.host, found.port)
            answer.must(
                not found.error_code and said == right, f"node {node} names {said} ({found.error_code}), not {right}"
            )

    # logs

    def must_hold_everything(self):
        """Each partition that is led has its records, each of the leader's epoch of then."""
        for part in self.parts:
            if part.is_led:
                self._eventually(self._must_hold, part, self.rng.random())

    def _must_hold(self, part, drawn):
        leader, _ = self._led_now(part)
        seen = self.wire.fetch(part.topic, part.index, offset=0, to=leader, max_wait_ms=0)
        with breaks("repl-002"):
            seen.must(not seen.error, f"node {leader}, which leads {part}, refuses with {seen.error}")
        values = [each.value for each in part.log]
        # With too few in sync a leader that began anew may not know what was committed.
        sure = 0 if part.has_too_few else len(values) - part.uncommitted
        held = [value.decode() for value in seen.values]
        with breaks("repl-001", *(["repl-006"] if part.cuts else [])):
            seen.must(
                held == values[: len(held)] and len(held) >= sure,
                f"{part} holds {held}; it must be {values}, of which {part.uncommitted} are not committed yet",
            )
        epochs = [each.header.leader_epoch for each in seen.batches]
        right = all(epoch in each.epochs for epoch, each in zip(epochs, part.log, strict=False))
        wanted = [sorted(each.epochs) for each in part.log]
        with breaks("repl-007"):
            right = right and epochs == sorted(epochs)
            seen.must(right, f"the batches of {part} have the epochs {epochs}, not {wanted}")
        self._must_end_as_read(part, epochs, leader, drawn)

    @breaks("repl-008", "repl-006")
    def _must_end_as_read(self, part, epochs, leader, drawn):
        """Each epoch of records ends where the next one begins."""
        if len(epochs) < len(part.log) or not epochs:
            return
        asked = round(drawn * epochs[-1])
        before = [epoch for epoch in epochs if epoch <= asked]
        answer = self.wire.offset_for_leader_epoch(part.topic, part.index, epoch=asked, to=leader)
        row = answer.struct.topics[0].partitions[0]
        if before:
            answer.must(
                not row.error_code and row.end_offset == len(before) and before[-1] <= row.leader_epoch <= asked,
                f"{part}, of batches in the epochs {epochs}, answers for epoch {asked} that {row.leader_epoch} ends at "
                f"{row.end_offset}; it must be {before[-1]} or an empty one up to {asked}, and {len(before)}",
            )


def _any_of(those):
    return " or ".join(str(each) for each in sorted(those))


def _question(wire, api, epochs):
    """The same question of each partition, of the client that knows this epoch of it."""
    by_topic: dict[str, list[tuple[int, int]]] = {}
    for part, epoch in epochs.items():
        by_topic.setdefault(part.topic, []).append((part.index, epoch))
    newest = {(part.topic, part.index): max(way[1] for way in part.ways) for part in epochs}
    if api == "ListOffsets":
        rows = [{"name": name, "partitions": [_listed(*each) for each in parts]} for name, parts in by_topic.items()]
        return request("ListOffsets", replica_id=-1, isolation_level=0, timeout_ms=10_000, topics=rows)
    if api == "OffsetForLeaderEpoch":
        rows = [
            {"topic": name, "partitions": [_ended(n, epoch, newest[name, n]) for n, epoch in parts]}
            for name, parts in by_topic.items()
        ]
        return request("OffsetForLeaderEpoch", replica_id=-1, topics=rows)
    named = [(name, wire.topic_id(name), parts) for name, parts in by_topic.items()]
    if api == "Produce":
        rows = [
            {"name": name, "topic_id": one, "partition_data": [{"index": n, "records": _record()} for n, _ in parts]}
            for name, one, parts in named
        ]
        return request("Produce", acks=-1, timeout_ms=10_000, topic_data=rows)
    rows = [
        {"topic": name, "topic_id": one, "partitions": [_read(*each) for each in parts]} for name, one, parts in named
    ]
    return request("Fetch", replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=MUCH, session_epoch=-1, topics=rows)


def _listed(index, epoch):
    return {"partition_index": index, "current_leader_epoch": epoch, "timestamp": -2}


def _ended(index, epoch, newest):
    return {"partition": index, "current_leader_epoch": epoch, "leader_epoch": newest}


def _read(index, epoch):
    return {"partition": index, "current_leader_epoch": epoch, "fetch_offset": 0, "partition_max_bytes": MUCH}


def _record():
    return batch("misplaced")
