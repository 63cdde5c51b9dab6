"""Scripted conversations with a broker's coordinators, told as lines of text: the same lines on Apache Kafka and here.

Every line is what an answer said, with what differs from run to run replaced by names. `kafka_says.txt` holds the
lines of Apache Kafka 4.4.0.
"""

from __future__ import annotations

import socket
import struct
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from brokertrial.wire import apis, errors
from brokertrial.wire.frames import decode_response, encode_request
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, build_batch

DEADLINE_S = 30.0


class Wire:
    """One connection, one request at a time (or sent now and received later)."""

    def __init__(self, bootstrap: str, client_id: str = "c") -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
        self._client_id, self._correlation = client_id, 0
        self._waiting: list[tuple[str, int]] = []

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, api: str, version: int, /, **fields: Any) -> Wire:
        self._correlation += 1
        self._socket.sendall(encode_request(request(api, **fields), version, self._correlation, self._client_id))
        self._waiting.append((api, version))
        return self

    def receive(self) -> Struct:
        api, version = self._waiting.pop(0)
        (size,) = struct.unpack(">i", self._exactly(4))
        return decode_response(api, version, self._exactly(size))[1]

    def call(self, api: str, version: int, /, **fields: Any) -> Struct:
        return self.send(api, version, **fields).receive()

    def ask(self, api: str, /, **fields: Any) -> Struct:
        """The same, in the newest version that this broker is known to serve."""
        return self.call(api, apis.by_name(api).newest, **fields)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError(f"the broker hung up before answering {self._waiting}")
            data += more
        return data


