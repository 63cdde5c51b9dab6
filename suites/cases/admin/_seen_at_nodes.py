"""What a cluster was, one state after the other, and what each node has shown of it: one of these, and none that was
before what it had shown.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from brokertrial.suites.cases.admin._requests import VALUES
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors

OF_TOPIC, OF_BROKER, OF_ALL = 1, 2, 3
"""Where a setting comes from: from the topic, the broker, or all brokers."""
ABSENT, NO_NODE, IDS_SINCE = None, -1, 10
ALONE = {"min.insync.replicas": "1"}
KEYS = (*sorted(VALUES), *ALONE)
NEVER_SO = ("adm-004", "adm-016")
"""What is shown was refused, only validated, or half done."""
UNDONE = ("kraft-006",)
"""What is shown was so before a change that is acknowledged, and seen."""
Key = tuple[str, str]


def topic_key(name: str) -> Key:
    return ("topic", name)


def broker_key(name: str) -> Key:
    return ("broker", name)


class TopicState(NamedTuple):
    """A topic: its id, the replicas of each partition, and its own settings."""

    id: str
    placed: tuple[tuple[int, ...], ...]
    settings: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        own = ", ".join(f"{key}={value}" for key, value in self.settings)
        return f"on {[list(each) for each in self.placed]}, id {self.id[:8]}, set: {own or 'nothing'}"


class ShownFact(NamedTuple):
    """One thing that an answer shows: of what, which states of that it fits, and its words."""

    key: Key
    holds: Callable[[Any], bool]
    said: str


class ClusterHistory:
    """All states so far. Between two there is one in which each thing that was changed may be so or so: what one
    request changes need not be seen at once.

    `ordered`: changes are known to nodes in the order in which they were made (the log of KIP-500), whatever they are
    about; else this is so for each topic and each broker alone.
    """

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self.now: dict[Key, Any] = {}
        self.states: list[dict[Key, tuple[Any, ...]]] = [{}]
        self.shown: dict[tuple[int, str], int] = {}
        """(node, of what) -> the first state that it can have shown last."""
        self.back: list[tuple[Any, str, tuple[str, ...]]] = []
        """What a node showed although it had shown what came later, and what that breaks."""

    def changed(self, after: dict[Key, Any]) -> None:
        """What one request did."""
        between = {key: (state,) for key, state in self.now.items()}
        self.states.append(between | {key: (self.now.get(key), state) for key, state in after.items()})
        self.now |= after
        self.states.append({key: (state,) for key, state in self.now.items()})

    def begins_anew(self, node: int) -> None:
        """A node that starts has read all that was acknowledged by then before it serves."""
        self.shown = {key: state for key, state in self.shown.items() if key[0] != node}
        self.shown |= {(node, channel): len(self.states) - 1 for channel in self._channels()}

    def _channels(self) -> set[str]:
        return {self._channel(key) for key in self.now}

    def _channel(self, key: Key) -> str:
        """What a node learns in one order. It may take over settings of brokers after the rest."""
        return "topics" if self.ordered and key[0] == "topic" else f"{key[0]} {key[1]}"

    def seen(self, answer: Any, node: int, facts: list[ShownFact]) -> None:
        """An answer is what was so at some time, not before what the node has shown."""
        for channel in dict.fromkeys(self._channel(fact.key) for fact in facts):
            group = [fact for fact in facts if self._channel(fact.key) == channel]
            first = self.shown.get((node, channel), 0)
            found = next((n for n in range(first, len(self.states)) if self._fits(n, group)), None)
            if found is None:
                why, broken = self._why(first, group)
                self.back.append((answer, f"node {node} shows {why}", broken))
                return
            self.shown[node, channel] = found

    def must_not_have_gone_back(self) -> None:
        for answer, sentence, broken in self.back:
            with breaks(*broken):
                answer.must(False, sentence)

    def must_be_now(self, answer: Any, node: int, facts: list[ShownFact]) -> None:
        """An answer is what is so."""
        self.seen(answer, node, facts)
        wrong = next((fact for fact in facts if not self._holds(len(self.states) - 1, fact)), None)
        if wrong is not None:
            right = words(self.now.get(wrong.key))
            answer.must(False, f"node {node} shows {wrong.said}; it must be {right}")

    def _fits(self, state: int, facts: list[ShownFact]) -> bool:
        return all(self._holds(state, fact) for fact in facts)

    def _holds(self, state: int, fact: ShownFact) -> bool:
        return any(fact.holds(each) for each in self.states[state].get(fact.key, (ABSENT,)))

    def _why(self, first: int, facts: list[ShownFact]) -> tuple[str, tuple[str, ...]]:
        later = range(first, len(self.states))
        for fact in facts:
            if not any(self._holds(n, fact) for n in range(len(self.states))):
                return f"{fact.said}; it was never so, and is {words(self.now.get(fact.key))}", NEVER_SO
            if not any(self._holds(n, fact) for n in later):
                return f"{fact.said}, as it was before what this node has shown already", UNDONE
        said = "; ".join(fact.said for fact in facts)
        return f"{said}: that was not so at any one time since it showed what it has", UNDONE


def words(state: Any) -> str:
    if state is ABSENT:
        return "no such topic"
    return str(state) if isinstance(state, TopicState) else f"set to {dict(state)}"


# what answers show


def topics_shown(answer: Any, names: list[str], ids: dict[str, str] | None = None) -> list[ShownFact]:
    """Metadata or DescribeTopicPartitions of these topics; with `ids` (id -> name) it was asked by these."""
    rows = answer.struct.topics
    has_ids = answer.asked.request._api != "Metadata" or answer.version >= IDS_SINCE
    if ids is not None:
        by_id = {str(row.topic_id): row for row in rows}
        return [_of_id(by_id.get(one), one, name) for one, name in ids.items()]
    by_name = {row.name: row for row in rows}
    return [_of_name(by_name.get(name), name, has_ids) for name in names]


def _of_id(row: Any, asked: str, name: str) -> ShownFact:
    if row is None or row.error_code == errors.UNKNOWN_TOPIC_ID:
        return ShownFact(
            topic_key(name), lambda state: state is ABSENT or state.id != asked, f"no topic of id {asked[:8]}"
        )
    if row.error_code or row.name != name:
        return _wrong(name, f"{row.name} with the error {row.error_code} for the id of {name}")
    return _of_name(row, name, has_ids=True)


def _of_name(row: Any, name: str, has_ids: bool) -> ShownFact:
    if row is None or row.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION:
        return ShownFact(topic_key(name), lambda state: state is ABSENT, f"no topic {name}")
    if row.error_code:
        return _wrong(name, f"{name} with the error {row.error_code}")
    parts = {part.partition_index: tuple(part.replica_nodes) for part in row.partitions}
    if sorted(parts) != list(range(len(row.partitions))):
        return _wrong(name, f"{name} with the partitions {sorted(parts)}")
    placed = tuple(parts[index] for index in sorted(parts))
    found = str(row.topic_id) if has_ids else ""
    said = f"{name} on {[list(each) for each in placed]}" + (f", id {found[:8]}" if found else "")

    def holds(state: Any) -> bool:
        return state is not ABSENT and state.placed == placed and found in ("", state.id)

    return ShownFact(topic_key(name), holds, said)


def _wrong(name: str, said: str) -> ShownFact:
    return ShownFact(topic_key(name), lambda _: False, said)


def settings_shown(row: Any, keys: list[str] | None) -> ShownFact:
    """A row of DescribeConfigs about a topic, of which these settings were asked for."""
    name = row.resource_name
    if row.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION:
        return ShownFact(topic_key(name), lambda state: state is ABSENT, f"no settings of {name}, for there is none")
    if row.error_code:
        return _wrong(name, f"settings of {name} with the error {row.error_code}")
    asked = [key for key in KEYS if keys is None or key in keys]
    own = {each.name: each.value for each in row.configs if each.config_source == OF_TOPIC and each.name in asked}

    def holds(state: Any) -> bool:
        return state is not ABSENT and {key: value for key, value in state.settings if key in asked} == own

    return ShownFact(topic_key(name), holds, f"of {asked} of {name} set to {own}")


def brokers_settings_shown(row: Any, keys: list[str]) -> list[ShownFact]:
    """A row of DescribeConfigs about a broker, or (under the empty name) about all of them."""
    name = row.resource_name
    by_source = {
        source: {each.name: each.value for each in row.configs if each.config_source == source and each.name in keys}
        for source in (OF_BROKER, OF_ALL)
    }
    own, of_all = by_source[OF_BROKER], by_source[OF_ALL]
    found = [
        ShownFact(
            broker_key(""),
            lambda state: {key: value for key, value in state or () if key not in own} == of_all,
            f"of all brokers set to {of_all}",
        )
    ]
    if name:
        found.append(ShownFact(broker_key(name), lambda state: dict(state or ()) == own, f"of itself set to {own}"))
    return found
