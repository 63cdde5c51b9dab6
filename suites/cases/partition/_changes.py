"""What administrators change while a node is cut off, and how each node shows it."""

from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.failures import NoResponse
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, request

SETTINGS = {"max.message.bytes": "70000", "retention.ms": "86400001"}
"""Both are changed by one request."""
WITHIN_S, TAKES_S = 20, 20
ABSENT = None


class TopicChange:
    """One request: of which topic, what the topic is before and after it, and whether it was acknowledged."""

    def __init__(self, topic, request_, before, after):
        self.topic, self.request, self.before, self.after = topic, request_, before, after
        self.acknowledged = False

    @property
    def known(self):
        return "acknowledged" if self.acknowledged else "not acknowledged"

    @property
    def allowed(self):
        """What nodes may show, all of them the same: (partitions, settings)."""
        return (self.after,) if self.acknowledged else (self.before, self.after)


class TopicChanges:
    """One of each kind, of topics that are there on all nodes before anything is cut off, led by one of them."""

    def __init__(self, wire, leader):
        self.wire = wire
        self.replicas = [leader, *(node for node in wire.nodes if node != leader)]
        grown, set_, gone = (self._placed(name) for name in ("grown", "set", "gone"))
        made = wire.name("made")
        wire.will_make(wire.made_topics, made)
        plain = self._shown(leader, grown)
        self.all = [
            TopicChange(made, self._creation(made), ABSENT, (2, SETTINGS)),
            TopicChange(grown, self._growth(grown), plain, (3, plain[1])),
            TopicChange(set_, self._setting(set_), plain, (1, SETTINGS)),
            TopicChange(gone, self._deletion(gone), plain, ABSENT),
        ]
        wire.eventually(self._must_be_as_before, within=WITHIN_S)

    def ask(self, of):
        """Each of a node, and what it is answered: nothing, or an error, is no acknowledgement."""
        for change, node in zip(self.all, of, strict=True):
            try:
                answer = self.wire.ask(change.request, to=node, may_take_s=TAKES_S)
                change.acknowledged = not answer.error
            except NoResponse:
                self.wire.drop_lines(node)  # the answer may still come, and is not that to another request

    def acknowledged_by(self, requests):
        """What is known by now of requests for them, one for each."""
        for change, request_ in zip(self.all, requests, strict=True):
            change.acknowledged = request_.acknowledged

    def must_be_so(self, nodes):
        """These nodes show each topic alike: changed, or, where that was not acknowledged, as it was."""
        for change in self.all:
            shown = {node: self._shown(node, change.topic) for node in nodes}
            seen = ", ".join(f"node {node}: {words(one)}" for node, one in shown.items())
            said = f"{change.request._api} of {change.topic} was {change.known}; {seen}"
            first = next(iter(shown.values()))
            self.wire.must(all(one == first for one in shown.values()), f"{said}. It must be the same on all")
            right = " or ".join(map(words, change.allowed))
            self.wire.must(first in change.allowed, f"{said}. It must be: {right}")

    def there(self):
        """The topics that are left."""
        return [change.topic for change in self.all if self._shown(self.replicas[0], change.topic) is not ABSENT]

    def _must_be_as_before(self):
        for change in self.all:
            for node in self.wire.nodes:
                shown = self._shown(node, change.topic)
                right = words(change.before)
                self.wire.must(shown == change.before, f"node {node} shows {words(shown)}; it must be: {right}")

    def _placed(self, name):
        topic = self.wire.name(name)
        self.wire.create_topic(topic, partitions=-1, assignments={0: self.replicas}).must_succeed()
        self.wire.await_topic(topic)
        return topic

    def _shown(self, node, topic):
        """How many partitions a topic has there, and the settings; ABSENT where the node does not know it."""
        answer = self.wire.metadata(topic, to=node)
        row = answer.struct.topics[0]
        if row.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION:
            return ABSENT
        answer.must(not row.error_code, f"{topic} is answered with {row.error_code}")
        asked = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": list(SETTINGS)}
        described = self.wire.ask(request("DescribeConfigs", resources=[asked]), to=node)
        found = described.struct.results[0]
        described.must(not found.error_code, f"the settings of {topic} are answered with {found.error_code}")
        return len(row.partitions), {each.name: each.value for each in found.configs}

    # requests

    def _creation(self, topic):
        placed = {0: self.replicas, 1: self.replicas[1:] + self.replicas[:1]}
        row = self.wire.topic_row(topic, partitions=-1, configs=SETTINGS, assignments=placed)
        return request("CreateTopics", topics=[row], timeout_ms=TAKES_S * 1000)

    def _growth(self, topic):
        rows = [{"name": topic, "count": 3, "assignments": None}]
        return request("CreatePartitions", topics=rows, timeout_ms=TAKES_S * 1000)

    def _setting(self, topic):
        rows = [{"name": name, "config_operation": SET, "value": value} for name, value in SETTINGS.items()]
        resources = [{"resource_type": TOPIC, "resource_name": topic, "configs": rows}]
        return request("IncrementalAlterConfigs", resources=resources)

    def _deletion(self, topic):
        rows = [{"name": topic, "topic_id": ZERO_UUID}]
        return request("DeleteTopics", topics=rows, topic_names=[topic], timeout_ms=TAKES_S * 1000)


def words(shown):
    """What a node shows of a topic, for a person."""
    if shown is ABSENT:
        return "no topic"
    return ", ".join([f"partitions: {shown[0]}", *(f"{name}={value}" for name, value in shown[1].items())])
