"""Any other request with one field of it at an edge: zero, negative, empty, very long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from brokertrial.suites.explore.families import RequestRule, rule, rules
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep

#: Whether a topic of which no partition is named is in the answer is each broker's own affair.
NOT_EMPTIED = frozenset({"partitions", "partition_data", "partition_indexes"})
#: How long a broker takes is no part of its answer, settings and members are waited for by what they were given, and
#: a quota is removed from who was given it.
KEPT = frozenset(
    {
        "timeout_ms", "max_wait_ms", "min_bytes", "session_timeout_ms", "rebalance_timeout_ms",
        "transaction_timeout_ms", "configs", "assignments", "records", "metadata", "transactional_id",
        "v3_and_below_transactional_id", "isolation_level", "entity_name",
    }
)  # fmt: skip
LEFT_ALONE = frozenset(
    {
        "restart", "ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup", "LeaveGroup", "ShareGroupHeartbeat",
        "StreamsGroupHeartbeat", "DescribeShareGroupOffsets", "AlterShareGroupOffsets",
        "AlterUserScramCredentials",
    }
)  # fmt: skip
NUMBERS = (0, -1, 1, -2, 127)
TEXTS = ("", "x" * 300, " ")
SpoiledField = tuple[Any, Any]
"""What holds a value, and its key or index there."""


@rule("ApiVersions", 3.0)
def spoiled(model: Model) -> RequestStep | None:
    able: list[RequestRule] = [
        each for each in rules() if each.family != "spoiled" and each.api not in LEFT_ALONE and model.offers(each.api)
    ]
    step = model.pick(able).make(model)
    if step is None or step.blocks or step.unanswered:
        return None
    step.fields = {key: _copied(value) for key, value in step.fields.items()}
    places = list(_places(step.fields))
    if not places:
        return None
    holder, key = model.pick(places)
    value = holder[key]
    if isinstance(value, int):
        holder[key] = model.pick(NUMBERS)
    elif isinstance(value, str):
        holder[key] = model.pick(TEXTS)
    else:
        holder[key] = []
    if step.learn is not None:
        step.learn = _forgiving(step.learn)
    return step


def _forgiving(learn: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """An answer to a request that is not what its rule made may not hold what the rule looks for."""

    def learned(answer: dict[str, Any]) -> None:
        with suppress(LookupError, TypeError, ValueError, AttributeError):
            learn(answer)

    return learned


def _copied(value: Any) -> Any:
    """As it is, with dicts and lists of its own."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _places(value: Any) -> Iterator[SpoiledField]:
    """Every number, text and list in a request that may be changed."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if key in KEPT:
            continue
        if (isinstance(inner, list) and key in NOT_EMPTIED) or isinstance(inner, bool):
            pass
        elif isinstance(inner, (str, list, int)):
            yield value, key
        yield from _places(inner)
