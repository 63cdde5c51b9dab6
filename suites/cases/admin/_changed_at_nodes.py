"""Requests that change topics and settings, each asked of a drawn node: what is acknowledged, and what is so then."""

from uuid import UUID

from brokertrial.suites.cases.admin import _requests as rows_of
from brokertrial.suites.cases.admin._seen_at_nodes import (
    ABSENT,
    ALONE,
    ClusterHistory,
    TopicState,
    broker_key,
    topic_key,
)
from brokertrial.suites.probe.admin import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC
from brokertrial.suites.probe.failures import NoResponse, breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

MOST, MOST_PARTITIONS, WITHIN_S, TAKES_S = 5, 6, 30, 20
NO_TOPIC, TAKEN, NOWHERE = (
    errors.UNKNOWN_TOPIC_OR_PARTITION,
    errors.TOPIC_ALREADY_EXISTS,
    errors.INVALID_REPLICA_ASSIGNMENT,
)
BAD_OF_BROKERS = (errors.INVALID_CONFIG, errors.INVALID_REQUEST)
OF_BROKERS = {
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.type": "log.message.timestamp.type",
    "compression.type": "compression.type",
    "cleanup.policy": "log.cleanup.policy",
}
"""Settings of topics, and those of brokers that topics without a value have theirs from."""
POLICY = OF_BROKERS["cleanup.policy"]
BROKER_VALUES = {
    "log.retention.bytes": ("50000000", "60000000"),
    "log.retention.ms": ("90000000", "99000000"),
    "message.max.bytes": ("3000", "2000000"),
    "log.message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "compression.type": ("producer", "lz4"),
}
STEPS = ("make", "make", "delete", "grow", "grow", "change", "change", "change", "replace", "brokers", "brokers")


class ChangedTopic:
    """A topic as it must be, and what its partitions hold."""

    def __init__(self, name, state):
        self.name, self.state = name, state
        self.values: dict[int, list[str]] = {index: [] for index in range(len(state.placed))}

    @property
    def id(self):
        return UUID(self.state.id)

    @property
    def partitions(self):
        return len(self.state.placed)

    @property
    def replicas(self):
        return len(self.state.placed[0])

    @property
    def settings(self):
        return dict(self.state.settings)


