"""Who may lead without having everything: what a topic says of it counts, then what the cluster says (KAFKA-12670)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.cases.replication.unclean_when_asked import ALLOWED, INTERVAL
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import BROKER, DELETE, SET, TOPIC

ALL, KEPT, REST_S = "", "forbidden", 3
"""So much longer than a controller rests between two looks for partitions that may have a leader."""


@case(
    "replication/topics-decide-over-unclean-elections",
    guarantees=["repl-005", "repl-006", "adm-010"],
    since="4.0 (KAFKA-12670)",
    needs=[
        "chosen-settings",
        "settings",
        "started",
        "three-nodes",
        "leaders",
        "topic-settings",
        "kill",
        "terminate",
        "restart",
    ],
    apis={"CreateTopics": 5, "IncrementalAlterConfigs": 0},
    detects=["B84"],
)
def the_topics_own_setting_comes_first(wire, nodes, rng):
    """While no in-sync replica of a partition is alive, a live one MUST become its leader some time after it is allowed
    to, and MUST NOT before: by unclean.leader.election.enable of the topic where it has one of its own, whatever the
    default of all brokers says, and by that default where it has none, or has it no more. A partition that waits MUST
    have all that was acknowledged when the other node is back.

    Five topics, led by a node that acknowledges alone and dies; the default is false first, then true.
    """
    nodes.start_with({INTERVAL: "1000"})
    one, other, third = rng.sample(wire.nodes, 3)
    says = {"allowed": "true", KEPT: "false", "forgotten": "false", "changed": "false"}
    own = {"plain": {}, **{what: {ALLOWED: value} for what, value in says.items()}}
    try:
        wire.change_configs(BROKER, ALL, [(ALLOWED, SET, "false")], to=third).must_succeed()
        topics = {
            what: placed(wire, what, [one, other], **{"min.insync.replicas": "1"}, **own[what])
            for what in rng.sample(sorted(own), len(own))
        }
        waits = UncleanTopics(wire, topics, one, other)
        waits.written_before()
        nodes.kill(other)
        waits.written_alone()
        nodes.kill(one)
        nodes.start(other)
        wire.until(lambda: waits.serves(), within=WITHIN_S, what=f"node {other} is among the brokers again")

        waits.is_elected("allowed")
        waits.none_leads("the topic does not allow it, or it has no setting of its own and the default is false")
        wire.change_configs(BROKER, ALL, [(ALLOWED, SET, "true")], to=third).must_succeed()
        waits.is_elected("plain")
        waits.none_leads("the topic forbids it, whatever the default is")
        wire.change_configs(TOPIC, topics["forgotten"], [(ALLOWED, DELETE, None)], to=third).must_succeed()
        waits.is_elected("forgotten")
        wire.change_configs(BROKER, ALL, [(ALLOWED, DELETE, None)], to=third).must_succeed()
        wire.change_configs(TOPIC, topics["changed"], [(ALLOWED, SET, "true")], to=third).must_succeed()
        waits.is_elected("changed")
        waits.none_leads("the topic forbids it")
        nodes.start(one)
        waits.have_what_they_must()
    finally:
        wire.change_configs(BROKER, ALL, [(ALLOWED, DELETE, None)], to=third)


class UncleanTopics:
    """The topics by what becomes of them, and what each holds; `one` has it all, `other` what both had."""

    def __init__(self, wire, topics, one, other):
        self.wire, self.topics, self.one, self.other = wire, topics, one, other
        self.waiting = dict(topics)

    def written_before(self):
        for topic in self.topics.values():
            all_in_sync(self.wire, topic)
            self.wire.produce(topic, batch("both")).must_be_at(0)

    def written_alone(self):
        for what, topic in self.topics.items():
            self.wire.until(
                lambda topic=topic: partition(self.wire, topic).isr_nodes == [self.one],
                within=WITHIN_S,
                what=f"node {self.one} alone is in sync",
            )
            self.wire.produce(topic, batch("alone"), acks=-1 if what == KEPT else 1).must_be_at(1)

    def serves(self):
        answer = self.wire.metadata(to=self.other)
        return self.other in [row.node_id for row in answer.struct.brokers]

    def is_elected(self, what):
        """The node that lacks something comes to lead this one."""
        topic = self.waiting.pop(what)
        self.wire.until(
            lambda: self._leader(topic) == self.other,
            within=WITHIN_S,
            what=f"node {self.other} leads the {what} topic {topic}",
        )

    def none_leads(self, why):
        """Those that are left wait, also when the controller has looked again."""
        self.wire.rest(REST_S)
        for what, topic in self.waiting.items():
            leader = self._leader(topic)
            self.wire.must(
                leader == NO_NODE, f"node {leader} leads the {what} topic {topic}, and lacks a record: {why}"
            )

    def _leader(self, topic):
        return self.wire.metadata(topic, to=self.other).struct.topics[0].partitions[0].leader_id

    def have_what_they_must(self):
        for topic in self.topics.values():
            self.wire.await_topic(topic)
            all_in_sync(self.wire, topic)
            self.wire.read_all(topic).must_hold("both", *(["alone"] if topic in self.waiting.values() else []))
