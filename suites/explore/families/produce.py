"""Records written: by plain, idempotent and transactional producers, to one partition or several, well and badly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep, StepBatch
from brokertrial.wire import errors

WRONG_BATCHES: list[tuple[tuple[str, int], ...]] = [
    (("crc", 1),),
    (("magic", 3),),
    (("record_count", 7),),
    (("record_count", 0),),
    (("last_offset_delta", 9),),
    (("batch_length", 3),),
    (("base_offset", 5),),
    (("attributes", 7),),
    (("attributes", 32),),
    (("attributes", 8),),
]
IDS_FROM = 13
SEQUENCES = 2**31
DAY_MS = 86_400_000
Entry = tuple[str, int, StepBatch]


def produced(
    model: Model, entries: Sequence[Entry], acks: int = -1, tid: str | None = None, *, low: int = 3
) -> RequestStep:
    """A Produce with these batches, in a version that can name their topics."""
    version = model.version("Produce", low)
    topics = {name: model.named(name) for name, _, _ in entries}
    if version >= IDS_FROM and any(topic is None or topic.topic_id is None for topic in topics.values()):
        version = IDS_FROM - 1
    data = []
    for name, topic in topics.items():
        partitions = [{"index": index, "records": batch} for of, index, batch in entries if of == name]
        entry: dict[str, Any] = {"name": name, "partition_data": partitions}
        if version >= IDS_FROM and topic is not None:
            entry["topic_id"] = topic.topic_id
        data.append(entry)
    fields = {"transactional_id": tid, "acks": acks, "timeout_ms": 20_000, "topic_data": data}
    return RequestStep("Produce", version, fields, model.connection(), unanswered=acks == 0)


def _plain(model: Model) -> StepBatch:
    return StepBatch(
        model.between(1, 4),
        compression=model.pick(["none"] * 4 + ["gzip", "lz4", "snappy", "zstd"]),
        key=model.pick([None, b"k", b"l"]),
        timestamp=model.now_ms + model.pick([0, 0, 300, 900, 200, 600]),
        tag=model.tag(),
        shape=model.pick(["plain", "plain", "plain", "headers", "null"]),
    )


@rule("Produce", 4.0)
def plain(model: Model) -> RequestStep | None:
    """Without a producer id, also to several partitions at once, of which some may not be there."""
    places = model.some_partitions()
    entries: list[Entry] = [(name, index, _plain(model)) for name, indexes in places.items() for index in indexes]
    return produced(model, entries, model.pick([-1, -1, 1, 0]))


@rule("Produce", 1.2)
def partly_wrong(model: Model) -> RequestStep | None:
    """A batch that is refused, alone or beside others that are good."""
    name, partition = model.some_partition(0.0)
    bad = StepBatch(2, timestamp=model.now_ms, wrong=model.pick(WRONG_BATCHES), tag=model.tag())
    entries: list[Entry] = [(name, partition, bad)]
    topic = model.named(name)
    if topic is not None and topic.partitions > 1 and model.chance(0.5):
        entries.insert(model.pick([0, 1]), (name, (partition + 1) % topic.partitions, _plain(model)))
    return produced(model, entries)


@rule("Produce", 1.2)
def refused(model: Model) -> RequestStep | None:
    """Acks that do not exist, what is too large or of another time, from a producer that nobody knows, said twice.

    Not without any batch (`records` null): Kafka 4.4.0 does not answer that at all.
    """
    name, partition = model.some_partition(0.0)
    batch = StepBatch(2, timestamp=model.now_ms, tag=model.tag())
    match model.pick(["acks", "large", "old", "transactional", "twice", "internal", "future", "limit"]):
        case "acks":
            return produced(model, [(name, partition, batch)], model.pick([2, -2]))
        case "large":
            return produced(model, [(name, partition, StepBatch(1, size=1_100_000, timestamp=model.now_ms))])
        case "limit":
            size = model.pick([1_900, 1_920, 1_930, 1_940, 2_000])
            return produced(model, [(name, partition, StepBatch(1, size=size, timestamp=model.now_ms))])
        case "old":
            return produced(model, [(name, partition, StepBatch(1, timestamp=model.now_ms - 3 * DAY_MS))])
        case "future":
            return produced(model, [(name, partition, StepBatch(2, timestamp=model.now_ms + 3 * DAY_MS))])
        case "twice":
            return produced(model, [(name, partition, batch)] * 2)
        case "internal":
            return produced(model, [("__consumer_offsets", 0, batch)])
    batch = StepBatch(1, model.pick([999_999, 3]), 0, model.pick([0, 5]), True, timestamp=model.now_ms)
    return produced(model, [(name, partition, batch)], -1, f"{model.prefix}-nobody")


@rule("Produce", 6.0)
def sequenced(model: Model) -> RequestStep | None:
    """From an idempotent or transactional producer: the next batch, one again, one too far, one of the past."""
    lasting = [each for each in model.producers if not each.short]
    if not lasting:
        return None
    producer = model.pick(lasting)
    name, partition = model.some_partition(0.05)
    if producer.open and model.chance(0.85):
        name, partition = model.pick(sorted(producer.open))
    place = (name, partition)
    kind = model.pick(["next"] * 6 + ["again", "again", "gap", "past", "epoch", "edge", "other count"])
    epoch, count, tag = producer.epoch, model.between(1, 3), model.tag()
    sequence = producer.sequences.get(place, 0)
    history = producer.sent.get(place, [])
    if kind in ("again", "other count") and history:
        sequence, before = model.pick(history[::-1])
        count = before if kind == "again" else count
    elif kind == "edge" and place not in producer.sequences:
        kind, sequence = "next", SEQUENCES - model.between(1, 3)
    elif kind == "gap":
        sequence = (sequence + model.pick([3, 1])) % SEQUENCES
    elif kind == "past":
        sequence = max(0, sequence - 1)
    elif kind == "epoch":
        epoch += model.pick([1, -1])
    # Outside of a transaction an epoch of the future would be believed, and no marker could end anything there again.
    in_transaction = producer.transactional_id is not None and (kind == "epoch" or model.chance(0.95))
    batch = StepBatch(count, producer.producer, epoch, sequence, in_transaction, timestamp=model.now_ms, tag=tag)
    tid = producer.transactional_id if in_transaction else None
    step = produced(model, [(name, partition, batch)], -1, tid)
    follows = kind == "next"

    def learn(answer: dict[str, Any]) -> None:
        code = answer["responses"][0]["partition_responses"][0]["error_code"]
        if code == errors.NONE and follows and epoch == producer.epoch:
            producer.wrote(place, sequence, count)
            if in_transaction:
                producer.open = (producer.open or set()) | {place}

    step.learn = learn
    return step


@rule("Produce", 1.0)
def several(model: Model) -> RequestStep | None:
    """From one producer to several partitions at once: the next of some, a gap in others."""
    producers = [each for each in model.producers if each.transactional_id is None or each.open]
    if not producers:
        return None
    producer = model.pick(producers)
    asked = {place for name, indexes in model.some_partitions(0.05).items() for place in [(name, i) for i in indexes]}
    places = sorted(producer.open or set()) if producer.transactional_id else sorted(asked)
    in_transaction = producer.transactional_id is not None
    made: list[tuple[tuple[str, int], int, int]] = []
    for place in places[:3]:
        sequence = producer.sequences.get(place, 0) + model.pick([0, 0, 0, 2])
        made.append((place, sequence % SEQUENCES, model.between(1, 2)))
    if not made:
        return None
    entries: list[Entry] = [
        (*place, StepBatch(count, producer.producer, producer.epoch, sequence, in_transaction, timestamp=model.now_ms,
                       tag=model.tag()))
        for place, sequence, count in made
    ]  # fmt: skip
    step = produced(model, entries, -1, producer.transactional_id)

    def learn(answer: dict[str, Any]) -> None:
        codes = {}
        for topic in answer["responses"]:
            for each in topic["partition_responses"]:
                codes[str(topic.get("name") or topic.get("topic_id")), each["index"]] = each["error_code"]
        for place, sequence, count in made:
            known = model.named(place[0])
            keys = {(place[0], place[1]), (str(known.topic_id) if known else "", place[1])}
            if any(codes.get(key) == errors.NONE for key in keys):
                producer.wrote(place, sequence, count)

    step.learn = learn
    return step
