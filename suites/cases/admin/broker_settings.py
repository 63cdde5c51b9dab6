"""Settings of one broker, of all brokers and of a topic, drawn: which is in force, where each comes from (KIP-226)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CHANGE = {"DescribeConfigs": 1, "IncrementalAlterConfigs": 0, "AlterConfigs": 0}
WITHIN_S, ALL, STATIC = 20, "", "log.retention.check.interval.ms"
OF_TOPIC, OF_BROKER, OF_ALL = 1, 2, 3
LOOKED_AT = "message.max.bytes"
"""What is in force shows by which batches are taken."""
VALUES = {
    LOOKED_AT: ("2000", "3000000"),
    "log.cleaner.delete.retention.ms": ("3600000", "7200000"),
    "log.index.interval.bytes": ("2048", "8192"),
    "log.retention.bytes": ("1000000000", "2000000000"),
}
BAD = {
    "message.max.bytes": "-5",
    "log.cleaner.delete.retention.ms": "-1",
    "log.index.interval.bytes": "often",
    "log.retention.bytes": "all",
}
TYPES = {
    "message.max.bytes": 3,
    "log.cleaner.delete.retention.ms": 5,
    "log.index.interval.bytes": 3,
    "log.retention.bytes": 5,
}
INHERITED = {
    "message.max.bytes": "max.message.bytes",
    "log.cleaner.delete.retention.ms": "delete.retention.ms",
    "log.index.interval.bytes": "index.interval.bytes",
    "log.retention.bytes": "retention.bytes",
}
STEPS = (
    *["all"] * 4,
    *["one"] * 3,
    *["topic"] * 3,
    *["opposed"] * 2,
    *["all_again"] * 3,
    "replace",
    *["refused"] * 3,
    "trial",
)


@case(
    "admin/settings-of-brokers-and-topics",
    guarantees=["adm-008", "adm-009", "adm-010", "adm-004"],
    apis=CHANGE,
    needs=["settings", "started", "topic-settings"],
    detects=["T08", "T09", "V84"],
)
def the_nearest_setting_is_in_force(wire, topic_of, rng):
    """A topic's own setting MUST take precedence over that of its broker, that over the one of all brokers, and that
    over what the broker was started with, whatever is set, deleted, replaced, validated and refused in between.
    DescribeConfigs MUST report for brokers and topics which value is in force, its source, and its synonyms.

    Four settings, of those that the brokers and the topic report; 40 drawn steps; one of them is also observed by its
    effect.
    """
    with_all_put_back(wire, topic_of, rng, 40)


@case(
    "admin/settings-of-brokers-over-restarts",
    guarantees=["adm-008", "adm-010"],
    apis=CHANGE,
    needs=["settings", "started", "topic-settings", "kill", "terminate", "restart"],
    detects=["T10"],
)
def the_nearest_setting_is_in_force_after_restarts(wire, topic_of, rng, nodes):
    """A topic's own setting MUST take precedence over that of its broker, that over the one of all brokers, and that
    over what the broker was started with, also where nodes are stopped cleanly and killed in between; DescribeConfigs
    MUST report it so.
    """
    with_all_put_back(wire, topic_of, rng, 20, {6: nodes.stop_and_start, 13: nodes.crash})


def with_all_put_back(wire, topic_of, rng, turns, acts=()):
    layers = SettingLayers(wire, topic_of(), rng)
    try:
        layers.follow(turns, acts)
    finally:
        for name in (ALL, *map(str, wire.nodes)):
            changed(wire, name, [(key, DELETE, None) for key in layers.keys])


def changed(wire, name, rows, validate_only=False):
    """IncrementalAlterConfigs of all brokers, or of one, which has to be asked itself."""
    configs = [{"name": key, "config_operation": how, "value": value} for key, how, value in rows]
    asked = request(
        "IncrementalAlterConfigs",
        validate_only=validate_only,
        resources=[{"resource_type": BROKER, "resource_name": name, "configs": configs}],
    )
    return wire.ask(asked, to=int(name) if name else wire.nodes[0])


class SettingLayers:
    """What was set where; below it lies what the brokers had before."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.of_all: dict[str, str] = {}
        self.of_one: dict[int, dict[str, str]] = {node: {} for node in wire.nodes}
        self.of_topic: dict[str, str] = {}
        asked = [*VALUES, STATIC]
        self.before = {node: self._reported(BROKER, str(node), asked, node, 1, True)[1] for node in wire.nodes}
        known = {*self._reported(TOPIC, topic, list(INHERITED.values()), wire.nodes[0], 1, True)[1]}
        self.keys = [key for key in VALUES if self._has(key) and INHERITED[key] in known]
        """What is not reported at first is not asked for later."""
        self.static = [STATIC] if self._has(STATIC) else []
        if LOOKED_AT not in self.keys or len(self.keys) < 2:
            wire.not_applicable(f"of {sorted(VALUES)} brokers and topics report {self.keys}")

    def _has(self, key):
        return all(key in rows for rows in self.before.values())

    def follow(self, turns, acts):
        for turn in range(turns):
            getattr(self, f"_step_{self.rng.choice(STEPS)}")()
            if turn in acts:
                acts[turn](self.rng.choice(self.wire.nodes))
                self.wire.await_topic(self.topic)
            how = self._drawn()
            self.wire.eventually(lambda how=how: self.must_be_described(*how), within=WITHIN_S)
            self.wire.eventually(self.must_be_in_force, within=WITHIN_S)

    # what is set

    def _changes(self, layer, names=None):
        """Some changes, and what the layer is after them."""
        after, rows = dict(layer), []
        keys = {*self.rng.sample(sorted(self.keys), self.rng.randint(1, 2)), *([LOOKED_AT] * self.rng.randint(0, 1))}
        for key in sorted(keys):
            value = self.rng.choice((*VALUES[key], None))
            rows.append(((names or {}).get(key, key), DELETE if value is None else SET, value))
            after.pop(key, None)
            after.update({} if value is None else {key: value})
        return rows, after

    def _step_all(self):
        rows, self.of_all = self._changes(self.of_all)
        changed(self.wire, ALL, rows).must_succeed()

    def _step_one(self):
        node = self.rng.choice(self.wire.nodes)
        rows, self.of_one[node] = self._changes(self.of_one[node])
        changed(self.wire, str(node), rows).must_succeed()

    def _step_topic(self):
        rows, self.of_topic = self._changes(self.of_topic, INHERITED)
        self.wire.change_configs(TOPIC, self.topic, rows).must_succeed()

    def _step_opposed(self):
        """The leader says otherwise than all brokers do, and the topic says nothing."""
        here, values = self.wire.leader(self.topic), self.rng.sample(VALUES[LOOKED_AT], 2)
        self.of_one[here][LOOKED_AT], self.of_all[LOOKED_AT] = values
        changed(self.wire, str(here), [(LOOKED_AT, SET, values[0])]).must_succeed()
        changed(self.wire, ALL, [(LOOKED_AT, SET, values[1])]).must_succeed()
        self.of_topic.pop(LOOKED_AT, None)
        self.wire.change_configs(TOPIC, self.topic, [(INHERITED[LOOKED_AT], DELETE, None)]).must_succeed()

    def _step_all_again(self):
        """The default of all brokers is set to one value and then to another; the topic has its own, not the last
        (KAFKA-9254).
        """
        self.of_topic[LOOKED_AT], self.of_all[LOOKED_AT] = self.rng.sample(VALUES[LOOKED_AT], 2)
        self.wire.change_configs(
            TOPIC, self.topic, [(INHERITED[LOOKED_AT], SET, self.of_topic[LOOKED_AT])]
        ).must_succeed()
        for value in (self.of_topic[LOOKED_AT], self.of_all[LOOKED_AT]):
            changed(self.wire, ALL, [(LOOKED_AT, SET, value)]).must_succeed()

    def _step_replace(self):
        """AlterConfigs of one broker: what it does not name is not set there any more."""
        node = self.rng.choice(self.wire.nodes)
        some = self.rng.sample(sorted(self.keys), self.rng.randint(0, 2))
        self.of_one[node] = {key: self.rng.choice(VALUES[key]) for key in some}
        configs = [{"name": key, "value": value} for key, value in self.of_one[node].items()]
        resource = {"resource_type": BROKER, "resource_name": str(node), "configs": configs}
        self.wire.ask(request("AlterConfigs", resources=[resource]), to=node).must_succeed()

    def _step_refused(self):
        """A bad value, or a setting that is only read at the start: none of the others is set."""
        name = self.rng.choice((ALL, str(self.rng.choice(self.wire.nodes))))
        rows, _ = self._changes({})
        others = [key for key in self.keys if key not in {row[0] for row in rows}]
        wrong = [(key, SET, BAD[key]) for key in self.rng.sample(others, min(len(others), 1))]
        wrong += [(key, SET, "700") for key in self.static]
        if not wrong:
            return
        bad = self.rng.choice(wrong)
        refused = changed(self.wire, name, [*rows, bad])
        refused.must_be_refused(errors.INVALID_CONFIG, errors.INVALID_REQUEST)

    def _step_trial(self):
        name = self.rng.choice((ALL, str(self.rng.choice(self.wire.nodes))))
        rows, _ = self._changes({})
        changed(self.wire, name, rows, validate_only=True).must_succeed()

    # what is so

    def _chain(self, node, key):
        """(value, source) of a broker's setting, the one in force first."""
        found = [(self.of_one[node][key], OF_BROKER)] if key in self.of_one[node] else []
        found += [(self.of_all[key], OF_ALL)] if key in self.of_all else []
        row = self.before[node][key]
        return [*found, *([(each.value, each.source) for each in row.synonyms] or [(row.value, row.config_source)])]

    def _drawn(self):
        """Which broker is asked, in which version, with synonyms or without, and for which settings (None: all)."""
        node = self.rng.choice(self.wire.nodes)
        version = self.rng.choice([each for each in self.wire.versions("DescribeConfigs") if each >= 1])
        return node, version, self.rng.random() < 0.7, self.rng.choice((None, None, False, False))

    def must_be_described(self, node, version, synonyms, everything):
        """Of that broker and of the topic as it is there."""
        asked = [*self.keys, *self.static] if everything is False else everything
        rows = self._rows(BROKER, str(node), asked, node, version, synonyms)
        for key in self.static:
            self.wire.must(rows[key].read_only, f"{key} is reported as one that can be changed")
        for key in self.keys:
            self._must_fit(key, rows[key], self._chain(node, key), version, synonyms)
        asked = [INHERITED[key] for key in self.keys] if everything is False else everything
        rows = self._rows(TOPIC, self.topic, asked, node, version, synonyms)
        for key in self.keys:
            own = [(self.of_topic[key], OF_TOPIC)] if key in self.of_topic else []
            self._must_fit(key, rows[INHERITED[key]], [*own, *self._chain(node, key)], version, synonyms)
        rows = self._rows(BROKER, ALL, self.keys, node, version, synonyms)
        reported = {key: row.value for key, row in rows.items() if row.config_source == OF_ALL}
        self.wire.must(reported == self.of_all, f"the settings of all brokers are {reported}; it must be {self.of_all}")

    def _must_fit(self, key, row, chain, version, synonyms):
        found, wanted = (row.value, row.config_source), chain[0]
        self.wire.must(found == wanted, f"{row.name} has (value, source) {found}; it must have {wanted}")
        self.wire.must(not row.read_only and not row.is_sensitive, f"{row.name} is reported as read-only or sensitive")
        if synonyms:
            rest = [(each.value, each.source) for each in row.synonyms]
            names = [row.name if each.source == OF_TOPIC else key for each in row.synonyms]
            behind = [each.name for each in row.synonyms]
            self.wire.must(behind == names, f"the values behind {row.name} are those of {behind}; they are of {names}")
            self.wire.must(rest == chain, f"the values behind {row.name} are {rest}; they must be {chain}")
        else:
            self.wire.must(not row.synonyms, f"{row.name} is reported with synonyms that were not asked for")
        if version >= 3:
            self.wire.must(row.config_type == TYPES[key], f"{row.name} is reported with the type {row.config_type}")
            self.wire.must(
                row.documentation is None, f"{row.name} is reported with a documentation that was not asked for"
            )

    def _rows(self, kind, name, keys, node, version, synonyms):
        answer, rows = self._reported(kind, name, keys, node, version, synonyms)
        known = [*self.keys, *self.static] if kind == BROKER else [INHERITED[key] for key in self.keys]
        missing = sorted(set(keys or known) - set(rows))
        answer.must(not missing or (kind, name) == (BROKER, ALL), f"it leaves out {missing}", "results")
        return rows

    def _reported(self, kind, name, keys, node, version, synonyms):
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        asked = request("DescribeConfigs", resources=[resource], include_synonyms=synonyms)
        answer = self.wire.ask(asked, to=node, version=version).must_succeed()
        return answer, {row.name: row for row in answer.struct.results[0].configs}

    def must_be_in_force(self):
        """Which batches are too large says the setting of the topic at its leader."""
        leader = self.wire.leader(self.topic)
        own = self.of_topic.get(LOOKED_AT)
        limit = int(own or self._chain(leader, LOOKED_AT)[0][0])
        answer = self.wire.produce(self.topic, batch("x" * 5_000))
        if limit < 5_000:
            answer.must_be_refused(errors.MESSAGE_TOO_LARGE)
        else:
            answer.must_succeed()
