"""Records written and read: by plain, idempotent and transactional producers; offsets looked up."""

from __future__ import annotations

from typing import Any

from tests.differential.families import makes
from tests.differential.step import BatchOf, Step, Symbol
from tests.differential.world import Producer, World

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
    world: World, name: str, partition: int, batch: BatchOf | None, acks: int, tid: str | None, low: int = 3
) -> Step:
    version = world.version("Produce", low)
    topic = world.named(name)
    if version >= IDS_FROM and (topic is None or topic.topic_id is None):
        version = IDS_FROM - 1
    entry: dict[str, Any] = {"name": name, "partition_data": [{"index": partition, "records": batch}]}
    if version >= IDS_FROM and topic is not None:
        entry["topic_id"] = topic.topic_id
    fields = {"transactional_id": tid, "acks": acks, "timeout_ms": 20_000, "topic_data": [entry]}
    return Step("Produce", version, fields, world.line())


@makes("Produce", 4.0)
def plain(world: World) -> Step | None:
    name, partition = world.some_topic()
    codec = world.pick(["none"] * 4 + ["gzip", "lz4", "snappy", "zstd"])
    key = world.pick([None, b"k"])
    batch = BatchOf(
        world.rng.randint(1, 4), compression=codec, key=key, timestamp=world.now_ms + world.rng.randint(0, 1000)
    )
    return _produce(world, name, partition, batch, world.pick([-1, -1, 1]), None)


@makes("Produce", 1.0)
def refused(world: World) -> Step | None:
    name, partition = world.some_topic(0.0)
    batch = BatchOf(2, timestamp=world.now_ms)
    kind = world.pick(["acks", "wrong", "large", "old", "transactional"])
    if kind == "acks":
        return _produce(world, name, partition, batch, world.pick([2, -2]), None)
    if kind == "wrong":
        return _produce(
            world, name, partition, BatchOf(2, timestamp=world.now_ms, wrong=world.pick(WRONG_BATCHES)), -1, None
        )
    if kind == "large":
        return _produce(world, name, partition, BatchOf(1, size=1_100_000, timestamp=world.now_ms), -1, None)
    if kind == "old":
        return _produce(world, name, partition, BatchOf(1, timestamp=world.now_ms - 3 * 86_400_000), -1, None)
    return _produce(
        world, name, partition, BatchOf(1, 999_999, 0, 0, True, timestamp=world.now_ms), -1, f"{world.ours}-nobody"
    )


@makes("Produce", 5.0)
def sequenced(world: World) -> Step | None:
    """From an idempotent or transactional producer: the next batch, one again, one too far, one of the past."""
    if not world.producers:
        return None
    producer = world.pick(world.producers)
    name, partition = world.some_topic(0.05)
    if producer.open and world.chance(0.85):
        name, partition = world.pick(sorted(producer.open))
    place = (name, partition)
    sequence, epoch, count = producer.sequences.get(place, 0), producer.epoch, world.rng.randint(1, 3)
    kind = world.pick(["next"] * 6 + ["again", "gap", "past", "epoch"])
    if kind == "again" and place in producer.last:
        sequence, count = producer.last[place]
    elif kind == "gap":
        sequence += 3
    elif kind == "past":
        sequence = max(0, sequence - 1)
    elif kind == "epoch":
        epoch = epoch + world.pick([1, -1])
    # Outside of a transaction an epoch of the future would be believed, and no marker could end anything there again.
    in_transaction = producer.transactional_id is not None and (kind == "epoch" or world.chance(0.95))
    batch = BatchOf(count, producer.producer, epoch, sequence, in_transaction, timestamp=world.now_ms)
    step = _produce(world, name, partition, batch, -1, producer.transactional_id if in_transaction else None)

    def learn(answer: dict[str, Any]) -> None:
        told = answer["responses"][0]["partition_responses"][0]
        if not told["error_code"] and kind == "next" and epoch == producer.epoch:
            producer.sequences[place], producer.last[place] = sequence + count, (sequence, count)
            if in_transaction:
                producer.open = (producer.open or set()) | {place}

    step.learn = learn
    return step


