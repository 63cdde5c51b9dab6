"""Several partitions in one Produce request."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "produce/partitions-are-apart",
    guarantee="prod-007",
    needs=["partitions", "topic-settings"],
    smoke=True,
    detects=["M38e"],
)
def each_partition_of_a_request_has_its_own_fate(wire, topic_of):
    """Partitions of one Produce request MUST succeed or fail each on its own, and each MUST be answered exactly once.

    Three topics; in each some partitions do not exist and some batches are too large.
    """
    topics = [topic_of(what=name, partitions=6, configs={"max.message.bytes": "2000"}) for name in "abc"]
    node = wire.leader(topics[0])
    content, wanted = {}, {}
    for topic in topics:
        for index in range(9):
            large = index % 3 == 1
            content[topic, index] = batch(b"x" * 3_000) if large else batch(f"{topic} {index}")
            wanted[topic, index] = errors.MESSAGE_TOO_LARGE if large else 0
            if index >= 6:
                wanted[topic, index] = errors.UNKNOWN_TOPIC_OR_PARTITION
            elif wire.leader(topic, index) != node:
                del content[topic, index], wanted[topic, index]
    answer = wire.produce_all(content)
    for (topic, index), code in wanted.items():
        part = answer.of(topic, index)
        part.must_be_refused(code) if code else part.must_be_at(0)
    for (topic, index), code in wanted.items():
        if code == 0:
            wire.fetch(topic, index).must_hold(f"{topic} {index}")
