"""DescribeLogDirs: how large partitions are on the disk of a node (KIP-113)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request


@case(
    "admin/log-folders",
    guarantee="adm-018",
    apis={"DescribeLogDirs": 1},
    detects=["K03", edit_answer("results[].topics[0]", repeat=True, api="DescribeLogDirs")],
)
def partitions_are_described_as_they_are_asked_for(wire, topic_of):
    """DescribeLogDirs MUST return the partitions that it is asked for and no other topic, every topic where it is asked
    for all, and a larger size for a partition that was given records.
    """
    one, other = topic_of(partitions=2), topic_of(what="other")
    wire.produce(one, batch("a" * 1_000))
    wire.produce(other, batch("b"))
    node = wire.leader(one)

    def described(topics):
        answer = wire.ask(request("DescribeLogDirs", topics=topics), to=node).must_succeed()
        rows = [
            (topic.name, sorted(part.partition_index for part in topic.partitions))
            for folder in answer.struct.results
            for topic in folder.topics
        ]
        sizes = [
            part.partition_size
            for folder in answer.struct.results
            for topic in folder.topics
            if topic.name == one
            for part in topic.partitions
            if part.partition_index == 0 and not part.is_future_key
        ]
        return answer, rows, max(sizes, default=-1)

    answer, rows, size = described([{"topic": one, "partitions": [0]}])
    answer.must(rows == [(one, [0])], f"asked for partition 0 of {one} it tells of {rows}", "results")
    answer.must(size >= 1_000, f"a partition with a record of 1000 bytes has {size}", "results")
    absent, rows, _ = described([{"topic": wire.name("absent"), "partitions": [0]}])
    absent.must(not rows, f"asked for a topic that there is not it tells of {rows}", "results")
    all_, rows, _ = described(None)
    all_.must(one in dict(rows), f"asked for all it tells of {[name for name, _ in rows]}, and not of {one}", "results")

    wire.produce(one, batch("c" * 1_000))
    later, _, grown = described([{"topic": one, "partitions": [0]}])
    later.must(grown > size, f"the size was {size}, and is {grown} with another record", "results")
