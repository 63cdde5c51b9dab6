"""Nodes that were paused for long: what they return when they go on, although the single changes are no longer kept."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

OFTEN_SNAPSHOT = {"metadata.log.max.record.bytes.between.snapshots": "2000", "metadata.max.retention.bytes": "1"}
"""Each 2000 bytes of what the cluster decided are summed up, and what is older than the last sum is to go."""
AWAY_S, WITHIN_S = 75, 60
"""Apache Kafka looks once a minute for what may go of its metadata log."""
ALL, ONE, OTHER, OF_BROKERS = "", "retention.ms", "max.message.bytes", "max.connections"
UNKNOWN = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.INVALID_TOPIC_EXCEPTION)
OF_TOPIC, OF_ALL = 1, 3
"""Where a setting comes from: of the topic itself, of all brokers."""
ALONE = {"min.insync.replicas": "1"}


@case(
    "admin/told-after-a-long-absence",
    guarantees=["adm-001", "adm-006", "adm-007", "adm-010", "adm-016"],
    level="must",
    needs=[
        *("three-nodes", "chosen-settings", "started", "settings", "topic-settings", "partitions"),
        *("kill", "pause", "terminate", "restart"),
    ],
    apis={"CreateTopics": 5, "CreatePartitions": 0, "DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    detects=["K29"],
)
def who_was_away_returns_what_the_others_return(wire, nodes, rng):
    """A node that was paused for so long that the cluster no longer keeps each single change MUST return what the
    others return once it goes on: no topic that was deleted, each that was created with its id and its partitions, and
    the settings of topics and brokers and the quotas that are in force, and no others; also after a restart then.

    One drawn node is paused for 75 s, in which metadata changes all the time: it has the state from before, and
    receives the present one as a snapshot.
    """
    nodes.start_with(OFTEN_SNAPSHOT)
    away = rng.choice(wire.nodes)
    cluster = DescribedCluster(wire, rng, away)
    cluster.begin()
    cluster.must_be_returned_by_all()
    nodes.pause(away)
    cluster.change()
    cluster.decide_much()
    nodes.resume(away)
    cluster.must_be_returned_by_all()
    rng.choice((nodes.crash, nodes.stop_and_start))(away)
    cluster.must_be_returned_by_all()
    cluster.must_be_of_use()


class DescribedCluster:
    """What must be described: the partitions of topics, the settings that differ from the default, the quotas."""

    def __init__(self, wire, rng, away):
        self.wire, self.rng, self.away = wire, rng, away
        self.alive = [node for node in wire.nodes if node != away]
        self.partitions, self.settings, self.gone, self.ids = {}, {}, [], {}
        self.of_brokers, self.quotas = {}, {}
        self.with_quotas = bool(wire.versions("AlterClientQuotas"))

    def begin(self):
        for what in ("goes", "goes-too", "again", "grows", "kept"):
            self._make(self.wire.name(what), 2, {ONE: "7200000"})
        self.goes, self.goes_too, self.again, self.grows, self.kept = self.partitions
        self._set(BROKER, ALL, self.of_brokers, OF_BROKERS, "900000")
        self.one, self.other = self.wire.name("one"), self.wire.name("other")
        for client in (self.one, self.other):
            self._set_quota(client, 1024.0)

    def change(self):
        """Something of each kind goes, becomes another and is new."""
        self.wire.until(self._is_left_out, within=WITHIN_S, what=f"node {self.away} is among the brokers no more")
        for topic in (self.goes, self.goes_too, self.again):
            self.wire.delete_topic(topic, to=self.rng.choice(self.alive)).must_succeed()
            del self.partitions[topic], self.settings[topic]
        self.gone = [self.goes, self.goes_too]
        self._make(self.again, 1, {OTHER: "50000"})
        self._make(self.wire.name("new"), 3, {ONE: "3600000"})
        row = {"name": self.grows, "count": 5, "assignments": None}
        asked = request("CreatePartitions", topics=[row], timeout_ms=20_000, validate_only=False)
        self.wire.ask(asked, to=self.rng.choice(self.alive)).must_succeed()
        self.partitions[self.grows] = 5
        self._set(TOPIC, self.grows, self.settings[self.grows], ONE, None)
        self._set(TOPIC, self.grows, self.settings[self.grows], OTHER, "60000")
        self._set(BROKER, ALL, self.of_brokers, OF_BROKERS, None)
        self._set_quota(self.one, None)
        self._set_quota(self.other, 2048.0)
        self._set_quota(self.wire.name("third"), 4096.0)

    def decide_much(self):
        """One setting after another, until the time is over."""
        began, turn = self.wire.now_ms(), 0
        while self.wire.now_ms() < began + 1_000 * AWAY_S:
            turn += 1
            self._set(TOPIC, self.kept, self.settings[self.kept], OTHER, str(100_000 + turn))
            self.wire.rest(0.4)

    def _is_left_out(self):
        views = [self.wire.metadata(to=node).struct.brokers for node in self.alive]
        return all(self.away not in [row.node_id for row in rows] for rows in views)

    def _make(self, topic, partitions, configs):
        to, settings = self.rng.choice(self.alive), {**configs, **ALONE}
        self.wire.create_topic(topic, partitions=partitions, configs=settings, to=to).must_succeed()
        self.partitions[topic] = partitions
        self.settings[topic] = settings

    def _set(self, kind, name, known, key, value):
        row = {"name": key, "config_operation": DELETE if value is None else SET, "value": value}
        resource = {"resource_type": kind, "resource_name": name, "configs": [row]}
        asked = request("IncrementalAlterConfigs", validate_only=False, resources=[resource])
        self.wire.ask(asked, to=self.rng.choice(self.alive)).must_succeed()
        known.pop(key, None)
        if value is not None:
            known[key] = value

    def _set_quota(self, client, value):
        if not self.with_quotas:
            return
        ops = [{"key": "producer_byte_rate", "value": value or 0.0, "remove": value is None}]
        entry = {"entity": [{"entity_type": "client-id", "entity_name": client}], "ops": ops}
        self.wire.ask(request("AlterClientQuotas", entries=[entry]), to=self.rng.choice(self.alive)).must_succeed()
        self.quotas[client] = {} if value is None else {"producer_byte_rate": value}

    # what must be returned

    def must_be_returned_by_all(self):
        for node in [*self.alive, self.away]:
            for what in (self._topics, self._settings, self._quotas):
                self.wire.eventually(lambda node=node, what=what: what(node), within=WITHIN_S)

    def _topics(self, node):
        answer = self.wire.metadata(all_topics=True, to=node).must_succeed()
        found = {row.name: (len(row.partitions), row.topic_id) for row in answer.struct.topics}
        counts = {topic: found[topic][0] for topic in [*self.partitions, *self.gone] if topic in found}
        answer.must(
            counts == self.partitions,
            f"node {node} returns {counts} partitions; there are {self.partitions}",
            "topics",
        )
        ids = {topic: found[topic][1] for topic in self.partitions}
        self.ids = ids if node == self.alive[0] else self.ids
        answer.must(ids == self.ids, f"node {node} returns other ids than node {self.alive[0]}", "topics")
        for topic in self.gone:
            one = self.wire.metadata(topic, to=node)
            one.must_be_refused(errors.UNKNOWN_TOPIC_OR_PARTITION)

    def _settings(self, node):
        """What differs from the defaults, by topic and of all brokers."""
        names = [*self.partitions, *self.gone]
        rows = [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": None} for name in names]
        answer = self.wire.ask(request("DescribeConfigs", resources=rows), to=node)
        answer.examined = True
        results = {row.resource_name: row for row in answer.struct.results}
        for topic, settings in self.settings.items():
            found = _changed(results[topic], [*settings, ONE, OTHER])
            answer.must(found == settings, f"node {node} returns {found} of {topic}; it has {settings}", "results")
        for topic in self.gone:
            code = results[topic].error_code
            answer.must(code in UNKNOWN, f"node {node} answers {code} for {topic}, which is gone", "results")
        own = self.wire.describe_configs(BROKER, str(node), [OF_BROKERS]).must_succeed()
        sources = [row.config_source for row in own.struct.results[0].configs]
        right = (OF_ALL in sources) == bool(self.of_brokers)
        own.must(right, f"node {node} returns {OF_BROKERS} of source {sources}; set are {self.of_brokers}", "results")

    def _quotas(self, node):
        for client, wanted in self.quotas.items():
            row = {"entity_type": "client-id", "match_type": 0, "match": client}
            answer = self.wire.ask(
                request("DescribeClientQuotas", components=[row], strict=True), to=node
            ).must_succeed()
            found = {each.key: each.value for one in answer.struct.entries or [] for each in one.values}
            answer.must(found == wanted, f"node {node} returns {found} of {client}; it was given {wanted}", "entries")

    def must_be_of_use(self):
        """Each partition takes a record and gives it back; sent again it is known by its sequence."""
        producer = self.wire.producer()
        for topic, count in self.partitions.items():
            self.wire.await_topic(topic)
            for index in range(count):
                self.wire.produce(topic, producer.batch("x", sequence=0), index).must_be_at(0)
                self.wire.read_all(topic, index).must_hold("x")


def _changed(row, keys):
    return {each.name: each.value for each in row.configs if each.config_source == OF_TOPIC and each.name in keys}
