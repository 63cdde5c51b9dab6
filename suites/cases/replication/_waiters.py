"""Requests that wait at a node, several in the pipeline of one connection, and the partitions that they are about."""

from typing import Any

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.exchanger import ClosedByPeer, ReadTimeout
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.fitting import fitted
from brokertrial.wire.messages import request

NODE_STARTS = 3
"""So many records each partition has before anything waits."""
STAYS, ELECTED, TAKEN, GONE, AGAIN, STRICT, WHOLE = "stays", "elected", "taken", "gone", "again", "strict", "whole"
SHRUNK = "shrunk"
"""A follower is taken away: its leader leads on, in another epoch."""
MOVES, DELETED = (ELECTED, TAKEN), (GONE, AGAIN)


class WaitedPart:
    """One partition: who replicates it, what becomes of it, what was sent to it, and what was seen of it."""

    def __init__(self, topic, index, order, fate):
        self.place, self.order, self.fate = (topic, index), list(order), fate
        self.first, self.leader = order[0], order[0]
        self.after = self.order
        self.held = []
        """The values that every replica has from the beginning."""
        self.stable = 0
        """Where a transaction that is open begins."""
        self.happened = False
        self.next_leaders, self.loose = [], set()
        self.sure = False
        """Whether it was deleted while all its replicas were in sync."""
        self.acked, self.read, self.writes = {}, {}, []
        self.cuts, self.cut_to = {0}, 0

    def lacking(self, cut):
        """Who replicates nothing of it while this node is cut off from the other brokers."""
        return [node for node in self.after if node != self.leader and cut in (node, self.leader)]

    def is_taken_from(self, node):
        """Whether the node had a replica that it has no more."""
        return self.happened and self.fate in (TAKEN, SHRUNK) and node in self.order and node not in self.after

    def becomes(self, order):
        """The replicas that it is moved to, the first of which leads then."""
        self.after = list(order)
        self.is_led_by(order[0])

    def is_led_by(self, node):
        """Another than before; who waits elsewhere may know of it later."""
        self.leader = node
        self.next_leaders.append(node)


class WaitingLine:
    """A connection of its own: requests one behind the other, of which the first ones may wait."""

    def __init__(self, wire, node, name):
        self.wire, self.node = wire, node
        self.line = wire.connect(f"{name} alone", node)
        self.waiting, self.sent = [], 0

    def send(self, waiter, asked, version):
        """The next request of the pipeline; its answer is that of `waiter`."""
        self.sent += 1
        waiter.response = Response(self.line.send(fitted(asked, version), version, correlation_id=self.sent))
        waiter.number, waiter.version, waiter.api = self.sent, version, asked._api
        self.waiting.append(waiter)
        return waiter

    @property
    def closed(self):
        return not self.line.open

    def take(self, within):
        """The next answer, if one comes in this time: its waiter, or nothing."""
        if not self.waiting or self.closed:
            return None
        waiter = self.waiting[0]
        exchange = waiter.response.asked
        try:
            frame, exchange.received_ns = self.line._receive(
                within, waiter.api, exchange
            )  # with its time, for the harm
        except (ReadTimeout, ClosedByPeer):
            return None
        self.waiting.pop(0)
        exchange.answer_frame = frame
        exchange.answer = self.wire.decoded(waiter.api, waiter.version, frame, correlation_id=waiter.number)
        waiter.response.examined = waiter.answered = True
        return waiter

    @breaks("prot-008")
    def ends(self):
        """One more request is answered next: no answer came twice."""
        if self.closed or self.waiting:
            return
        last = self.send(
            Waiter(self.node, {}), request("ApiVersions", client_software_name="a", client_software_version="1"), 3
        )
        self.wire.must(self.take(self.wire.patience_s) is last, "a connection on which requests waited answers no more")
        last.response.must_succeed()
        self.line.close()


