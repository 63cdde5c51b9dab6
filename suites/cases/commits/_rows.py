"""OffsetCommit of several partitions of a topic, each with metadata of its own."""

from brokertrial.wire.messages import request

BY_NAME = 9
"""The last version that names topics."""


def commit_rows(wire, group, topic, rows, via="main"):
    """As a client outside any group; on another connection than the usual one the answer is not waited for."""
    asked = request(
        "OffsetCommit",
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[{"name": topic, "partitions": rows}],
    )
    version = min(BY_NAME, max(wire.versions("OffsetCommit")))
    return wire.ask(asked, to=wire.coordinator(group), version=version, via=via, wait=via == "main")