class ClusterOfChanges:
    """The topics and settings of a cluster, and who may be asked."""

    def __init__(self, wire, rng):
        self.wire, self.rng, self.everyone = wire, rng, sorted(wire.nodes)
        self.away: int | None = None
        self.history = ClusterHistory(ordered=bool(wire.features.get("metadata.version")))
        self.there: dict[str, ChangedTopic] = {}
        self.gone: dict[str, list[str]] = {}
        self.had: dict[str, set[str]] = {}
        self.brokers: dict[str, dict[str, str]] = {"": {}, **{str(node): {} for node in self.everyone}}
        self.history.changed({broker_key(name): () for name in self.brokers})
        self._make(rng.choice(self.everyone), trial=False, on=rng.choice(self.everyone))
        for _ in range(2):
            self._make(rng.choice(self.everyone), trial=False)

    @property
    def alive(self):
        return [node for node in self.everyone if node != self.away]

    def step(self, kind=None):
        """One request, of a node that is reached by the others."""
        node, trial = self.rng.choice(self.alive), kind is None and self.rng.random() < 0.15
        getattr(self, f"_{kind or self.rng.choice(STEPS)}")(node, trial=trial)

    # topics

    @breaks("adm-002")
    def _make(self, node, trial, on=None):
        """`on`: one topic more, on this node alone."""
        rng, rows = self.rng, []
        if on is not None:
            name = self.wire.name("t")
            rows.append(rows_of.Row(name, _on(name, on), change=rows_of.Made(1, {0: [on]}, ALONE)))
        free = [name for name in self.gone if rng.random() < 0.7][:1] or [self.wire.name("t")]
        free += [self.wire.name("t")] if rng.random() < 0.4 else []
        for name in free[: max(0, MOST - len(self.there))]:
            rows.append(self._good(name))
        if rng.random() < 0.5:
            rows.append(rows_of.not_made(rng, self._plain(self.wire.name("t")), self._alive_first()))
        if self.there and (not rows or rng.random() < 0.4):
            rows.append(self._plain(rng.choice(sorted(self.there)))._replace(error=TAKEN, change=None))
        rng.shuffle(rows)
        self.wire.will_make(self.wire.made_topics, *(row.name for row in rows))
        answer = self._ask(node, "CreateTopics", topics=[row.fields for row in rows], validate_only=trial)
        self._codes(answer, rows, [(row.name, row.error_code) for row in answer.struct.topics])
        results = {row.name: row for row in answer.struct.topics}
        made = [row for row in rows if not row.error and not trial]
        after = {row.name: self._learnt(node, row, results[row.name]) for row in made}
        for name, state in after.items():
            self.gone.pop(name, None)
            self.there[name] = ChangedTopic(name, state)
            self.had.setdefault(name, set()).update(key for key, _ in state.settings)
        self._changed({topic_key(name): state for name, state in after.items()})

    def _plain(self, name):
        return rows_of.made(self.rng, name, self.everyone, 7)

    def _good(self, name):
        """A name that is used again is given all settings that it ever had: Kafka leaves those of the former topic
        where a node learns of both at once."""
        row = self._plain(name)
        settings = {key: self.rng.choice(rows_of.VALUES[key]) for key in sorted(self.had.get(name, set()) - {*ALONE})}
        settings |= {**row.change.settings, **ALONE}
        row = row._replace(
            fields={**row.fields, "configs": _configs(settings)}, change=row.change._replace(settings=settings)
        )
        nowhere = any(set(ids) <= {self.away} for ids in (row.change.placed or {}).values())
        return row._replace(error=NOWHERE, change=None) if nowhere else row

    @breaks("adm-001")
    def _learnt(self, node, row, result):
        """The topic that was made, as the node that was asked shows it."""
        made, old = row.change, self.gone.get(row.name, ())
        found = self._await(node, row.name, lambda shown: str(shown.topic_id) not in old)
        placed = _placed(found)
        count, copies = len(placed), row.fields["replication_factor"]
        right = made.partitions in (-1, count) and _are_of(placed, copies, self.everyone)
        right = right and made.placed in (None, {n: list(ids) for n, ids in enumerate(placed)})
        self.wire.must(right, f"{row.name} is on {placed}; asked was for {rows_of.words(row.fields)}")
        named = (result.num_partitions, result.replication_factor, str(result.topic_id))
        real = (count, len(placed[0]), str(found.topic_id))
        self.wire.must(named == real, f"{row.name} is answered with {named}; it has {real}")
        return TopicState(str(found.topic_id), placed, _sorted(made.settings))

    def _await(self, node, name, right):
        def shown():
            row = self.wire.metadata(name, to=node).struct.topics[0]
            return row if not row.error_code and right(row) else None

        return self.wire.until(shown, within=WITHIN_S, what=f"node {node}, which was asked, shows {name} as it is now")

    @breaks("adm-006")
    def _delete(self, node, trial):
        rng = self.rng
        chosen = rng.sample(sorted(self.there), min(max(len(self.there) - 2, 0), rng.choice((1, 1, 2))))
        rows = [rows_of.deleted(rng, self.there[name], rng.random() < 0.5) for name in chosen]
        absent = rng.choice([*self.gone, self.wire.name("absent")])
        old = [each for ids in self.gone.values() for each in ids] or [str(UUID(int=rng.getrandbits(128)))]
        unknown = UUID(rng.choice(old))
        others = [rows_of.Row(absent, {"name": absent, "topic_id": ZERO_UUID}, NO_TOPIC)]
        others += [rows_of.Row(str(unknown), {"name": None, "topic_id": unknown}, errors.UNKNOWN_TOPIC_ID)]
        rows += rng.sample(others, rng.randint(0 if rows else 1, 2))
        rng.shuffle(rows)
        answer = self._ask(node, "DeleteTopics", topics=[row.fields for row in rows])
        names = {each.state.id: each.name for each in self.there.values()}
        codes = [(names.get(str(row.topic_id), row.name or str(row.topic_id)), row) for row in answer.struct.responses]
        self._codes(answer, rows, [(name, row.error_code) for name, row in codes])
        for name in chosen:
            self.gone.setdefault(name, []).append(self.there.pop(name).state.id)
        self.wire.deleted_topics.update(chosen)
        self._changed({topic_key(name): ABSENT for name in chosen})

    @breaks("adm-007")
    def _grow(self, node, trial):
        rng, rows = self.rng, []
        for name in rng.sample(sorted(self.there), min(len(self.there), 2)):
            one = self.there[name]
            if rng.random() < 0.3 or one.partitions >= MOST_PARTITIONS:
                rows.append(rows_of.not_grown(rng, one, self._alive_first()))
                continue
            row = rows_of.grown(rng, one, self.everyone)
            nowhere = any(set(each["broker_ids"]) <= {self.away} for each in row.change or ())
            rows.append(row._replace(error=NOWHERE) if nowhere else row)
        absent = rng.choice([*self.gone, self.wire.name("absent")])
        rows += [rows_of.Row(absent, {"name": absent, "count": 3, "assignments": None}, NO_TOPIC)]
        rng.shuffle(rows)
        answer = self._ask(node, "CreatePartitions", topics=[row.fields for row in rows], validate_only=trial)
        self._codes(answer, rows, [(row.name, row.error_code) for row in answer.struct.results])
        grown = [row for row in rows if not row.error and not trial]
        self._changed({topic_key(row.name): self._grown(node, row) for row in grown})

    def _grown(self, node, row):
        one, count = self.there[row.name], row.fields["count"]
        found = self._await(node, row.name, lambda shown: len(shown.partitions) == count)
        placed = _placed(found)
        added = placed[one.partitions :]
        asked = added if row.change is None else tuple(tuple(each["broker_ids"]) for each in row.change)
        right = placed == (*one.state.placed, *asked) and _are_of(added, one.replicas, self.everyone)
        self.wire.must(
            right,
            f"{row.name} is on {placed}; it was on {one.state.placed}, and asked was for {rows_of.words(row.fields)}",
        )
        one.values |= {index: [] for index in range(one.partitions, count)}
        one.state = one.state._replace(placed=placed)
        return one.state

    # settings

    def _change(self, node, trial):
        """Of some topics, with one that is not there and settings of brokers beside."""
        rng = self.rng
        rows: list[rows_of.Row] = []
        after: dict[str, dict[str, str]] = {}
        for name in rng.sample(sorted(self.there), min(len(self.there), 2)):
            bad = rng.random() < 0.3
            configs, result = (rows_of.not_changed if bad else rows_of.changed)(rng, self.there[name].settings)
            rows.append(_resource(TOPIC, name, configs, result if bad else 0))
            after |= {} if bad else {name: result}
        if rng.random() < 0.4:
            absent = rng.choice([*self.gone, self.wire.name("absent")])
            rows.append(_resource(TOPIC, absent, [_set("retention.ms", "1000000")], NO_TOPIC))
        self._set(node, trial, "IncrementalAlterConfigs", rows, after)

    def _replace(self, node, trial):
        rng = self.rng
        rows: list[rows_of.Row] = []
        after: dict[str, dict[str, str]] = {}
        for name in rng.sample(sorted(self.there), min(len(self.there), 2)):
            settings = {**rows_of.replaced(rng), **ALONE}
            bad = rng.random() < 0.3
            given = {**settings, "max.message.bytes": "-5"} if bad else settings
            rows.append(_resource(TOPIC, name, _configs(given), errors.INVALID_CONFIG if bad else 0))
            after |= {} if bad else {name: settings}
        self._set(node, trial, "AlterConfigs", rows, after)

    def _brokers(self, node, trial):
        """Of all brokers, or of the one that is asked; a topic beside."""
        rng = self.rng
        rows: list[rows_of.Row] = []
        settings: dict[str, dict[str, str]] = {}
        for name in rng.sample(["", str(node)], rng.choice((1, 1, 2))):
            configs, result = _changes_of_broker(rng, self.brokers[name])
            bad = rng.random() < 0.2
            rows.append(_resource(BROKER, name, configs + [_set("log.cleaner.backoff.ms", "soon")] * bad, bad))
            settings |= {} if bad else {name: result}
        configs, result = rows_of.changed(rng, self.there[topic := rng.choice(sorted(self.there))].settings)
        beside = rng.random() < 0.4
        rows += [_resource(TOPIC, topic, configs)] * beside
        self._set(node, trial, "IncrementalAlterConfigs", rows, {topic: result} if beside else {}, settings)

    def _in_turn(self, node, trial):
        """Something of all brokers, and then of the one that is asked."""
        for name in ("", str(node)):
            key = self.rng.choice(sorted(BROKER_VALUES))
            value = self.rng.choice(BROKER_VALUES[key])
            rows = [_resource(BROKER, name, [_set(key, value)])]
            self._set(node, trial, "IncrementalAlterConfigs", rows, {}, {name: {**self.brokers[name], key: value}})

    @breaks("adm-009")
    def _set(self, node, trial, api, rows, of_topics, of_brokers=None):
        self.rng.shuffle(rows)
        answer = self._ask(node, api, resources=[row.fields for row in rows], validate_only=trial)
        found = []
        for row in answer.struct.responses:
            bad = row.resource_type == BROKER and row.error_code in BAD_OF_BROKERS
            found.append((row.resource_name, int(bad) if row.resource_type == BROKER else row.error_code))
        self._codes(answer, rows, found)
        if trial:
            return
        after = {}
        for name, settings in of_topics.items():
            one = self.there[name]
            one.state = one.state._replace(settings=_sorted(settings))
            self.had[name].update(settings)
            after[topic_key(name)] = one.state
        for name, settings in (of_brokers or {}).items():
            self.brokers[name] = settings
            after[broker_key(name)] = _sorted(settings)
        self._changed(after)

    def unset(self):
        """No broker is left with a setting, nor is one that was away when something was wrong: it is back."""
        if self.away is not None:
            self.wire.drop_lines(self.away)
        for name, settings in self.brokers.items():
            node = int(name) if name else self.alive[0]
            if settings:
                rows = [{"name": key, "config_operation": DELETE, "value": None} for key in settings]
                asked = request("IncrementalAlterConfigs", resources=[_resource(BROKER, name, rows).fields])
                try:
                    _ = self.wire.ask(asked, to=node, may_take_s=TAKES_S).error
                except NoResponse:
                    self.wire.drop_lines(node)

    # what they are made of

    def _alive_first(self):
        return sorted(self.everyone, key=lambda node: node == self.away)

    def _changed(self, after):
        if after:
            self.history.changed(after)

    @breaks("adm-016")
    def _ask(self, node, api, **fields):
        if api not in ("IncrementalAlterConfigs", "AlterConfigs"):
            fields["timeout_ms"] = 1000 * TAKES_S
        return self.wire.ask(request(api, **fields), to=node, may_take_s=TAKES_S)

    def _codes(self, answer, rows, codes):
        wanted = sorted((row.name, int(row.error)) for row in rows)
        answer.must(sorted(codes) == wanted, f"the error codes are {sorted(codes)}; they must be {wanted}")


