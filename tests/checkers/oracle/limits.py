"""What retention and cleaning took too early, lost, or moved: their definitions."""

from collections.abc import Iterator
from typing import Any

import msgspec

from brokertrial.histories.rows import Operation, Record
from tests.checkers.oracle.facts import Facts, OracleRow, same_place

MS = 1_000_000
SLACK_NS = 1_000_000_000


def settings(facts: Facts, topic: str | None) -> dict[str, Any]:
    """What the history states of a topic; the later word counts."""
    known: dict[str, Any] = {}
    for event in facts.events:
        if event.kind == "topic" and event.topic == topic:
            known |= msgspec.json.decode(event.fields or "{}")
    return known


def _deletes(facts: Facts, topic: str) -> bool:
    """Whether records of the topic are deleted by age or size: unless it is compacted and nothing else."""
    events = [event for event in facts.events if event.kind == "topic" and event.topic == topic]
    policies = [str(msgspec.json.decode(event.fields or "{}").get("cleanup_policy", "")) for event in events]
    return not any("compact" in policy for policy in policies) or any("delete" in policy for policy in policies)


def _stated(facts: Facts, topic: str) -> bool:
    return any(event.kind == "topic" and event.topic == topic for event in facts.events)


def _call(facts: Facts, row: Record) -> Operation | None:
    return next((call for call in facts.operations if call.op == row.op and same_place(call, row)), None)


def _cut(facts: Facts, topic: str | None, partition: int | None) -> bool:
    return any(
        (row.topic, row.partition) == (topic, partition)
        for row in facts.operations
        if row.kind == "delete_records" and row.outcome != "fail"
    )


def _stamped_when_sent(facts: Facts, row: Record, call: Operation) -> bool:
    """Whether the record's timestamp is not older than its send, by the clocks of the first send that has both."""
    stamped = [each for each in facts.sent if each.timestamp is not None and _call(facts, each) is not None]
    first = min((each.op for each in facts.sent if each.timestamp is not None), default=None)
    ties = [each for each in facts.sent if each.op == first]
    anchors = [found for each in ties if (found := _call(facts, each)) is not None]
    if not stamped or not anchors or row.timestamp is None:
        return False
    stamp = max(each.timestamp for each in ties if each.timestamp is not None)
    return (row.timestamp - stamp) * MS >= call.call_ns - max(each.call_ns for each in anchors) - SLACK_NS


def early_deletion(facts: Facts) -> Iterator[OracleRow]:
    """Below a log start that was told, though too young for retention, and cut by nobody."""
    starts: dict[tuple[str, int, int], list[Operation]] = {}
    for row in facts.operations:
        topic, partition = row.topic, row.partition
        if topic is None or partition is None or row.outcome != "ok" or not row.log_start or row.log_start <= 0:
            continue
        if row.return_ns is not None and topic not in facts.recreated and not _cut(facts, topic, partition):
            starts.setdefault((topic, partition, row.log_start), []).append(row)
    for (topic, partition, start), told in starts.items():
        kept_ms = settings(facts, topic).get("retention_ms")
        forever = settings(facts, topic).get("retention_bytes") == -1
        if not _stated(facts, topic) or not _deletes(facts, topic) or kept_ms is None or not forever:
            continue
        asked = min(each.return_ns for each in told if each.return_ns is not None)
        gone = [row for row in facts.sent if same_place(row, told[0]) and row.outcome == "ok"]
        young = []
        for each in (each for each in gone if each.offset is not None and each.offset < start):
            call = _call(facts, each)
            if call is None or all(other.timestamp is None for other in facts.sent):
                continue
            fresh = asked - call.call_ns < kept_ms * MS and _stamped_when_sent(facts, each, call)
            if kept_ms == -1 or fresh:
                young.append(each)
        if young:
            yield {
                "topic": topic,
                "partition": partition,
                "offset_a": min(each.offset for each in young if each.offset is not None),
                "offset_b": start,
                "op_a": min(each.op for each in young),
                "op_b": min(each.op for each in told),
            }


