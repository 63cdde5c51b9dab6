"""Commits of many partitions with much metadata, alone and several of a group at the same time."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._rows import commit_rows

LIMIT, SHORTEST = "offset.metadata.max.bytes", 1_000
CHARACTERS = "".join(map(chr, range(33, 127)))
PARTITIONS = (2, 12, 48)
TOGETHER = ((8, 48), (4, 170))  # how many at once, and of how many partitions: more than a batch of the log holds


@case(
    "commits/large-ones-together",
    guarantees=["cmt-001", "cmt-010"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2},
    needs=["partitions"],
    detects=["K17", "K19"],
)
def large_commits_are_taken_whole(wire, topic_of, group, rng):
    """A commit of many partitions with as much metadata as is allowed MUST be accepted, alone and together with others
    of its group, and each partition MUST have the offset and the metadata of one of the simultaneous commits.

    Of 2, 12 and 48 partitions, then eight of 48 at once and four of 170; nothing of the metadata can be compressed by
    much.
    """
    longest = int(wire.setting(LIMIT) or SHORTEST)
    if not longest >= SHORTEST:
        wire.not_applicable(f"{LIMIT} is {longest}", "refused-by-settings")
    topic = topic_of(partitions=TOGETHER[-1][1])
    length = min(longest, 4_000)
    for count in PARTITIONS:
        with wire.part(f"{count} partitions"):
            _commit(wire, group, topic, _rows(rng, length, count, count)).must_succeed()
    for times, count in TOGETHER:
        together = [_rows(rng, length, count, 100 * count + number) for number in range(times)]
        under_way = [_commit(wire, group, topic, rows, via=f"c{number}") for number, rows in enumerate(together)]
        for number, answer in enumerate(under_way):
            with wire.part(f"number {number} of {times} of {count} partitions together"):
                answer.must_succeed()
        _must_be_of_these(wire, group, topic, together)


def _must_be_of_these(wire, group, topic, together):
    asked = [(topic, row["partition_index"]) for row in together[0]]
    answer = wire.committed_all(group, asked, version=min(7, max(wire.versions("OffsetFetch")))).must_succeed()
    put = {_key(row) for rows in together for row in rows}
    for row in answer.struct.topics[0].partitions:
        found = (row.partition_index, row.committed_offset, row.metadata)
        answer.must(
            found in put, f"of partition {row.partition_index} it has what was not committed: {str(found)[:80]}"
        )


def _commit(wire, group, topic, rows, via="main"):
    return commit_rows(wire, group, topic, rows, via)


def _rows(rng, length, count, offset):
    """Each partition with metadata of its own."""
    return [
        {
            "partition_index": index,
            "committed_offset": offset,
            "committed_metadata": "".join(rng.choices(CHARACTERS, k=length)),
        }
        for index in range(count)
    ]


def _key(row):
    return (row["partition_index"], row["committed_offset"], row["committed_metadata"])
