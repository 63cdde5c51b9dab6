"""What was said of an offset: by acknowledgements and by readers."""

from brokertrial.histories.rows import Record
from tests.checkers.oracle.facts import Facts, OracleRow


def statements(facts: Facts) -> list[Record]:
    """Who says what lies where: every sighting, and every acknowledgement that binds."""
    acknowledged = [row for row in facts.sent if row.outcome == "ok" and row.offset is not None]
    return facts.seen + [row for row in acknowledged if facts.durable(row.client)]


def by_offset(facts: Facts) -> dict[tuple[str, int, int | None, int], list[Record]]:
    places: dict[tuple[str, int, int | None, int], list[Record]] = {}
    for row in statements(facts):
        epoch = -1 if not facts.header.unclean_election or row.leader_epoch is None else row.leader_epoch
        places.setdefault((row.topic, row.partition, row.offset, epoch), []).append(row)
    return places


def values(rows: list[Record], side: str) -> set[int]:
    return {row.value for row in rows if row.side == side and row.value is not None}


def pair(place: tuple[str, int, int | None, int], rows: list[Record]) -> OracleRow:
    topic, partition, offset, _ = place
    low = min(row.value or 0 for row in rows)
    high = max(row.value or 0 for row in rows)
    return {
        "topic": topic,
        "partition": partition,
        "offset_a": offset,
        "value_a": low,
        "value_b": high,
        "op_a": min(row.op for row in rows if row.value == low),
        "op_b": min(row.op for row in rows if row.value == high),
    }