def _wanted(world: World, version: int) -> dict[str, Any] | None:
    name, partition = world.some_topic(0.12)
    topic = world.named(name)
    if version >= IDS_FROM and (topic is None or topic.topic_id is None):
        return None
    place = {
        "partition": partition,
        "fetch_offset": world.pick([0, 0, 0, 1, 2, 3, -1, 500]),
        "current_leader_epoch": world.pick([-1, -1, -1, 0, 7]),
        "partition_max_bytes": world.pick([1_000_000, 1_000_000, 100, 1]),
    }
    return {"topic": name, "topic_id": topic.topic_id if topic else None, "partitions": [place]}


@makes("Fetch", 6.0)
def fetch(world: World) -> Step | None:
    version = world.version("Fetch", 4, 17)
    wanted = _wanted(world, version)
    if wanted is None:
        return None
    if wanted["topic_id"] is None:
        del wanted["topic_id"]
    fields: dict[str, Any] = {
        "max_wait_ms": 0, "min_bytes": 1, "max_bytes": world.pick([50_000_000, 50_000_000, 200]),
        "isolation_level": world.pick([0, 1]), "topics": [wanted],
    }  # fmt: skip
    step = Step("Fetch", version, fields, world.line())
    kind = world.pick(["none"] * 5 + ["new", "next", "wrong"]) if version >= 7 else "none"
    if kind == "new":
        fields |= {"session_id": 0, "session_epoch": 0}

        def learn(answer: dict[str, Any]) -> None:
            if isinstance(answer["session_id"], Symbol):
                world.sessions.append((answer["session_id"], 1))

        step.learn = learn
    elif kind == "next" and world.sessions:
        session, epoch = world.sessions.pop()
        fields |= {"session_id": session, "session_epoch": epoch + world.pick([0, 0, 0, 4])}
        if world.chance(0.5):
            fields["topics"] = []
    elif kind == "wrong":
        fields |= {"session_id": 12_345, "session_epoch": world.pick([3, -1])}
    return step


@makes("ListOffsets", 3.0)
def list_offsets(world: World) -> Step | None:
    name, partition = world.some_topic(0.12)
    when = world.pick([-1, -1, -2, -2, -3, -4, -5, -6, world.now_ms, world.now_ms + 500, world.now_ms + 10**9, 0])
    place = {"partition_index": partition, "timestamp": when, "current_leader_epoch": world.pick([-1, -1, 0, 9])}
    places = [place, place] if world.chance(0.05) else [place]
    fields = {
        "replica_id": -1,
        "isolation_level": world.pick([0, 1]),
        "topics": [{"name": name, "partitions": places}],
        "timeout_ms": 5_000,
    }
    return Step("ListOffsets", world.version("ListOffsets", 1, 10), fields, world.line())


@makes("OffsetForLeaderEpoch", 1.0)
def epoch_end(world: World) -> Step | None:
    name, partition = world.some_topic(0.15)
    place = {
        "partition": partition,
        "current_leader_epoch": world.pick([-1, 0, 5]),
        "leader_epoch": world.pick([0, 0, 1, -1]),
    }
    fields = {"replica_id": -1, "topics": [{"topic": name, "partitions": [place]}]}
    return Step("OffsetForLeaderEpoch", world.version("OffsetForLeaderEpoch"), fields, world.line())


@makes("DescribeProducers", 0.8)
def describe_producers(world: World) -> Step | None:
    name, partition = world.some_topic(0.15)
    return Step("DescribeProducers", 0, {"topics": [{"name": name, "partition_indexes": [partition]}]}, world.line())


@makes("InitProducerId", 1.5)
def idempotent(world: World) -> Step | None:
    """A producer without a transactional id."""
    kind = world.pick(["new"] * 4 + ["half", "timeout"])
    fields: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": world.pick([60_000, 0, -1])}
    if kind == "half":
        fields |= {"producer_id": world.pick([5, -1]), "producer_epoch": world.pick([1, -1])}
    step = Step("InitProducerId", world.version("InitProducerId"), fields, world.line())

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"] and len(world.producers) < 5 and answer["producer_id"] != -1:
            world.producers.append(Producer(answer["producer_id"], answer["producer_epoch"]))

    step.learn = learn
    return step