class Story:
    """One scenario in progress: the connection, fresh names, and the lines so far."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.lines: list[str] = []
        self.run = uuid.uuid4().hex[:8]
        self._open: list[Wire] = []
        self.wire = self.connect()

    def connect(self) -> Wire:
        wire = Wire(self.bootstrap)
        self._open.append(wire)
        return wire

    def close(self) -> None:
        for wire in self._open:
            wire.__exit__()

    def name(self, what: str) -> str:
        return f"{what}-{self.run}"

    def tell(self, what: str, *codes: object) -> None:
        """Adds a line; numbers in lists are error codes by name, anything else is shown as it is."""
        shown = [errors.name(c) if isinstance(c, int) and not isinstance(c, bool) else _plain(c) for c in codes]
        self.lines.append(f"  {what}: {' '.join(shown)}".replace(self.run, "R"))

    def topic(self, name: str, partitions: int = 2) -> str:
        full = self.name(name)
        topics = [{"name": full, "num_partitions": partitions, "replication_factor": -1}]
        self.wire.call("CreateTopics", 5, topics=topics, timeout_ms=20_000)
        self.until(f"topic {full}", lambda: self._known(full, partitions))
        return full

    def topic_id(self, name: str) -> uuid.UUID:
        answer = self.wire.call("Metadata", 12, topics=[{"name": name}])
        found: uuid.UUID = answer.topics[0].topic_id
        return found

    def broker_settings(self, *names: str) -> list[str]:
        """The values of broker settings, in the order asked."""
        node = str(self.wire.call("Metadata", 9, topics=[]).brokers[0].node_id)
        resources = [{"resource_type": 4, "resource_name": node, "configuration_keys": list(names)}]
        found = {c.name: c.value for c in self.wire.call("DescribeConfigs", 1, resources=resources).results[0].configs}
        return [found[name] for name in names]

    def _known(self, name: str, partitions: int) -> bool:
        (found,) = self.wire.call("Metadata", 8, topics=[{"name": name}], allow_auto_topic_creation=False).topics
        return not found.error_code and len([p for p in found.partitions if p.leader_id >= 0]) == partitions

    def ready(self, kind: int, key: str) -> None:
        """Waits until the coordinator of a key can be used."""
        self.until(f"coordinator of {key}", lambda: not self._coordinator(kind, key))
        if kind == 0 and key:
            self.until(
                f"group {key} loaded",
                lambda: (
                    self.wire.call("Heartbeat", 3, group_id=key, generation_id=1, member_id="x").error_code
                    == errors.UNKNOWN_MEMBER_ID
                    and self.wire.call("DescribeGroups", 4, groups=[key]).groups[0].error_code == errors.NONE
                ),
            )
        elif key:
            self.until(
                f"id {key} loaded",
                lambda: (
                    self.wire.call("DescribeTransactions", 0, transactional_ids=[key]).transaction_states[0].error_code
                    == errors.TRANSACTIONAL_ID_NOT_FOUND
                ),
            )

    def _coordinator(self, kind: int, key: str) -> int:
        found = self.wire.call("FindCoordinator", 4, key_type=kind, coordinator_keys=[key]).coordinators[0]
        return int(found.error_code)

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Polls a condition; names what it waited for when that does not come."""
        deadline = time.monotonic() + DEADLINE_S
        pause = socket.socketpair()[0]
        try:
            while not condition():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"waited {DEADLINE_S:.0f} s for {what}")
                pause.settimeout(0.05)
                try:
                    pause.recv(1)
                except TimeoutError:
                    continue
        finally:
            pause.close()

    # -- what several scenarios need ------------------------------------------------------------------------------

    def join(self, group: str, member: str = "", version: int = 9, wire: Wire | None = None, **changes: Any) -> Wire:
        fields = {
            "group_id": group, "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
            "member_id": member, "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"\0\0\0\0\0\0\0\0\0\0"}], **changes,
        }  # fmt: skip
        return (wire or self.wire).send("JoinGroup", version, **fields)

    def member_of(self, group: str, **changes: Any) -> tuple[str, int]:
        """A lone member of a stable group: its id and generation."""
        member = self.join(group, **changes).receive().member_id
        joined = self.join(group, member, **changes).receive()
        assert joined.error_code == 0, errors.name(joined.error_code)
        given = [{"member_id": member, "assignment": b"A"}]
        self.wire.call(
            "SyncGroup", 4, group_id=group, generation_id=joined.generation_id, member_id=member, assignments=given
        )
        return member, joined.generation_id

    def commit(self, group: str, offsets: dict[tuple[str, int], int], version: int = 8, **changes: Any) -> list[int]:
        """Commits; one code for each partition, in order."""
        topics = [
            {"name": t, "partitions": [{"partition_index": p, "committed_offset": o, "committed_metadata": ""}]}
            for (t, p), o in offsets.items()
        ]
        answer = self.wire.call("OffsetCommit", version, group_id=group, topics=topics, **changes)
        return [p.error_code for t in answer.topics for p in t.partitions]

    def fetched(self, group: str, topic: str, partition: int = 0, stable: bool = False) -> tuple[int, int]:
        """(offset, code) of one committed offset."""
        asked = [{"group_id": group, "topics": [{"name": topic, "partition_indexes": [partition]}]}]
        answer = self.wire.call("OffsetFetch", 8, groups=asked, require_stable=stable).groups[0]
        assert not answer.error_code, errors.name(answer.error_code)
        found = answer.topics[0].partitions[0]
        return found.committed_offset, found.error_code

    def producer(self, name: str, timeout_ms: int = 60_000, version: int = 4, **changes: Any) -> tuple[int, int, int]:
        """InitProducerId, again while an earlier transaction is being ended: (id, epoch, code)."""
        while True:
            a = self.wire.call(
                "InitProducerId", version, transactional_id=name, transaction_timeout_ms=timeout_ms, **changes
            )
            if a.error_code not in (errors.CONCURRENT_TRANSACTIONS, errors.COORDINATOR_LOAD_IN_PROGRESS):
                return a.producer_id, a.producer_epoch, a.error_code

    def add(self, name: str, pid: int, epoch: int, topic: str, *partitions: int, version: int = 3) -> list[int]:
        fields = {
            "v3_and_below_transactional_id": name, "v3_and_below_producer_id": pid,
            "v3_and_below_producer_epoch": epoch,
            "v3_and_below_topics": [{"name": topic, "partitions": list(partitions)}],
        }  # fmt: skip
        while True:
            answer = self.wire.call("AddPartitionsToTxn", version, **fields)
            lines = [p for t in answer.results_by_topic_v3_and_below for p in t.results_by_partition]
            codes = [p.partition_error_code for p in sorted(lines, key=lambda p: p.partition_index)]
            if errors.CONCURRENT_TRANSACTIONS not in codes:
                return codes

    def end(self, name: str, pid: int, epoch: int, commit: bool, version: int = 3) -> int:
        fields = {"transactional_id": name, "producer_id": pid, "producer_epoch": epoch, "committed": commit}
        while True:
            code = int(self.wire.call("EndTxn", version, **fields).error_code)
            if code != errors.CONCURRENT_TRANSACTIONS:
                return code

    def ended(self, name: str) -> str:
        """The state of a transactional id once its markers are written."""
        states: list[str] = []

        def done() -> bool:
            found = self.wire.call("DescribeTransactions", 0, transactional_ids=[name]).transaction_states[0]
            states.append(found.transaction_state)
            return found.transaction_state not in ("PrepareCommit", "PrepareAbort")

        self.until(f"the markers of {name}", done)
        return states[-1]

    def produce(
        self,
        topic: str,
        name: str | None,
        pid: int,
        epoch: int,
        sequence: int = 0,
        version: int = 9,
        partition: int = 0,
    ) -> tuple[int, int]:
        """One transactional record: (code, base offset)."""
        batch = build_batch(
            [Record(key=None, value=b"v", timestamp=1)], producer_id=pid, producer_epoch=epoch, base_sequence=sequence,
            transactional=name is not None,
        )  # fmt: skip
        data = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
        fields = {"transactional_id": name, "acks": -1, "timeout_ms": 20_000, "topic_data": data}
        while True:
            found = self.wire.call("Produce", version, **fields).responses[0].partition_responses[0]
            if found.error_code != errors.NOT_LEADER_OR_FOLLOWER:
                return found.error_code, found.base_offset

    def txn_commit(
        self,
        name: str,
        group: str,
        pid: int,
        epoch: int,
        offsets: dict[tuple[str, int], int],
        version: int = 3,
        **changes: Any,
    ) -> list[int]:
        topics = [
            {"name": t, "partitions": [{"partition_index": p, "committed_offset": o, "committed_metadata": ""}]}
            for (t, p), o in offsets.items()
        ]
        fields = {"transactional_id": name, "group_id": group, "producer_id": pid, "producer_epoch": epoch, **changes}
        while True:
            answer = self.wire.call("TxnOffsetCommit", version, topics=topics, **fields)
            codes = [p.error_code for t in answer.topics for p in t.partitions]
            if errors.CONCURRENT_TRANSACTIONS not in codes:
                return codes

    def add_offsets(self, name: str, pid: int, epoch: int, group: str, version: int = 3) -> int:
        fields = {"transactional_id": name, "producer_id": pid, "producer_epoch": epoch, "group_id": group}
        while True:
            code = int(self.wire.call("AddOffsetsToTxn", version, **fields).error_code)
            if code != errors.CONCURRENT_TRANSACTIONS:
                return code


def _plain(value: object) -> str:
    return repr(value) if isinstance(value, (bytes, str)) else str(value)


Scenario = Callable[[Story], None]


def told(bootstrap: str, scenarios: list[Scenario]) -> Iterator[str]:
    """Plays every scenario, and yields its name and its lines."""
    for scenario in scenarios:
        yield f"{scenario.__name__}"
        story = Story(bootstrap)
        try:
            scenario(story)
        finally:
            story.close()
        yield from story.lines
