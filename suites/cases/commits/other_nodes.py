"""Offsets that are asked of a node that does not have them."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

RETRIABLE = (errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE, errors.COORDINATOR_LOAD_IN_PROGRESS)


@case(
    "commits/asked-of-another-node",
    guarantees=["cmt-004", "prot-019"],
    needs=["three-nodes"],
    apis={"OffsetCommit": 2, "OffsetFetch": 1},
    detects=["K11", edit_answer("topics[].partitions", set=[], api="OffsetFetch")],
)
def who_does_not_coordinate_never_says_that_nothing_is_committed(wire, topic, group):
    """OffsetFetch at a node that does not coordinate the group MUST be refused with an error that makes the client look
    for the coordinator (16, 15, 14), in every version: for the partition where the version knows no other place. Else a
    consumer takes the answer for a group without offsets, and begins elsewhere.
    """
    wire.commit(group, topic, offset=5).must_succeed()
    others = [node for node in wire.nodes if node != wire.coordinator(group)]
    for version in wire.versions("OffsetFetch"):
        with wire.part(f"v{version}"):
            answer = _asked(wire, group, topic, version, others[0])
            rows = answer.struct.groups if version >= 8 else [answer.struct]
            codes = {row.error_code for row in rows if version >= 2}
            codes |= {part.error_code for row in rows for each in row.topics for part in each.partitions}
            refusals = codes - {0}
            answer.must(
                bool(refusals) and refusals <= set(RETRIABLE),
                f"the error codes are {sorted(codes)}; one must send the client to the coordinator",
            )
    wire.committed(group, topic).must_be(5)


def _asked(wire, group, topic, version, node):
    row = {"name": topic, "partition_indexes": [0]}
    rows = [{"group_id": group, "topics": [{**row, "topic_id": wire.topic_id(topic)}]}]
    fields = {"groups": rows} if version >= 8 else {"group_id": group, "topics": [row]}
    return wire.ask(request("OffsetFetch", **fields), version=version, to=node)
