"""lost-latest: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow, same_place
from tests.checkers.oracle.limits import deletes
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """The highest known record of a key, which the last read to the end did not find."""
    looks: dict[tuple[str, int, str], int] = {}
    for event in facts.events:
        if event.kind == "final-read" and event.client is not None and event.topic is not None:
            look = (event.topic, event.partition or 0, event.client)
            if event.offset is not None:
                looks[look] = max(event.offset, looks.get(look, event.offset))
    for (topic, partition, reader), end in looks.items():
        if topic in facts.recreated or not facts.compacted(topic) or deletes(facts, topic):
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


def inject_lost_latest(w: Wound) -> Expected:
    one = w.sent("k", where=lambda row: ("k", 0, row.offset) in w.legal.latest)
    w.hide(one, "r")
    return w.told("lost-latest", one, offset_a=one.offset)
