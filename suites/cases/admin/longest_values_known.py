"""Values as long as they may be: every broker hears of them, and of what is decided after them."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.messages import request

LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")
LENGTHS, WITHIN_S = (32_767, 16_000), 30
"""Characters: what Apache Kafka keeps of one value at the most, and what any broker should keep."""


@case(
    "admin/longest-values-known-to-all",
    guarantees=["adm-009", "kraft-006"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["three-nodes", "leaders", "topic-settings"],
    detects=["B364"],
)
def every_broker_hears_of_the_longest_value(wire, topic, topic_of):
    """A value of tens of thousands of characters that was set with success MUST be described by every broker, and what
    is decided after it MUST become known to every broker too.

    Two lists of a topic, of 32,767 characters or of half as many, and a topic that is created afterwards.
    """
    taken = next((length for length in LENGTHS if _set(wire, topic, length).error == 0), None)
    if taken is None:
        wire.not_applicable("values of this length are refused", "refused-by-settings")
    for node in wire.nodes:
        wire.eventually(lambda node=node: _must_be_described(wire, topic, node, taken), within=WITHIN_S)
    later = topic_of(what="later")
    wire.await_topic(later)
    wire.produce(later, batch("a")).must_be_at(0)


def _value(length):
    """A list of replicas of just this many characters."""
    numbers = "".join(f"{number}:1," for number in range(1_000, 999 + length // 7))
    return f"{numbers}{'1:1':0>{length - len(numbers)}}"


def _set(wire, topic, length):
    return wire.change_configs(TOPIC, topic, [(name, SET, _value(length)) for name in LISTS])


def _must_be_described(wire, topic, node, length):
    rows = [{"resource_type": TOPIC, "resource_name": topic, "configuration_keys": list(LISTS)}]
    answer = wire.ask(request("DescribeConfigs", resources=rows), to=node).must_succeed()
    found = {row.name: row.value for row in answer.struct.results[0].configs}
    lengths = {name: len(value or "") for name, value in found.items()}
    right = found == dict.fromkeys(LISTS, _value(length))
    answer.must(right, f"node {node} describes values of {lengths} characters, not those that were set", "results")