def _placed(row):
    parts = {part.partition_index: tuple(part.replica_nodes) for part in row.partitions}
    return tuple(parts[index] for index in sorted(parts))


def _are_of(placed, copies, nodes):
    """So many replicas each (-1: any number), on different nodes."""
    return all(len(set(ids)) == len(ids) and copies in (-1, len(ids)) and {*ids} <= {*nodes} for ids in placed)


def _sorted(settings):
    return tuple(sorted(settings.items()))


def _set(name, value):
    return {"name": name, "config_operation": SET, "value": value}


def _on(name, node):
    """A row of CreateTopics: one partition on this node."""
    placed = [{"partition_index": 0, "broker_ids": [node]}]
    plain = {"num_partitions": -1, "replication_factor": -1, "configs": _configs(ALONE)}
    return {"name": name, "assignments": placed, **plain}


def _configs(settings):
    return [{"name": key, "value": value} for key, value in settings.items()]


def _resource(kind, name, configs, error=0):
    return rows_of.Row(name, {"resource_type": kind, "resource_name": name, "configs": configs}, error)


def _changes_of_broker(rng, settings):
    after, rows = dict(settings), []
    for key in rng.sample(sorted(BROKER_VALUES), rng.randint(1, 2)):
        how, value = rng.choice((SET, SET, DELETE)), rng.choice(BROKER_VALUES[key])
        after.pop(key, None)
        if how == SET:
            after[key] = value
        rows.append({"name": key, "config_operation": how, "value": value if how == SET else None})
    if rng.random() < 0.5:
        item, items = rng.choice(("delete", "compact")), after.get(POLICY, "delete").split(",")
        less = [each for each in items if each != item]
        how = SUBTRACT if less and rng.random() < 0.5 else APPEND
        after[POLICY] = ",".join(less if how == SUBTRACT else [*less, item] if item not in items else items)
        rows.append({"name": POLICY, "config_operation": how, "value": item})
    return rows, after
