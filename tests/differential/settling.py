"""Waits until what one request changed is visible, for a broker may answer before it shows everywhere."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

from tests.differential.side import Side
from tests.differential.step import Settled
from tests.differential.telling import OWN_SETTING
from wire import errors

WITHIN_S = 20.0
LATEST = -1


class NotSettled(Exception):
    """A broker did not come to show something that it had agreed to."""


def settle(side: Side, what: Settled) -> None:
    """Returns once the broker shows it; raises NotSettled."""
    seen = LOOKS[what.kind]
    deadline = monotonic() + WITHIN_S
    while not seen(side, what):
        if monotonic() > deadline:
            raise NotSettled(f"{what} is not visible after {WITHIN_S:.0f} s.")
        sleep(0.005)  # paced polling up to the deadline above


def _topic(side: Side, what: Settled) -> bool:
    """A topic with so many partitions that all serve."""
    answer = side.ask("Metadata", 8, topics=[{"name": what.name}], allow_auto_topic_creation=False)
    (topic,) = answer.topics
    if topic.error_code or len(topic.partitions) != what.value or any(p.leader_id < 0 for p in topic.partitions):
        return False
    asked = [{"partition_index": n, "timestamp": LATEST} for n in range(what.value)]
    ends = side.ask("ListOffsets", 5, replica_id=-1, topics=[{"name": what.name, "partitions": asked}])
    return not any(p.error_code for p in ends.topics[0].partitions)


def _gone(side: Side, what: Settled) -> bool:
    answer = side.ask("Metadata", 8, topics=[{"name": what.name}], allow_auto_topic_creation=False)
    return bool(answer.topics[0].error_code == errors.UNKNOWN_TOPIC_OR_PARTITION)


def _setting(side: Side, what: Settled) -> bool:
    """A topic's setting: a value, or None for its default."""
    key, value = what.value
    resources = [{"resource_type": 2, "resource_name": what.name, "configuration_keys": [key]}]
    found = side.ask("DescribeConfigs", 1, resources=resources).results[0].configs
    own = [each.value for each in found if each.config_source == OWN_SETTING]
    return own == ([] if value is None else [value])


def _ended(side: Side, what: Settled) -> bool:
    """A transaction whose markers are written."""
    (found,) = side.ask("DescribeTransactions", 0, transactional_ids=[what.name]).transaction_states
    return not found.transaction_state.startswith(("Prepare", "Ongoing"))


LOOKS: dict[str, Callable[[Side, Settled], bool]] = {
    "topic": _topic,
    "gone": _gone,
    "setting": _setting,
    "ended": _ended,
}
