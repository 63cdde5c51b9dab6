"""A node that starts while it reaches no other node: what it answers before it knows the cluster's metadata."""

from brokertrial.faults.node_launch import StartsWithoutWaiting
from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import FIRST
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.failures import NoResponse
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.nodes import DONE
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
LOOKS, BETWEEN_S, LOOK_S = 30, 0.5, 1.0
"""Longer than a process needs until it waits for the controllers."""
LATEST = -1
NO_SUCH = (errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID)


@case(
    "partition/starts-with-what-there-is",
    guarantees=["adm-001"],
    needs=[*NEEDS, "kill", "terminate", "restart"],
    features={"metadata.version": 1},
    apis={"CreateTopics": 5, "ListOffsets": 1},
    detects=["B108"],
)
def who_starts_knows_the_topics_or_is_silent(wire, nodes, rng):
    """A broker of a KRaft cluster that starts MUST NOT answer clients that a topic is unknown, or leave it out, before
    it has read the metadata: it serves when it has caught up with them (KIP-500, KIP-631). When it reaches the
    controllers it MUST come to serve the topic, with the records.

    It was stopped or killed, and is cut off from all others when it starts: what it is asked may have no answer. It is
    not the first node, which others ask for metadata.
    """
    first, *others = wire.nodes
    node, other = rng.sample(others, 2)
    topic = placed(wire, "t", [other, first, node], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("a")).must_be_at(0)
    looks = Looks(wire, node, topic)
    rng.choice((nodes.kill, nodes.terminate))(node)
    wire.refresh_metadata(topic)
    wire.produce(topic, batch("b"), acks=1, to=wire.leader(topic)).must_be_at(1)
    with apart(nodes, node):
        outcome = nodes.outcome_of("launch", node, _launch)
        if outcome.startswith(TypeError.__name__):
            wire.not_applicable(outcome, "missing-capability")
        wire.must(outcome == DONE, f"node {node} could not be started: {outcome}")
        for _ in range(LOOKS):
            looks.look()
            wire.rest(BETWEEN_S)
    wire.until(looks.look, within=WITHIN_S, what=f"node {node}, which reaches the others again, shows who leads")
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold("a", "b")


def _launch(control):
    if not isinstance(control, StartsWithoutWaiting):
        raise TypeError("it cannot be started without waiting until it serves")
    control.launch()


class Looks:
    """Asks a node that may not be there, on a new connection each time."""

    def __init__(self, wire, node, topic):
        self.wire, self.node, self.topic = wire, node, topic
        listed = {"name": topic, "partitions": [{"partition_index": 0, "timestamp": LATEST}]}
        self.questions = {
            "by its name": request("Metadata", topics=[{"name": topic}], allow_auto_topic_creation=False),
            "among all": request("Metadata", topics=None, allow_auto_topic_creation=False),
            "for its end": request("ListOffsets", replica_id=-1, topics=[listed]),
        }
        self.line = wire.connect("look", node)  # Metadata of the others will not say where it listens

    def look(self):
        """Whether the node shows a leader to whom asks for the topic by its name."""
        shown = False
        for how, asked in self.questions.items():
            answer = self._answer(asked)
            if answer is None:
                return False
            shown = self._must_be_known(answer, how) or shown
        return shown

    def _answer(self, asked):
        """None where there is none in time, or no connection."""
        api = asked._api
        version = self.wire.versions(api)[-1]
        try:
            answer = Response(self.line.send(fitted(asked, version), version, correlation_id=FIRST))
            frame = answer.asked.answer_frame = self.line.receive_bytes(LOOK_S, api)
        except NoResponse:
            return None
        finally:
            self.line.close()
        answer.asked.answer = self.wire.decoded(api, version, frame, correlation_id=FIRST)
        answer.examined = True
        return answer

    def _must_be_known(self, answer, how):
        rows = [row for row in answer.struct.topics if row.name == self.topic]
        answer.must(rows, f"node {self.node}, which starts, is asked {how} and does not name the topic")
        parts = rows[0].partitions
        codes = [getattr(rows[0], "error_code", errors.NONE), *(part.error_code for part in parts)]
        answer.must(
            not any(code in NO_SUCH for code in codes),
            f"node {self.node}, which starts, is asked {how} and answers {codes}, as if there were no such topic",
            "topics",
        )
        return any(getattr(part, "leader_id", -1) >= 0 for part in parts)
