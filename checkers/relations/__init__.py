"""The relations that the checks share, as SQL over the history's tables.

Base relations are made by each engine from the tables: `history` comes first, and columns whose names are words of SQL
are renamed: offset -> log_offset, group -> group_id, position -> place, timestamp -> record_time, key -> record_key,
count -> record_count, window -> window_id. Two more are made from the headers and events:
    histories (history, nodes, unclean_election)
    topics    (history, topic, compacted, deletes, retention_ms, retention_bytes, min_compaction_lag_ms)

The text keeps to what DuckDB and Spark both understand: qualified names, explicit NULLS FIRST/LAST, no function that
only one of them has.
"""

import re

from brokertrial.checkers.relations import (
    batches,
    commits,
    delivery,
    groups,
    lanes,
    limits,
    logs,
    members,
    monotone,
    offsets,
    progress,
    records,
    reuse,
    soundings,
    suspicion,
    transactions,
    versions,
)
from brokertrial.checkers.relations.relation import Relation

BASES = ("clients", "operations", "records", "batches", "memberships", "events", "histories", "topics")

RENAMED = {
    "offset": "log_offset",
    "group": "group_id",
    "position": "place",
    "timestamp": "record_time",
    "key": "record_key",
    "count": "record_count",
    "window": "window_id",
}

RELATIONS: dict[str, Relation] = {
    **records.RELATIONS,
    **transactions.RELATIONS,
    **delivery.RELATIONS,
    **offsets.RELATIONS,
    **commits.RELATIONS,
    **groups.RELATIONS,
    **lanes.RELATIONS,
    **logs.RELATIONS,
    **batches.RELATIONS,
    **monotone.RELATIONS,
    **members.RELATIONS,
    **limits.RELATIONS,
    **progress.RELATIONS,
    **versions.RELATIONS,
    **reuse.RELATIONS,
    **soundings.RELATIONS,
    **suspicion.RELATIONS,
}

_NO_RELATION = re.compile(r"'[^']*'|(?:\.|\bAS\s+)[a-z_]+\b")
"""Text, and names of columns (after a dot, or given by AS): none is a relation, though it may be called like one."""
_WORD = re.compile(r"\b[a-z_]+\b")


def named_in(query: str) -> list[str]:
    """The shared relations that a query reads from."""
    return sorted(RELATIONS.keys() & set(_WORD.findall(_NO_RELATION.sub("", query))))
