"""Topics that are asked for in rows of admin requests: what each request does to them, and how they are described."""

from collections import Counter
from uuid import UUID

from brokertrial.suites.cases.admin import _requests as rows_of
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

DYNAMIC_TOPIC, MOST, WITHIN_S = 1, 6, 20
NO_NAME, NO_TOPIC, TWICE = errors.INVALID_TOPIC_EXCEPTION, errors.UNKNOWN_TOPIC_OR_PARTITION, errors.INVALID_REQUEST
TYPES = {
    "retention.ms": 5,
    "retention.bytes": 5,
    "max.message.bytes": 3,
    "cleanup.policy": 7,
    "compression.type": 2,
    "message.timestamp.type": 2,
    "unclean.leader.election.enable": 1,
    "min.cleanable.dirty.ratio": 6,
}
"""As DescribeConfigs returns them (DescribeConfigsResponse.ConfigType)."""


class Topic:
    """A topic as it must be."""

    def __init__(self, name, partitions, replicas, placed, settings):
        self.name, self.id, self.partitions, self.replicas = name, None, partitions, replicas
        self.placed, self.settings, self.ends = dict(placed or {}), settings, dict.fromkeys(range(partitions), 0)


class FollowedTopics:
    """All topics of the case, those that are no more, and what each request does to them."""

    def __init__(self, wire, rng):
        self.wire, self.rng, self.nodes = wire, rng, sorted(wire.nodes)
        self.zookeeper = wire.case_context.has_zookeeper
        self.there: dict[str, Topic] = {}
        self.gone: dict[str, object] = {}
        self.had_settings: set[str] = set()
        for _ in range(3):
            self._make(trial=False)

    def step(self, step):
        getattr(self, f"_{step}")(trial=self.rng.random() < 0.2)
        self._write()

    # -- the requests

    @breaks("adm-002")
    def _make(self, trial):
        rng, version = self.rng, self._version("CreateTopics", 2)
        # Kafka gives a topic the settings of a deleted one of its name where a node reads both lives at once.
        again = [name for name in self.gone if name not in self.had_settings and rng.random() < 0.7]
        free = again[:1] or [self.wire.name("t")]
        names = (free + [self.wire.name("t") for _ in range(3)])[: max(1, min(3, MOST - len(self.there)))]
        rows = [rows_of.made(rng, name, self.nodes, version) for name in names if len(self.there) < MOST]
        rows += [self._not_made(rows_of.made(rng, self.wire.name("t"), self.nodes, version))]
        rows += [self._odd(self._good_or_bad(name, version), NO_NAME) for name in self._bad_names()]
        rows += [
            self._odd(self._good_or_bad(name, version), errors.TOPIC_ALREADY_EXISTS)
            for name in rng.sample(sorted(self.there), min(1, len(self.there)))
        ]
        rows = self._mixed(rows, lambda row: row.name)
        answer = self._ask("CreateTopics", version, topics=[row.fields for row in rows], validate_only=trial)
        results = {row.name: row for row in answer.struct.topics}
        codes = [(row.name, row.error_code) for row in answer.struct.topics]
        for bad, broken in ((True, "adm-003"), (False, "adm-002")):
            with breaks(broken):
                named = [row for row in rows if (row.name in rows_of.BAD_NAMES) == bad]
                self._codes(answer, named, [each for each in codes if (each[0] in rows_of.BAD_NAMES) == bad], "topics")
        for row in rows:
            if not row.error and not trial:
                self._take(answer, row, results[row.name], version)
            elif version >= 5 and row.error:
                counts = (results[row.name].num_partitions, results[row.name].replication_factor)
                answer.must(counts == (-1, -1), f"{row.name} is refused, and reported with {counts}", "topics")

    def _good_or_bad(self, name, version):
        """A row whose name is looked at first, whatever else is wrong with it; with ZooKeeper it is looked at last."""
        row = rows_of.made(self.rng, name, self.nodes, version)
        return row if self.zookeeper or self.rng.random() < 0.5 else self._not_made(row)

    def _not_made(self, good):
        while not rows_of.is_wrong(self.wire, (row := rows_of.not_made(self.rng, good, self.nodes)).fields):
            pass
        return row

    @breaks("adm-001")
    def _take(self, answer, row, result, version):
        made = row.change
        self.wire.await_topic(row.name)
        listed = self.wire.metadata(row.name).must_succeed().struct.topics[0]
        count, replicas = len(listed.partitions), len(listed.partitions[0].replica_nodes)
        answer.must(made.partitions in (-1, count), f"{row.name} has {count} partitions; {made.partitions} were asked")
        asked = row.fields["replication_factor"]
        answer.must(made.placed or asked in (-1, replicas), f"{row.name} has {replicas} replicas; {asked} were asked")
        if version >= 5:
            counts = (result.num_partitions, result.replication_factor)
            answer.must(counts == (count, replicas), f"it is reported with {counts}; it has {count}, {replicas}")
            own = {each.name: each.value for each in result.configs if each.config_source == DYNAMIC_TOPIC}
            own = {key: value for key, value in own.items() if key in rows_of.VALUES}
            answer.must(own == made.settings, f"it is reported with {own}; it must have {made.settings}", "topics")
        if version >= 7:
            same = result.topic_id == listed.topic_id
            answer.must(same, f"{row.name} is reported with the id {result.topic_id}; it has {listed.topic_id}")
        before = self.gone.pop(row.name, None)
        answer.must(listed.topic_id != before, f"{row.name} has the id that it had before it was deleted")
        one = Topic(row.name, count, replicas, made.placed, made.settings)
        one.id = listed.topic_id
        self.there[row.name] = one
        self._remember(one)

    def _remember(self, one):
        if one.settings:
            self.had_settings.add(one.name)

    @breaks("adm-006")
    def _delete(self, trial):
        rng, version = self.rng, self._version("DeleteTopics", 1)
        chosen = rng.sample(sorted(self.there), min(len(self.there), rng.choice((0, 1, 1, 2))))
        rows = [rows_of.deleted(rng, self.there[name], version >= 6 and rng.random() < 0.5) for name in chosen]
        absent = self.wire.name("absent")
        rows += [rows_of.Row(absent, {"name": absent, "topic_id": ZERO_UUID}, NO_TOPIC)]
        others = [*self.gone.values(), UUID(int=rng.getrandbits(128))]
        if version >= 6:
            unknown = rng.choice(others)
            rows += [rows_of.Row(str(unknown), {"name": None, "topic_id": unknown}, errors.UNKNOWN_TOPIC_ID)]
        # A controller with ZooKeeper deletes a topic that is named twice, once.
        rows = self._mixed(rows, lambda row: (row.fields["name"], row.fields["topic_id"]), twice=not self.zookeeper)
        answer = self._ask(
            "DeleteTopics",
            version,
            topics=[row.fields for row in rows],
            topic_names=[row.name for row in rows],
        )
        codes = [
            (row.name if row.name is not None else str(row.topic_id), row.error_code) for row in answer.struct.responses
        ]
        ids = {str(one.id): one.name for one in self.there.values()}
        self._codes(answer, rows, [(ids.get(name, name), code) for name, code in codes], "responses")
        for row in answer.struct.responses if version >= 6 else ():
            by_name = self.zookeeper and row.topic_id == ZERO_UUID  # then it is reported as it was named
            right = row.error_code or by_name or row.topic_id == self.there[row.name].id
            answer.must(right, f"{row.name} is reported with the id {row.topic_id}", "responses")
        for row in rows:
            if not row.error:
                self._bury(row.name)

    @breaks("adm-006")
    def _bury(self, name):
        self.gone[name] = self.there.pop(name).id
        self.wire.deleted_topics.add(name)
        for node in self.wire.nodes:
            self.wire.eventually(
                lambda node=node: self.wire.metadata(name, to=node).must_have("topics[0].error_code", NO_TOPIC),
                within=WITHIN_S,
            )
        if self.zookeeper:  # the name is free some time after no broker tells of the topic any more
            self.wire.create_topic(name, validate_only=True).must_succeed()

    @breaks("adm-007")
    def _grow(self, trial):
        rng = self.rng
        chosen = rng.sample(sorted(self.there), min(len(self.there), 3))
        rows = []
        for name in chosen:
            draw = rows_of.grown if rng.random() < 0.6 and self.there[name].partitions < 6 else rows_of.not_grown
            rows.append(draw(rng, self.there[name], self.nodes))
        absent = rng.choice([*self.gone, self.wire.name("absent")])
        rows.append(rows_of.Row(absent, {"name": absent, "count": 3, "assignments": None}, NO_TOPIC))
        rows = self._mixed(rows, lambda row: row.name)
        asked = {"topics": [row.fields for row in rows], "validate_only": trial}
        answer = self._ask("CreatePartitions", self._version("CreatePartitions"), **asked)
        self._codes(answer, rows, [(row.name, row.error_code) for row in answer.struct.results], "results")
        for row in rows:
            if not row.error and not trial:
                one = self.there[row.name]
                added = range(one.partitions, row.fields["count"])
                for index, ids in zip(added, row.change or (), strict=False):
                    one.placed[index] = ids["broker_ids"]
                one.ends |= dict.fromkeys(added, 0)
                one.partitions = row.fields["count"]
        for node in self.wire.nodes if not trial else ():
            self.wire.eventually(lambda node=node: self._partitions_at(node), within=WITHIN_S)
        for name in chosen:
            self.wire.await_topic(name)

    def _change(self, trial):
        self._set("IncrementalAlterConfigs", trial, rows_of.changed, rows_of.not_changed)

    def _replace(self, trial):
        def good(rng, _):
            after = rows_of.replaced(rng)
            return [{"name": key, "value": value} for key, value in after.items()], after

        def bad(rng, _):
            key = rng.choice(sorted(rows_of.BAD_VALUES))
            value, error = rng.choice(
                ((rows_of.BAD_VALUES[key], errors.INVALID_CONFIG), (None, errors.INVALID_REQUEST))
            )
            others = {name: value for name, value in rows_of.replaced(rng).items() if name != key}
            return [{"name": name, "value": each} for name, each in {**others, key: value}.items()], error

        self._set("AlterConfigs", trial, good, bad)

    @breaks("adm-009")
    def _set(self, api, trial, good, bad):
        rng, rows, after = self.rng, [], {}
        for name in rng.sample(sorted(self.there), min(len(self.there), 3)):
            draw = good if rng.random() < 0.7 else bad
            configs, result = draw(rng, self.there[name].settings)
            error = 0 if draw is good else result
            after[name] = result
            rows.append(rows_of.Row(name, self._resource(name, configs), error))
        one: list[dict[str, object]] = [{"name": "retention.ms", "value": "1000000"}]
        if api == "IncrementalAlterConfigs":
            one[0]["config_operation"] = SET
        absent = rng.choice([*self.gone, self.wire.name("absent")])
        error = NO_TOPIC
        if not self.zookeeper and rng.random() < 0.3:  # its settings are looked at before the topic is
            one, error = bad(rng, {})
        rows.append(rows_of.Row(absent, self._resource(absent, one), error))
        if api != "AlterConfigs":  # Kafka up to 4.4.0 never answers one that names a resource twice
            rows = self._mixed(rows, lambda row: row.name)
        asked = {"resources": [row.fields for row in rows], "validate_only": trial}
        answer = self._ask(api, self._version(api), **asked)
        codes = [(row.resource_name, row.error_code) for row in answer.struct.responses]
        self._codes(answer, rows, codes, "responses")
        for row in rows:
            if not row.error and not trial:
                self.there[row.name].settings = after[row.name]
                self._remember(self.there[row.name])

    @staticmethod
    def _resource(name, configs):
        return {"resource_type": TOPIC, "resource_name": name, "configs": configs}

    # -- what they are made of

    def _bad_names(self):
        return self.rng.sample(rows_of.BAD_NAMES, self.rng.choice((0, 1, 2)))

    @staticmethod
    def _odd(row, error):
        return row._replace(error=error, change=None)

    def _mixed(self, rows, key, twice=True):
        """In a drawn order, some of them twice: who is named twice is refused, whatever is asked for it."""
        if twice and self.rng.random() < 0.3:
            said = self.rng.choice(rows)
            if said.name not in rows_of.BAD_NAMES:
                rows = [row._replace(error=TWICE, change=None) if key(row) == key(said) else row for row in rows]
                rows.append(next(row for row in rows if key(row) == key(said)))
        return self.rng.sample(rows, len(rows))

    def _ask(self, api, version, **fields):
        if api == "CreateTopics":
            names = [str(row["name"]) for row in fields["topics"]]
            self.wire.will_make(self.wire.made_topics, *(name for name in names if name not in rows_of.BAD_NAMES))
        if api not in ("IncrementalAlterConfigs", "AlterConfigs"):
            fields["timeout_ms"] = 20_000
        asked = request(api, **fields)
        return self.wire.ask(asked, to=self.wire.controller, version=version, may_take_s=20)

    def _codes(self, answer, rows, codes, field):
        """Each row with its error code, once; one that was said twice as often as its broker likes."""
        twice = {name for name, code in codes if code == TWICE}
        kept = [row for row in codes if row[0] not in twice]
        found = Counter([*kept, *{row for row in codes if row[0] in twice}])
        wanted = Counter({(row.name, row.error) for row in rows})
        extra, missing = sorted(found - wanted), sorted(wanted - found)
        answer.must(not extra and not missing, f"error codes are {extra}; they must be {missing}", field)

    def _version(self, api, lowest=0):
        return self.rng.choice([each for each in self.wire.versions(api) if each >= lowest])

    # -- what is so

    @breaks("adm-001", "adm-006")
    def _write(self):
        """A record into some partition: it goes where the log of that very topic ends."""
        for name in self.rng.sample(sorted(self.there), min(1, len(self.there))):
            one = self.there[name]
            partition = self.rng.randrange(one.partitions)
            made = batch("a", key=b"k", timestamp=self.wire.now_ms())
            # With acks=all, one copy was too few for a larger min.insync.replicas until Kafka 3.7.
            acks = 1 if one.replicas == 1 else -1
            self.wire.produce(name, made, partition, acks=acks).must_be_at(one.ends[partition])
            one.ends[partition] += 1

    @breaks("adm-006", "adm-007")
    def must_be_described(self):
        """At a drawn node: partitions, nodes and ids; the settings of several, in a drawn way."""
        node = self.rng.choice(list(self.wire.nodes))
        self.wire.eventually(lambda: self._partitions_at(node), within=WITHIN_S)
        version, synonyms = self._version("DescribeConfigs", 1), self.rng.random() < 0.5
        names = [*self.there, self.rng.choice([*self.gone, self.wire.name("absent")])]
        some = self.rng.sample(sorted(rows_of.VALUES), 3)
        keys = {name: self.rng.choice((None, some, [*some[:1], "no.such.setting"])) for name in names}
        self.rng.shuffle(names)
        self.wire.eventually(lambda: self._settings_at(node, version, names, keys, synonyms), within=WITHIN_S)
        for name, one in self.there.items():
            partition = self.rng.randrange(one.partitions)
            self.wire.list_offsets(name, partition).must_name(offset=one.ends[partition])

    @breaks("adm-001", "adm-006", "adm-007")
    def _partitions_at(self, node):
        names = [*self.there, *self.gone]
        answer = self.wire.metadata(*names, to=node)
        found = {row.name: (row.error_code, str(row.topic_id), len(row.partitions)) for row in answer.struct.topics}
        wanted = {name: (0, str(one.id), one.partitions) for name, one in self.there.items()}
        wanted |= {name: (NO_TOPIC, str(ZERO_UUID), 0) for name in self.gone}
        wrong = {name: found.get(name) for name in [*wanted, *found] if found.get(name) != wanted.get(name)}
        right = {name: wanted.get(name) for name in wrong}
        what = f"error code, id and number of partitions are {wrong}; they must be {right}"
        answer.must(not wrong, what, "topics")
        for row in answer.struct.topics:
            placed = self.there[row.name].placed if row.name in self.there else {}
            nodes = {part.partition_index: list(part.replica_nodes) for part in row.partitions}
            there = {index: nodes.get(index) for index in placed}
            answer.must(there == placed, f"{row.name} is on {there}; it was put on {placed}", "topics")
            each = {len(ids) for ids in nodes.values()}
            answer.must(len(each) <= 1, f"{row.name} has {sorted(each)} replicas", "topics")

    @breaks("adm-008")
    def _settings_at(self, node, version, names, keys, synonyms):
        rows = [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": keys[name]} for name in names]
        asked = request("DescribeConfigs", resources=rows, include_synonyms=synonyms)
        answer = self.wire.ask(asked, version=version, to=node)
        results = {row.resource_name: row for row in answer.struct.results}
        codes = {name: row.error_code for name, row in results.items()}
        wanted = {name: 0 if name in self.there else NO_TOPIC for name in names}
        answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "results")
        for name in self.there:
            self._settings_of(answer, results[name], keys[name], version, synonyms)

    def _settings_of(self, answer, result, keys, version, synonyms):
        own = self.there[result.resource_name].settings
        rows = {row.name: row for row in result.configs if row.name in rows_of.VALUES}
        asked = set(rows_of.VALUES if keys is None else keys) & set(rows_of.VALUES)
        answer.must(set(rows) == asked, f"{sorted(rows)} are described; asked were {sorted(asked)}", "results")
        for name, row in rows.items():
            found = (row.value if name in own else None, row.config_source == DYNAMIC_TOPIC, row.read_only)
            wanted = (own.get(name), name in own, False)
            with breaks("adm-008", "adm-009"):
                what = f"{name} has value, own, read-only {found}; they must be {wanted}"
                answer.must(found == wanted, what, "results")
            answer.must(not row.is_sensitive, f"{name} is reported as sensitive", "results")
            if version >= 3:
                answer.must(row.config_type == TYPES[name], f"{name} is reported with the type {row.config_type}")
            first = [(each.value, each.source) for each in row.synonyms[:1]]
            right = [(row.value, row.config_source)] if synonyms else []
            answer.must(first in (right, []), f"the first synonym of {name} is {first}; it is {right}", "results")
