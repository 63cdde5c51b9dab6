"""DescribeLogDirs: the one folder that holds all partitions, and how large each is.

Versions 1-5. Topics null: all; partitions that do not exist are left out, as in Kafka.
"""

from __future__ import annotations

import shutil

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("DescribeLogDirs", 1, 5)
def describe_log_dirs(request: Struct, context: Context) -> Struct:
    """Sizes by topic and partition."""
    node = context.node
    wanted: dict[str, list[int]] = {}
    if request.topics is None:
        wanted = {topic.name: list(range(topic.partitions)) for topic in node.topics.all()}
    else:
        for row in request.topics:
            wanted.setdefault(row.topic, []).extend(row.partitions)
        if not bugs.on("H15"):
            wanted = {name: list(dict.fromkeys(indexes)) for name, indexes in wanted.items()}
    topics = []
    for name, indexes in wanted.items():
        found = [(index, p) for index in indexes if (p := node.partition(name, index)) is not None]
        if found:
            logs = {index: (found[0][1] if bugs.on("H16") else p).log for index, p in found}
            sizes = [
                {
                    "partition_index": index,
                    "partition_size": logs[index].active.size if bugs.on("D91") else logs[index].size,
                    "offset_lag": 0,
                }
                for index, _ in found
            ]
            topics.append({"name": name, "partitions": sizes})
    if bugs.on("K03"):
        topics += [{"name": topic.name, "partitions": []} for topic in node.topics.all() if topic.name not in wanted]
    disk = shutil.disk_usage(node.config.data)
    folder = {
        "error_code": errors.NONE,
        "log_dir": str(node.config.data.absolute()),
        "topics": topics,
        "total_bytes": disk.total,
        "usable_bytes": disk.free,
    }
    return response("DescribeLogDirs", results=[folder])