class Waiter:
    """One request: its rows (partition -> what it is about), how long it may wait, and its answer."""

    response: Any
    api: str
    version: int
    number: int

    def __init__(self, node, rows, wait_ms=0):
        self.node, self.rows, self.wait_ms = node, rows, wait_ms
        self.ids, self.answered, self.committed, self.epochs = {}, False, False, False
        self.sent_ms, self.behind = 0, False

    def goes(self, wire, line, asked, version):
        """Sends it."""
        self.sent_ms = wire.now_ms()
        for topic in {part.place[0]: 0 for part in self.rows}:
            self.ids[wire.topic_id(topic)] = topic
        return line.send(self, asked, version)

    def late(self, now_ms):
        """Whether its time is over, by a clock that need not be quite that of the node."""
        return self.wait_ms and now_ms - self.sent_ms > self.wait_ms - 200

    def answers(self):
        """Each row of its answer by its partition; each must be answered once."""
        found = [*_rows(self)]
        wanted = [part.place for part in self.rows]
        named = [place for place, _, _ in found]
        self.response.must(
            sorted(named) == sorted(wanted), f"it names the partitions {sorted(named)}; it must name {sorted(wanted)}"
        )
        by_place = {part.place: part for part in self.rows}
        return [(by_place[place], row, path) for place, row, path in found]


def _rows(waiter):
    struct, names = waiter.response.struct, waiter.ids
    if waiter.api == "Produce":
        for t, topic in enumerate(struct.responses):
            name = topic.name if waiter.version < 13 else names.get(topic.topic_id)
            for p, row in enumerate(topic.partition_responses):
                yield (name, row.index), row, f"responses[{t}].partition_responses[{p}]"
    elif waiter.api == "Fetch":
        for t, topic in enumerate(struct.responses):
            name = topic.topic if waiter.version < 13 else names.get(topic.topic_id)
            for p, row in enumerate(topic.partitions):
                yield (name, row.partition_index), row, f"responses[{t}].partitions[{p}]"
    elif waiter.api == "DeleteRecords":
        for t, topic in enumerate(struct.topics):
            for p, row in enumerate(topic.partitions):
                yield (topic.name, row.partition_index), row, f"topics[{t}].partitions[{p}]"


def _by_topic(rows, make):
    topics: dict[str, list[Any]] = {}
    for part, what in rows.items():
        topics.setdefault(part.place[0], []).append(make(part.place[1], what))
    return topics


def produces(wire, rows, wait_ms):
    """Produce with acks=all of a batch to each of these."""
    topics = _by_topic(rows, lambda index, write: {"index": index, "records": write.made})
    return request(
        "Produce",
        acks=-1,
        timeout_ms=wait_ms,
        topic_data=[{"name": name, "topic_id": wire.topic_id(name), "partition_data": p} for name, p in topics.items()],
    )


def fetches(wire, rows, wait_ms, *, committed, min_bytes=1):
    """Fetch of each of these: (position, leader epoch or -1)."""
    topics = _by_topic(
        rows,
        lambda index, at: {
            "partition": index,
            "current_leader_epoch": at[1],
            "fetch_offset": at[0],
            "partition_max_bytes": 1 << 20,
        },
    )
    return request(
        "Fetch",
        replica_id=-1,
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 24,
        isolation_level=int(committed),
        session_epoch=-1,
        topics=[{"topic": name, "topic_id": wire.topic_id(name), "partitions": p} for name, p in topics.items()],
    )


def deletes(rows, wait_ms):
    """DeleteRecords of each of these up to an offset."""
    topics = _by_topic(rows, lambda index, offset: {"partition_index": index, "offset": offset})
    return request(
        "DeleteRecords", timeout_ms=wait_ms, topics=[{"name": name, "partitions": p} for name, p in topics.items()]
    )


class WaitedWrite:
    """A batch of one record of an idempotent producer for one partition."""

    def __init__(self, value, made, after):
        self.value, self.made, self.after = value, made, after
        self.offset = None
        """Where it is, once it was acknowledged."""
