"""The lines of our own JSON Lines format, one struct a kind of line; `schema()` is what jsonl.schema.json holds.

Times are nanoseconds of any clock that does not go backwards; `return` null or absent: it never returned.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

RecordValue = int | str
Offset = Annotated[int, Meta(ge=0)]
PartitionNumber = Annotated[int, Meta(ge=0)]
OutcomeName = Literal["ok", "fail", "info"]


class _JsonLine(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag_field="is"):
    """Any line; `is` says which."""


class HistoryLine(_JsonLine, tag="history"):
    """What is known of the whole: first line, if there is one."""

    format: Literal[1] = 1
    target: str = ""
    nodes: int | None = None
    unclean_election: bool = False


class ClientLine(_JsonLine, tag="client"):
    """A client and the settings that decide what the broker owes it; before any line that names it."""

    client: str
    library: str = "unknown"
    version: str | None = None
    acks: Literal["all", -1, 0, 1] | None = None
    idempotence: bool | None = None
    transactional_id: str | None = None
    isolation: Literal["read_committed", "read_uncommitted"] = "read_uncommitted"
    mode: Literal["assign", "subscribe"] | None = None
    group: str | None = None
    protocol: Literal["classic", "consumer"] | None = None
    auto_commit: bool | None = None
    retries: int | None = None


class TopicLine(_JsonLine, tag="topic"):
    """Settings of a topic that change what may be demanded."""

    topic: str
    cleanup_policy: str | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    min_compaction_lag_ms: int | None = None


class _Call(_JsonLine, kw_only=True):
    client: str
    call: int
    return_: int | None = msgspec.field(default=None, name="return")
    outcome: OutcomeName = "ok"
    error: int | None = None
    node: int | None = None
    txn: int | None = None


class SentRecord(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A record of a send; `offset` when an answer named it; `derived_from`: the input value that it was made from."""

    value: RecordValue
    offset: Offset | None = None
    derived_from: RecordValue | None = None


class SendLine(_Call, tag="send"):
    """Records sent to one partition with one call. `fail` is proven to have had no effect, else it is `info`."""

    topic: str
    partition: PartitionNumber
    records: list[SentRecord]


class SeenRecord(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A record that a poll returned; `value` null: it names none; `intact` false: it is not as it was sent."""

    topic: str
    partition: PartitionNumber
    offset: Offset
    value: RecordValue | None
    intact: bool = True
    leader_epoch: int | None = None


class PollLine(_Call, tag="poll"):
    """What one poll returned, in its order."""

    records: list[SeenRecord] = []


class JsonPlace(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A partition, and an offset of it where one is told."""

    topic: str
    partition: PartitionNumber
    offset: Annotated[int, Meta(ge=-1)] | None = None


class AssignLine(_Call, tag="assign"):
    """A new assignment: every stream of the client begins anew, from `offset` where it is known."""

    partitions: list[JsonPlace] = []


class SubscribeLine(_Call, tag="subscribe"):
    """A subscription: every stream of the client begins anew."""

    topics: list[str] = []


class SeekLine(_Call, tag="seek"):
    """The streams of these partitions begin anew, from `offset` where it is known."""

    partitions: list[JsonPlace]


class RevokedLine(_Call, tag="revoked"):
    """The streams of these partitions ended."""

    partitions: list[JsonPlace]


class CommitLine(_Call, tag="commit"):
    """Offsets that a group committed, in a transaction when `txn` is told; `id`: unique, sent as metadata."""

    group: str
    offsets: list[JsonPlace]
    id: int | None = None


class CommittedLine(_Call, tag="committed"):
    """What a group was told that it had committed; -1 is nothing; `id` from the metadata."""

    group: str
    offsets: list[JsonPlace]
    id: int | None = None


class BeginLine(_Call, tag="begin"):
    """A transaction begins; `txn` is unique in the file."""


class CommitTxnLine(_Call, tag="commit_txn"):
    """The commit of a transaction was asked for."""


class AbortTxnLine(_Call, tag="abort_txn"):
    """The abort of a transaction was asked for."""


class ListOffsetsLine(_Call, tag="list_offsets"):
    """The ends of a partition, as they were told."""

    topic: str
    partition: PartitionNumber
    earliest: Offset | None = None
    latest: Offset | None = None
    last_stable: Offset | None = None


class DeleteRecordsLine(_Call, tag="delete_records"):
    """Everything below an offset was to be deleted; `log_start` is what the answer said."""

    topic: str
    partition: PartitionNumber
    before: Offset
    log_start: Offset | None = None


class MembershipLine(_JsonLine, tag="membership"):
    """A member of a group owned a partition from then until then."""

    group: str
    member: str
    generation: int
    topic: str
    partition: PartitionNumber
    from_: int = msgspec.field(name="from")
    until: int | None = None
    client: str | None = None
    ended_by: Literal["revoked", "lost", "fenced", "closed"] | None = None


class FinalReadLine(_JsonLine, tag="final-read"):
    """After everything had healed, all below `offset` was read; without it nothing can be called unseen."""

    topic: str
    partition: PartitionNumber
    offset: Offset
    at: int = 0
    isolation: Literal["read_committed", "read_uncommitted"] = "read_uncommitted"


class FaultLine(_JsonLine, tag="fault"):
    """A disturbance, from then until then."""

    window: str
    begin: int
    end: int | None = None


JsonCall = (
    SendLine | PollLine | AssignLine | SubscribeLine | SeekLine | RevokedLine | CommitLine | CommittedLine
    | BeginLine | CommitTxnLine | AbortTxnLine | ListOffsetsLine | DeleteRecordsLine
)  # fmt: skip
HistoryFileLine = HistoryLine | ClientLine | TopicLine | MembershipLine | FinalReadLine | FaultLine | JsonCall


def schema() -> dict[str, Any]:
    """The JSON Schema of a line."""
    page = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A line of a brokertrial history"}
    return page | msgspec.json.schema(HistoryFileLine)
