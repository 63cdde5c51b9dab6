"""What drawn nodes are asked about topics, settings and the cluster, and what each must answer once all have agreed."""

from functools import partial
from uuid import UUID

from brokertrial.suites.cases.admin._changed_at_nodes import (
    BROKER_VALUES,
    OF_BROKERS,
    POLICY,
    WITHIN_S,
    ClusterOfChanges,
)
from brokertrial.suites.cases.admin._seen_at_nodes import (
    KEYS,
    NO_NODE,
    OF_ALL,
    OF_BROKER,
    OF_TOPIC,
    brokers_settings_shown,
    settings_shown,
    topics_shown,
)
from brokertrial.suites.probe.admin import BROKER, TOPIC
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

BY_ID, FENCED_SINCE, MANY = 12, 2, 2000
LIMIT, STAMPS, LARGE = "max.message.bytes", "message.timestamp.type", "x" * 4000
TOPICS, EPOCHS = ("adm-001", "adm-006", "adm-007"), ("repl-007",)
"""What is broken where topics are not shown as they are, and where leaders or epochs are not."""
OF_THE_CLUSTER = [*sorted(BROKER_VALUES), POLICY]


class AskedCluster(ClusterOfChanges):
    """A cluster whose nodes are asked about it."""

    def __init__(self, wire, rng):
        self.cut: int | None = None
        self.leaders: dict[tuple[object, ...], int] = {}
        """(topic id, partition, epoch) -> who leads then."""
        self.epochs: dict[tuple[object, ...], int] = {}
        """(node, topic id, partition) -> the newest epoch that it has shown."""
        super().__init__(wire, rng)
        self.sender = wire.producer()
        self.number = 0
        self.cluster_id = wire.describe_cluster(to=self.everyone[0]).must_succeed().struct.cluster_id

    def begins_anew(self, node):
        """It knows what was acknowledged by now, and may have lost nothing else."""
        self.history.begins_anew(node)
        self.epochs = {key: epoch for key, epoch in self.epochs.items() if key[0] != node}

    # looks: what is shown was so at some time

    def look(self, node=None):
        """A drawn question of a drawn node, which may be one that is cut off."""
        nodes = [*self.alive, *([] if self.cut is None else [self.cut])]
        node = self.rng.choice(nodes) if node is None else node
        for ask in self.rng.sample([self._by_name, self._by_id, self._all, self._in_pages, self._settings], 2):
            answer, facts = ask(node)
            self.history.seen(answer, node, facts)
        self.history.must_not_have_gone_back()

    def look_at_all(self, node):
        """All there is, at once: of a node that begins anew."""
        for ask in (self._all, self._settings):
            answer, facts = ask(node)
            self.history.seen(answer, node, facts)
        self.history.must_not_have_gone_back()

    def _names(self):
        return [*self.there, *self.gone]

    def _some(self):
        return self.rng.sample(self._names(), self.rng.randint(1, len(self._names())))

    def _by_name(self, node):
        names = self._some()
        version = self.rng.choice([one for one in self.wire.versions("Metadata") if one >= 5])
        answer = self.wire.metadata(*names, to=node, version=version)
        return self._metadata(answer, node, names)

    def _all(self, node):
        return self._metadata(self.wire.metadata(all_topics=True, to=node), node, self._names())

    def _by_id(self, node, every=False):
        ids = {each.state.id: each.name for each in self.there.values()}
        ids |= {one: name for name, former in self.gone.items() for one in former}
        if BY_ID not in self.wire.versions("Metadata"):
            return self._all(node)
        some = self.rng.sample(sorted(ids), len(ids) if every else self.rng.randint(1, len(ids)))
        rows = [{"topic_id": UUID(one), "name": None} for one in some]
        answer = self.wire.ask(request("Metadata", topics=rows, allow_auto_topic_creation=False), to=node)
        return self._metadata(answer, node, [], {one: ids[one] for one in some})

    def _metadata(self, answer, node, names, ids=None):
        self._leaders_of(answer, node)
        return answer, topics_shown(answer, names, ids)

    def _in_pages(self, node):
        if not self.wire.versions("DescribeTopicPartitions"):
            return self._by_name(node)
        names = self._some()
        rows = [{"name": name} for name in names]
        asked = request("DescribeTopicPartitions", topics=rows, response_partition_limit=MANY, cursor=None)
        answer = self.wire.ask(asked, to=node)
        self._leaders_of(answer, node)
        return answer, topics_shown(answer, names)

    def _settings(self, node):
        names = self._some()
        keys = {name: self.rng.choice((None, self.rng.sample(KEYS, 3))) for name in names}
        answer = self._described(node, keys)
        return answer, [settings_shown(row, keys[row.resource_name]) for row in answer.struct.results]

    def _described(self, node, keys):
        rows = [
            {"resource_type": TOPIC, "resource_name": name, "configuration_keys": some} for name, some in keys.items()
        ]
        return self.wire.ask(request("DescribeConfigs", resources=rows), to=node)

    def _leaders_of(self, answer, node):
        """An epoch has one leader, and no node goes back to an older one."""
        if answer.asked.request._api == "Metadata" and answer.version < BY_ID:
            return
        for row in answer.struct.topics:
            if row.error_code or row.name not in self.there:
                continue
            for part in row.partitions:
                of = (str(row.topic_id), part.partition_index)
                where = f"node {node} shows {row.name}-{part.partition_index} led by {part.leader_id}"
                newest = self.epochs.setdefault((node, *of), part.leader_epoch)
                if part.leader_epoch < newest:
                    said = f"{where} in epoch {part.leader_epoch}, and had shown {newest}"
                    self.history.back.append((answer, said, EPOCHS))
                self.epochs[node, *of] = max(newest, part.leader_epoch)
                if part.leader_id == NO_NODE:
                    continue
                first = self.leaders.setdefault((*of, part.leader_epoch), part.leader_id)
                if first != part.leader_id:
                    said = f"{where} in epoch {part.leader_epoch}, which is that of {first}"
                    self.history.back.append((answer, said, EPOCHS))

    # what all must agree on

    def must_be_known_to_all(self):
        """Every node that is reached shows what is so, in every way, and the same leaders."""
        for node in self.alive:
            for what in (self._topics_are_so, self._settings_are_so, self._brokers_are_so, self._cluster_is_so):
                self.wire.eventually(same_draws(self.rng, what, node), within=WITHIN_S)
                self.history.must_not_have_gone_back()
        self.wire.eventually(same_draws(self.rng, self._must_agree), within=WITHIN_S)
        self.history.must_not_have_gone_back()

    def _topics_are_so(self, node):
        names = self._names()
        by_id = partial(self._by_id, every=True)
        for ask, broken in ((self._all, TOPICS), (by_id, ("prot-018",)), (self._in_pages, TOPICS)):
            answer, facts = ask(node)
            with breaks(*broken):
                self.history.must_be_now(answer, node, facts)
            for row in answer.struct.topics:
                if row.name in self.there and row.name in names:
                    self._must_be_led(answer, node, row)

    @breaks("kraft-005")
    def _must_be_led(self, answer, node, row):
        """Apache Kafka describes a partition that has no leader without an error."""
        api = answer.asked.request._api
        for part in row.partitions:
            replicas = part.replica_nodes
            living = sorted(set(replicas) & set(self.alive))
            where = f"node {node} shows {row.name}-{part.partition_index} on {replicas}"
            answer.must(
                sorted(part.offline_replicas) == sorted(set(replicas) - set(living)),
                f"{where}, offline on {part.offline_replicas}; {self.alive} are alive",
            )
            if living:
                answer.must(sorted(part.isr_nodes) == living, f"{where}, in sync on {part.isr_nodes}, not on {living}")
            right = part.leader_id in living if living else part.leader_id == NO_NODE
            answer.must(right, f"{where}, led by {part.leader_id}; {living} are alive and in sync")
            code = errors.NONE if living else errors.LEADER_NOT_AVAILABLE
            fits = part.error_code == code or (part.error_code == errors.NONE and api == "DescribeTopicPartitions")
            answer.must(fits, f"{where} with the error {part.error_code}; it must be {code}")

    @breaks("repl-007")
    def _must_agree(self):
        shown = {}
        for node in self.alive:
            answer, _ = self._all(node)
            shown[node] = {
                (row.name, part.partition_index): (part.leader_id, part.leader_epoch)
                for row in answer.struct.topics
                if row.name in self.there
                for part in row.partitions
            }
        first, rows = next(iter(shown.items()))
        for node, others in shown.items():
            for key in rows:
                said = f"of {key} node {first} shows leader and epoch {rows[key]}, node {node} {others.get(key)}"
                self.wire.must(others.get(key) == rows[key], said)

    @breaks("adm-008", "adm-009")
    def _settings_are_so(self, node):
        """The topics' own ones, and those that they have from the brokers."""
        answer = self._described(node, dict.fromkeys(self._names()))
        facts = [settings_shown(row, None) for row in answer.struct.results]
        self.history.must_be_now(answer, node, facts)
        for row in answer.struct.results:
            if row.resource_name not in self.there:
                continue
            own = self.there[row.resource_name].settings
            for each in row.configs:
                if each.name not in OF_BROKERS:
                    continue
                value, source = self._in_force(own, each.name, node)
                right = source is None or (each.value, each.config_source) == (value, source)
                own_source = each.config_source in (OF_TOPIC, OF_BROKER, OF_ALL)
                said = f"node {node} shows {each.name} of {row.resource_name} as {each.value} of source"
                with breaks("adm-008", "adm-010"):
                    right = right and (source is not None or not own_source)
                    answer.must(right, f"{said} {each.config_source}; it must be {value} of {source}")

    def _in_force(self, own, key, node):
        """The value of a topic's setting at a node, and where it comes from; None where nothing was set."""
        of_brokers = OF_BROKERS[key]
        for settings, name, source in (
            (own, key, OF_TOPIC),
            (self.brokers[str(node)], of_brokers, OF_BROKER),
            (self.brokers[""], of_brokers, OF_ALL),
        ):
            if name in settings:
                return settings[name], source
        return None, None

    @breaks("adm-008", "adm-009")
    def _brokers_are_so(self, node):
        rows = [
            {"resource_type": BROKER, "resource_name": name, "configuration_keys": OF_THE_CLUSTER}
            for name in ("", str(node))
        ]
        answer = self.wire.ask(request("DescribeConfigs", resources=rows), to=node).must_succeed()
        for row in answer.struct.results:
            self.history.must_be_now(answer, node, brokers_settings_shown(row, OF_THE_CLUSTER))

    @breaks("adm-012")
    def _cluster_is_so(self, node):
        """Metadata and DescribeCluster: who is there; with the fenced ones, who is not."""
        named = self.wire.metadata(to=node).must_succeed()
        found = sorted(row.node_id for row in named.struct.brokers)
        with breaks("kraft-005"):
            named.must(found == self.alive, f"node {node} shows the brokers {found}; {self.alive} are alive")
        answer = self.wire.describe_cluster(to=node).must_succeed()
        listed = sorted(row.broker_id for row in answer.struct.brokers)
        answer.must(listed == found, f"node {node} describes the brokers {listed}; its Metadata shows {found}")
        for each in (named, answer):
            controller = each.struct.controller_id
            with breaks("prot-015"):
                each.must_have("cluster_id", self.cluster_id)
                each.must(controller in found, f"node {node} names {controller} as controller")
        if FENCED_SINCE in self.wire.versions("DescribeCluster"):
            every = self.wire.ask(request("DescribeCluster", include_fenced_brokers=True), to=node).must_succeed()
            fenced = {row.broker_id: row.is_fenced for row in every.struct.brokers}
            wanted = {one: one not in self.alive for one in self.everyone}
            every.must(fenced == wanted, f"node {node} describes as fenced {fenced}; it must be {wanted}")

    # what is in force

    @breaks("adm-001")
    def write(self):
        """A record to each partition that is led: it goes where the log of this very topic ends. A large one to one of
        each topic is taken where the limit in force at its leader allows it, and has the time that is in force."""
        for name, one in self.there.items():
            self.wire.refresh_metadata(name)
            for index, ids in enumerate(one.state.placed):
                if set(ids) & set(self.alive):
                    self._send(one, index, "").must_succeed()
            self._must_be_in_force(one, self.rng.choice(sorted(one.values)))

    @breaks("adm-006", "adm-007")
    def _send(self, one, index, padding):
        """What is not refused as too large lies where the log ended."""
        self.number += 1
        value, end = f"{self.number}{padding}", len(one.values[index])
        made = self.sender.batch(value, sequence=end, key=f"{self.number}".encode())
        answer = self.wire.produce(one.name, made, index)
        if answer.error != errors.MESSAGE_TOO_LARGE:
            answer.must_be_at(end)
            one.values[index].append(value)
        return answer

    @breaks("adm-010")
    def _must_be_in_force(self, one, index):
        if not set(one.state.placed[index]) & set(self.alive):
            return
        leader = self.wire.leader(one.name, index)
        limit, _ = self._in_force(one.settings, LIMIT, leader)
        stamps, _ = self._in_force(one.settings, STAMPS, leader)
        limited = limit is not None and int(limit) < len(LARGE)
        self.wire.until(
            lambda: self._is_in_force(one, index, limited, stamps),
            within=WITHIN_S,
            what=f"{LIMIT} {limit or 'of the start'} and {STAMPS} {stamps or 'of the start'} are in force for "
            f"{one.name}-{index} at node {leader}, which leads",
        )

    def _is_in_force(self, one, index, limited, stamps):
        answer = self._send(one, index, LARGE)
        if limited or answer.error:
            return limited and answer.error
        return stamps is None or (answer.log_append_time >= 0) == (stamps == "LogAppendTime")

    @breaks("adm-006", "adm-007")
    def must_hold_everything(self):
        """In each partition is what was written to it in the life of this topic."""
        for name, one in self.there.items():
            self.wire.await_topic(name)
            for index, values in one.values.items():
                self.wire.read_all(name, index).must_hold(*values)
