"""Nodes that die while topics are made on them: they come back, and no topic is half there."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ROUNDS, TOPICS, PARTITIONS = 2, 3, 24
WITHIN_S = 60
LATEST_S = 0.6  # by then all is made


@case(
    "admin/killed-while-topics-are-made",
    guarantees=["adm-017", "adm-001"],
    level="must",
    needs=["partitions", "topic-settings", "kill", "restart"],
    apis={"CreateTopics": 2},
    detects=["K22"],
)
def a_node_that_dies_while_topics_are_made_comes_back(wire, nodes, rng):
    """A node that is killed while topics are made MUST start again, with what there was before; and each of these
    topics MUST be unknown at every node, or be whole: its partitions have leaders, and take and give back a record.

    Two rounds with three topics of 24 partitions each, killed at a drawn moment.
    """
    before = wire.new_topic()
    wire.produce(before, "a").must_be_at(0)
    for turn in range(ROUNDS):
        names = [wire.name("topic") for _ in range(TOPICS)]
        node, line = rng.choice(wire.nodes), wire.connect(f"maker {turn}", wire.nodes[0])
        rows = [wire.topic_row(name, PARTITIONS) for name in names]
        wire.will_make(wire.made_topics, *names)
        asked = request("CreateTopics", topics=rows, timeout_ms=20_000, validate_only=False)
        line.send_bytes(wire.frame(asked, max(wire.versions("CreateTopics")), correlation_id=turn))
        wire.rest(rng.uniform(0, LATEST_S))
        nodes.kill(node)
        nodes.start(node)
        for name in names:
            with wire.part(f"round {turn + 1}"):
                wire.eventually(lambda name=name: _must_be_whole_or_unknown(wire, name), within=WITHIN_S)
        wire.await_topic(before)
        wire.read_all(before).must_hold("a")


def _must_be_whole_or_unknown(wire, name):
    found = set()
    for node in wire.nodes:
        answer = wire.metadata(name, to=node)
        row = answer.struct.topics[0]
        led = sum(each.leader_id >= 0 and not each.error_code for each in row.partitions)
        whole = row.error_code == 0 and led == PARTITIONS
        unknown = row.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION
        answer.must(whole or unknown, f"{led} of {PARTITIONS} partitions are led, error {row.error_code}", "topics")
        found.add(whole)
    wire.must(len(found) == 1, "some nodes know the topic, and others do not")
    if found == {True}:
        number = PARTITIONS - 1
        offset = wire.produce(name, "b", number).must_succeed().offset
        wire.fetch(name, number, offset=offset).must_hold("b")
