"""DescribeTopicPartitions where the brokers were started with a limit of their own (KIP-966)."""

from brokertrial.suites.case import case
from brokertrial.wire.messages import request

MOST, LIMIT, PAGES = "max.request.partition.size.limit", 3, 20
COUNTS = (1, 2, 5, 4)


@case(
    "protocol/pages-as-large-as-brokers-allow",
    guarantees=["prot-015"],
    apis={"DescribeTopicPartitions": 0},
    needs=["chosen-settings", "started", "partitions", "terminate", "restart"],
    detects=["B323"],
)
def no_page_is_larger_than_its_broker_allows(wire, topic_of, nodes):
    """A page of DescribeTopicPartitions MUST hold as many partitions as the request allows, and no more than
    max.request.partition.size.limit, and MUST come with a cursor as long as there are more. All pages together MUST
    name each partition once.

    Four topics of one to five partitions; the brokers allow three; requests allow one, three, four and all there are.
    """
    counts = {topic_of(partitions=count, what=f"of {count}"): count for count in COUNTS}
    topics = sorted(counts)
    every = [(topic, index) for topic in topics for index in range(counts[topic])]
    nodes.start_with({MOST: str(LIMIT)})
    for topic in topics:
        wire.await_topic(topic)
    for node in wire.nodes:
        for allowed in (1, LIMIT, LIMIT + 1, 0x7FFFFFFF):
            _must_be_walked(wire, node, topics, every, allowed)


def _must_be_walked(wire, node, topics, every, allowed):
    most, left, cursor = min(allowed, LIMIT), list(every), None
    for _ in range(PAGES):
        asked = request(
            "DescribeTopicPartitions",
            topics=[{"name": topic} for topic in topics],
            response_partition_limit=allowed,
            cursor=cursor,
        )
        page = wire.ask(asked, to=node).must_succeed()
        found = [(row.name, part.partition_index) for row in page.struct.topics for part in row.partitions]
        said = f"a request that allows {allowed}, to a broker that allows {LIMIT}"
        page.must(len(found) == min(most, len(left)), f"a page has {len(found)} partitions, of {len(left)}, on {said}")
        page.must(found == left[:most], f"a page begins with {found[0]}; it must begin with {left[0]}", "topics")
        left, after = left[most:], page.struct.next_cursor
        if after is None:
            break
        cursor = {"topic_name": after.topic_name, "partition_index": after.partition_index}
    wire.must(not left, f"there is no cursor on the last page, although {len(left)} partitions follow")
