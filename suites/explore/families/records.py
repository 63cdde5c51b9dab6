"""Records written and read: by plain, idempotent and transactional producers; offsets looked up."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, Producer
from brokertrial.suites.explore.step import Batch, Step, Symbol

WRONG_BATCHES: list[tuple[tuple[str, int], ...]] = [
    (("crc", 1),),
    (("magic", 3),),
    (("record_count", 7),),
    (("record_count", 0),),
    (("last_offset_delta", 9),),
    (("batch_length", 3),),
    (("base_offset", 5),),
    (("attributes", 7),),
]
IDS_FROM = 13


def _produce(
    model: Model, name: str, partition: int, batch: Batch | None, acks: int, tid: str | None, low: int = 3
) -> Step:
    version = model.version("Produce", low)
    topic = model.named(name)
    if version >= IDS_FROM and (topic is None or topic.topic_id is None):
        version = IDS_FROM - 1
    entry: dict[str, Any] = {"name": name, "partition_data": [{"index": partition, "records": batch}]}
    if version >= IDS_FROM and topic is not None:
        entry["topic_id"] = topic.topic_id
    fields = {"transactional_id": tid, "acks": acks, "timeout_ms": 20_000, "topic_data": [entry]}
    return Step("Produce", version, fields, model.connection())


@rule("Produce", 4.0)
def plain(model: Model) -> Step | None:
    name, partition = model.some_partition()
    codec = model.pick(["none"] * 4 + ["gzip", "lz4", "snappy", "zstd"])
    key = model.pick([None, b"k"])
    batch = Batch(
        model.between(1, 4), compression=codec, key=key, timestamp=model.now_ms + model.between(0, 1000),
        tag=model.tag(), shape=model.pick(["plain", "plain", "plain", "headers", "null"]),
    )  # fmt: skip
    return _produce(model, name, partition, batch, model.pick([-1, -1, 1]), None)


@rule("Produce", 1.0)
def refused(model: Model) -> Step | None:
    name, partition = model.some_partition(0.0)
    batch = Batch(2, timestamp=model.now_ms)
    kind = model.pick(["acks", "wrong", "large", "old", "transactional"])
    if kind == "acks":
        return _produce(model, name, partition, batch, model.pick([2, -2]), None)
    if kind == "wrong":
        return _produce(
            model, name, partition, Batch(2, timestamp=model.now_ms, wrong=model.pick(WRONG_BATCHES)), -1, None
        )
    if kind == "large":
        return _produce(model, name, partition, Batch(1, size=1_100_000, timestamp=model.now_ms), -1, None)
    if kind == "old":
        return _produce(model, name, partition, Batch(1, timestamp=model.now_ms - 3 * 86_400_000), -1, None)
    return _produce(
        model, name, partition, Batch(1, 999_999, 0, 0, True, timestamp=model.now_ms), -1, f"{model.prefix}-nobody"
    )


@rule("Produce", 5.0)
def sequenced(model: Model) -> Step | None:
    """From an idempotent or transactional producer: the next batch, one again, one too far, one of the past."""
    if not model.producers:
        return None
    producer = model.pick(model.producers)
    name, partition = model.some_partition(0.05)
    if producer.open and model.chance(0.85):
        name, partition = model.pick(sorted(producer.open))
    place = (name, partition)
    sequence, epoch, count = producer.sequences.get(place, 0), producer.epoch, model.between(1, 3)
    kind = model.pick(["next"] * 6 + ["again", "gap", "past", "epoch"])
    tag = model.tag()
    if kind == "again" and place in producer.last:
        sequence, count = producer.last[place]
    elif kind == "gap":
        sequence += 3
    elif kind == "past":
        sequence = max(0, sequence - 1)
    elif kind == "epoch":
        epoch = epoch + model.pick([1, -1])
    # Outside of a transaction an epoch of the future would be believed, and no marker could end anything there again.
    in_transaction = producer.transactional_id is not None and (kind == "epoch" or model.chance(0.95))
    batch = Batch(count, producer.producer, epoch, sequence, in_transaction, timestamp=model.now_ms, tag=tag)
    step = _produce(model, name, partition, batch, -1, producer.transactional_id if in_transaction else None)

    def learn(answer: dict[str, Any]) -> None:
        told = answer["responses"][0]["partition_responses"][0]
        if not told["error_code"] and kind == "next" and epoch == producer.epoch:
            producer.sequences[place], producer.last[place] = sequence + count, (sequence, count)
            if in_transaction:
                producer.open = (producer.open or set()) | {place}

    step.learn = learn
    return step


def _wanted(model: Model, version: int) -> dict[str, Any] | None:
    name, partition = model.some_partition(0.12)
    topic = model.named(name)
    if version >= IDS_FROM and (topic is None or topic.topic_id is None):
        return None
    place = {
        "partition": partition,
        "fetch_offset": model.pick([0, 0, 0, 1, 2, 3, -1, 500]),
        "current_leader_epoch": model.pick([-1, -1, -1, 0, 7]),
        "partition_max_bytes": model.pick([1_000_000, 1_000_000, 100, 1]),
    }
    return {"topic": name, "topic_id": topic.topic_id if topic else None, "partitions": [place]}


@rule("Fetch", 6.0)
def fetch(model: Model) -> Step | None:
    version = model.version("Fetch", 4, 17)
    wanted = _wanted(model, version)
    if wanted is None:
        return None
    if wanted["topic_id"] is None:
        del wanted["topic_id"]
    fields: dict[str, Any] = {
        "max_wait_ms": 0, "min_bytes": 1, "max_bytes": model.pick([50_000_000, 50_000_000, 200]),
        "isolation_level": model.pick([0, 1]), "topics": [wanted],
    }  # fmt: skip
    step = Step("Fetch", version, fields, model.connection())
    kind = model.pick(["none"] * 5 + ["new", "next", "wrong"]) if version >= 7 else "none"
    if kind == "new":
        fields |= {"session_id": 0, "session_epoch": 0}

        def learn(answer: dict[str, Any]) -> None:
            if isinstance(answer["session_id"], Symbol):
                model.sessions.append((answer["session_id"], 1))

        step.learn = learn
    elif kind == "next" and model.sessions:
        session, epoch = model.sessions.pop()
        fields |= {"session_id": session, "session_epoch": epoch + model.pick([0, 0, 0, 4])}
        if model.chance(0.5):
            fields["topics"] = []
    elif kind == "wrong":
        fields |= {"session_id": 12_345, "session_epoch": model.pick([3, -1])}
    return step


@rule("ListOffsets", 3.0)
def list_offsets(model: Model) -> Step | None:
    name, partition = model.some_partition(0.12)
    when = model.pick([-1, -1, -2, -2, -3, -4, -5, -6, model.now_ms, model.now_ms + 500, model.now_ms + 10**9, 0])
    place = {"partition_index": partition, "timestamp": when, "current_leader_epoch": model.pick([-1, -1, 0, 9])}
    places = [place, place] if model.chance(0.05) else [place]
    fields = {
        "replica_id": -1,
        "isolation_level": model.pick([0, 1]),
        "topics": [{"name": name, "partitions": places}],
        "timeout_ms": 5_000,
    }
    return Step("ListOffsets", model.version("ListOffsets", 1, 10), fields, model.connection())


@rule("OffsetForLeaderEpoch", 1.0)
def epoch_end(model: Model) -> Step | None:
    name, partition = model.some_partition(0.15)
    place = {
        "partition": partition,
        "current_leader_epoch": model.pick([-1, 0, 5]),
        "leader_epoch": model.pick([0, 0, 1, -1]),
    }
    fields = {"replica_id": -1, "topics": [{"topic": name, "partitions": [place]}]}
    return Step("OffsetForLeaderEpoch", model.version("OffsetForLeaderEpoch"), fields, model.connection())


@rule("DescribeProducers", 0.8)
def describe_producers(model: Model) -> Step | None:
    name, partition = model.some_partition(0.15)
    return Step(
        "DescribeProducers", 0, {"topics": [{"name": name, "partition_indexes": [partition]}]}, model.connection()
    )


@rule("InitProducerId", 1.5)
def idempotent(model: Model) -> Step | None:
    """A producer without a transactional id."""
    kind = model.pick(["new"] * 4 + ["half", "timeout"])
    fields: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": model.pick([60_000, 0, -1])}
    if kind == "half":
        fields |= {"producer_id": model.pick([5, -1]), "producer_epoch": model.pick([1, -1])}
    step = Step("InitProducerId", model.version("InitProducerId"), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"] and len(model.producers) < 5 and answer["producer_id"] != -1:
            model.producers.append(Producer(answer["producer_id"], answer["producer_epoch"]))

    step.learn = learn
    return step
