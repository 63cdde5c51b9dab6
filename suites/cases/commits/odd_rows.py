"""Invalid and unusual rows of an OffsetCommit: given twice, a negative partition, an unknown id."""

from uuid import UUID

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {"OffsetCommit": 2, "OffsetFetch": 2}
NO_SUCH = UUID(int=77)
BY_ID = 10


@case(
    "commits/odd-rows",
    guarantees=["cmt-009", "cmt-001"],
    apis=APIS,
    needs=["partitions"],
    detects=["D18", "V91"],
)
def each_row_is_answered_as_it_is(wire, topic_of, group):
    """Each row of a commit MUST be judged separately. A negative partition and an unknown topic id are refused (3,
    100), also when they come first, and the others are accepted; of two rows for one partition the later one holds.
    OffsetFetch MUST answer for a negative partition, and for one that does not exist, that nothing is committed.
    """
    topic = topic_of(partitions=2)
    offered = [each for each in wire.versions("OffsetCommit") if 2 <= each <= 9]
    for version in (offered[0], offered[-1]):
        with wire.part(f"v{version}"):
            rows = [_row(-1, 1), _row(0, 2), _row(1, 3), _row(0, 4), _row(2, 5)]
            answer = _commit(wire, group, [{"name": topic, "partitions": rows}], version)
            returned = {(p.partition_index, p.error_code) for row in answer.struct.topics for p in row.partitions}
            unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
            wanted = {(-1, unknown), (0, 0), (1, 0), (2, unknown)}
            answer.must(returned == wanted, f"the error codes are {returned}; they must be {wanted}", "topics")
            wire.committed(group, topic, 0).must_be(4)
            wire.committed(group, topic, 1).must_be(3)
    for version in wire.versions("OffsetFetch"):
        if version >= 1:
            with wire.part(f"asked for in v{version}"):
                returned = wire.committed_all(group, [(topic, -1), (topic, 0), (topic, 9)], version=version)
                rows = returned.at("groups[0].topics" if version >= 8 else "topics")[0].partitions
                lines = sorted((p.partition_index, p.error_code, p.committed_offset) for p in rows)
                must = [(-1, 0, -1), (0, 0, 4), (9, 0, -1)]
                returned.must(lines == must, f"it returns {lines}; it must return {must}", "topics")
    if max(wire.versions("OffsetCommit")) >= BY_ID and max(wire.versions("OffsetFetch")) >= BY_ID:
        with wire.part("by id"):
            _by_id(wire, group, topic)


def _by_id(wire, group, topic):
    named = wire.topic_id(topic)
    rows = [
        {"topic_id": NO_SUCH, "partitions": [_row(0, 5)]},
        {"topic_id": named, "partitions": [_row(5, 5), _row(0, 6)]},
    ]
    answer = _commit(wire, group, rows, BY_ID)
    found = sorted((p.error_code, p.partition_index) for row in answer.struct.topics for p in row.partitions)
    wanted = [(0, 0), (errors.UNKNOWN_TOPIC_OR_PARTITION, 5), (errors.UNKNOWN_TOPIC_ID, 0)]
    answer.must(found == wanted, f"the error codes are {found}; they must be {wanted}", "topics")
    asked = [{"topic_id": id_, "partition_indexes": [0]} for id_ in (NO_SUCH, named)]
    fetched = wire.ask(
        request("OffsetFetch", groups=[{"group_id": group, "topics": asked}]),
        to=lambda: wire.coordinator(group),
        version=BY_ID,
    )
    lines = [
        (row.topic_id, p.error_code, p.committed_offset)
        for row in fetched.struct.groups[0].topics
        for p in row.partitions
    ]
    wanted_lines = [(NO_SUCH, errors.UNKNOWN_TOPIC_ID, -1), (named, 0, 6)]
    same = sorted(map(str, lines)) == sorted(map(str, wanted_lines))
    fetched.must(same, f"it returns {lines}; it must be {wanted_lines}", "groups[0].topics")


def _row(index, offset):
    return {"partition_index": index, "committed_offset": offset, "committed_metadata": ""}


def _commit(wire, group, topics, version):
    asked = request("OffsetCommit", group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    return wire.ask(asked, to=lambda: wire.coordinator(group), version=version)
