"""DescribeLogDirs of logs that have many segments: the size is that of all of them."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.log_folders_drawn import DescribedFolders

SEGMENT, WRITES = {"segment.bytes": "1048576"}, 20
"""The smallest segment that every release allows; two or three of them in each partition."""


@case(
    "admin/log-folders-with-many-segments",
    guarantees=["adm-018"],
    apis={"DescribeLogDirs": 1},
    needs=["partitions", "topic-settings", "terminate", "kill", "restart"],
    detects=["D91"],
)
def every_segment_counts(wire, topic_of, rng, nodes):
    """The size that DescribeLogDirs returns for a partition MUST be that of all its segments, also after its node was
    stopped and killed.

    60 records of up to 300 kB in three partitions with segments of a megabyte; the steps of
    admin/log-folders-asked-for-in-any-way.
    """
    counts = {topic_of(partitions=count, what=f"t{count}", configs=SEGMENT): count for count in (1, 2)}
    folders = DescribedFolders(wire, counts, rng)
    for act in (nodes.stop_and_start, nodes.crash, None):
        for _ in range(WRITES):
            folders.write()
            folders.ask()
        if act is not None:
            act(nodes.of(next(iter(counts))))
            for topic in counts:
                wire.await_topic(topic)