def lost_latest(facts: Facts) -> Iterator[OracleRow]:
    """The highest known record of a key, which the last read to the end did not find."""
    looks: dict[tuple[str, int, str], int] = {}
    for event in facts.events:
        if event.kind == "final-read" and event.client is not None and event.topic is not None:
            look = (event.topic, event.partition or 0, event.client)
            if event.offset is not None:
                looks[look] = max(event.offset, looks.get(look, event.offset))
    for (topic, partition, reader), end in looks.items():
        if topic in facts.recreated or not facts.compacted(topic) or _deletes(facts, topic):
            continue
        here = [row for row in facts.sent if row.topic == topic and row.key is not None]
        for key in {row.key for row in here if row.partition == partition}:
            if any(
                row.outcome == "info" or (row.offset is None and row.outcome != "fail")
                for row in here
                if row.key == key
            ):
                continue
            known = [
                row
                for row in here
                if (row.partition, row.key, row.outcome) == (partition, key, "ok")
                and (row.txn is None or facts.transaction(row.txn) == "committed")
            ]
            if not known:
                continue
            top = max(row.offset or 0 for row in known)
            last = min((row for row in known if row.offset == top), key=lambda row: row.op)
            shown = any(row.offset == top for row in facts.found if same_place(row, last) and row.client == reader)
            kept = top >= facts.low(topic, partition) and top < end
            if facts.durable(last.client) and not last.tombstone and not shown and kept:
                yield {
                    "topic": topic,
                    "partition": partition,
                    "offset_a": top,
                    "value_a": last.value,
                    "op_a": last.op,
                }


def cleaned_early(facts: Facts) -> Iterator[OracleRow]:
    """Passed by a stream, in a compacted topic, before it was as old as it must become."""
    for row in facts.sent:
        lag_ms = settings(facts, row.topic).get("min_compaction_lag_ms") or 0
        call = _call(facts, row)
        if not facts.compacted(row.topic) or lag_ms <= 0 or facts.may_lose or _cut(facts, row.topic, row.partition):
            continue
        if row.outcome != "ok" or row.offset is None or call is None or not facts.durable(row.client):
            continue
        if row.txn is not None and facts.transaction(row.txn) != "committed":
            continue
        jumps = []
        for seen in facts.seen:
            if not same_place(seen, row) or seen.prev_offset is None or seen.offset is None:
                continue
            poll = _call(facts, seen)
            if seen.prev_offset < row.offset < seen.offset and poll is not None and poll.return_ns is not None:
                young = poll.return_ns - call.call_ns < lag_ms * MS
                if young and _stamped_when_sent(facts, row, call):
                    jumps.append(seen)
        if jumps:
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "offset_a": row.offset,
                "offset_b": min(seen.offset for seen in jumps if seen.offset is not None),
                "value_a": row.value,
                "op_a": row.op,
                "op_b": min(seen.op for seen in jumps),
            }


def moved_record(facts: Facts) -> Iterator[OracleRow]:
    """In a compacted topic, a value that was sent once and is known at two offsets, one of them seen."""
    for value in {row.value for row in facts.seen}:
        senders = [row for row in facts.sent if row.value == value]
        if len({row.op for row in senders}) != 1 or not facts.guarded(senders[0].client):
            continue
        told = [row for row in senders if row.outcome == "ok" and row.offset is not None and facts.durable(row.client)]
        sightings = [row for row in facts.seen if row.value == value]
        for topic, partition in {(row.topic, row.partition) for row in sightings}:
            if not facts.compacted(topic):
                continue
            seen = [row for row in sightings if (row.topic, row.partition) == (topic, partition)]
            offsets = {row.offset for row in [*seen, *told] if (row.topic, row.partition) == (topic, partition)}
            known = [offset for offset in offsets if offset is not None]
            if len(known) > 1:
                yield {
                    "topic": topic,
                    "partition": partition,
                    "offset_a": min(known),
                    "offset_b": max(known),
                    "value_a": value,
                    "op_a": min(row.op for row in senders),
                    "op_b": min(row.op for row in seen),
                }
