"""The rows of a history: one struct a table, one field a column.

A field that has a default may be null, and a foreign history may lack its column altogether.
"""

import msgspec


class Client(msgspec.Struct, gc=False, kw_only=True):
    """One client: the library that drove it and the settings that decide what may be demanded of the broker."""

    client: str
    library: str
    version: str | None = None
    acks: int | None = None
    idempotence: bool | None = None
    transactional_id: str | None = None
    isolation: str | None = None
    mode: str | None = None
    group: str | None = None
    protocol: str | None = None
    auto_commit: bool | None = None
    retries: int | None = None


class Operation(msgspec.Struct, gc=False, kw_only=True):
    """One call of one client on one partition (or on none): when, what came of it, and what the answer showed.

    `return_ns` null: never returned. `outcome`: ok, fail (certainly no effect), info (unknown).
    """

    op: int
    client: str
    kind: str
    topic: str | None = None
    partition: int | None = None
    node: int | None = None
    call_ns: int
    return_ns: int | None = None
    outcome: str
    error: int | None = None
    base_offset: int | None = None
    count: int | None = None
    committed_offset: int | None = None
    commit_id: int | None = None
    group: str | None = None
    generation: int | None = None
    transactional_id: str | None = None
    txn: int | None = None
    high_watermark: int | None = None
    last_stable: int | None = None
    log_start: int | None = None
    leader_epoch: int | None = None


class Record(msgspec.Struct, gc=False, kw_only=True):
    """One record, as it was sent or as it was seen.

    Of a seen record `prev_offset` is the one that its stream delivered before it; of the first one of a stream, the
    offset before the position that it started from (-1 when it read from offset 0), or null where that is not known.
    Of a sent record `position` counts what this client sent to this partition, in the order of the calls.
    """

    op: int
    client: str
    topic: str
    partition: int
    offset: int | None = None
    value: int | None = None
    key: int | None = None
    tombstone: bool = False
    intact: bool = True
    digest: str | None = None
    side: str
    stream: int | None = None
    position: int | None = None
    prev_offset: int | None = None
    leader_epoch: int | None = None
    timestamp: int | None = None
    derived_from: int | None = None
    outcome: str
    txn: int | None = None


class Batch(msgspec.Struct, gc=False, kw_only=True):
    """One record batch as a link passed it or as the final raw read found it (`seen_at`: produce, fetch, final).

    `control` of a transaction marker is COMMIT or ABORT, and `coordinator_epoch` is the one inside it.
    """

    topic: str
    partition: int
    base_offset: int
    last_offset: int
    leader_epoch: int | None = None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool = False
    control: str | None = None
    error: int | None = None
    node: int | None = None
    client: str | None = None
    request_ns: int | None = None
    response_ns: int | None = None
    seen_at: str
    coordinator_epoch: int | None = None


class Membership(msgspec.Struct, gc=False, kw_only=True):
    """That a group member owned a partition: since when, until when, what ended it (revoked, lost, fenced, closed)."""

    group: str
    member: str
    client: str | None = None
    generation: int
    topic: str
    partition: int
    from_ns: int
    until_ns: int | None = None
    ended_by: str | None = None


class Exchange(msgspec.Struct, gc=False, kw_only=True):
    """One request of a raw-client case and its answer (null: none came), as bytes."""

    op: int | None = None
    client: str | None = None
    connection: int
    correlation_id: int | None = None
    node: int | None = None
    api: str
    version: int
    request: bytes
    response: bytes | None = None
    call_ns: int
    return_ns: int | None = None
    error: str | None = None


class ZooKeeperNode(msgspec.Struct, gc=False, kw_only=True):
    """One look at a node of the ZooKeeper of the cluster; `version` null: there was none at this path.

    `czxid` and `mzxid` are the transactions that created it and changed its data last. `ephemeral_owner` is the session
    that it ends with, 0 when it stays. `children` is a JSON list. Paths are below the chroot of the cluster; `/..` is
    the root of the ensemble. A path that begins otherwise is what a watch noticed, before `at_ns`, when the case took
    note of it: `node:/controller`, as it was read anew; `children:/brokers/ids`, its children alone; `session:`, where
    `data` is what became of the session of the watches (connected, suspended, lost). When each was noticed is in the
    event before them.
    """

    at_ns: int
    path: str
    data: str | None = None
    version: int | None = None
    czxid: int | None = None
    mzxid: int | None = None
    ephemeral_owner: int | None = None
    children: str | None = None


class Event(msgspec.Struct, gc=False, kw_only=True):
    """Something that happened around the clients: a fault window, a hit, a rebalance, a leader, a log line, a phase.

    `final-read` with topic, partition, `offset`: after the faults healed, everything below that end offset was read.
    `topic` with `fields`: settings of it that change what may be demanded, such as {"cleanup_policy": "compact"}.
    """

    kind: str
    at_ns: int
    window: str | None = None
    client: str | None = None
    node: int | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    leader_epoch: int | None = None
    group: str | None = None
    fields: str | None = None


PartitionId = tuple[str, int]
Row = Client | Operation | Record | Batch | Membership | Exchange | ZooKeeperNode | Event

TABLES: dict[str, type[Row]] = {
    "clients": Client,
    "operations": Operation,
    "records": Record,
    "batches": Batch,
    "memberships": Membership,
    "exchanges": Exchange,
    "zookeeper": ZooKeeperNode,
    "events": Event,
}
