"""Commits that a broker does not take, alone among others that it does."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2}
STAGED = {**COMMITS, "OffsetFetch": 7, "TxnOffsetCommit": 0, "AddOffsetsToTxn": 0, "EndTxn": 0}
LIMIT, MOST = "offset.metadata.max.bytes", 10_000
"""A string of older versions has 32,767 bytes at most."""
TAKEN = edit_answer("topics[].partitions[].error_code", set=0, api=("OffsetCommit", "TxnOffsetCommit"))


@case("commits/no-such-partition", guarantee="cmt-009", apis=COMMITS, detects=[TAKEN])
def only_the_partition_that_is_not_there_is_refused(wire, topic, group):
    """A commit for a partition or a topic that does not exist MUST be refused for that partition (3), and the others of
    the request MUST be accepted.
    """
    absent, beyond = wire.name("absent"), len(wire.known_partitions(topic))
    answer = wire.commit_all(group, {(topic, 0): 5, (topic, beyond): 6, (absent, 0): 7})
    codes = {
        (row.name, part.partition_index): part.error_code for row in answer.struct.topics for part in row.partitions
    }
    unknown = errors.UNKNOWN_TOPIC_OR_PARTITION
    wanted = {(topic, 0): 0, (topic, beyond): unknown, (absent, 0): unknown}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics")
    wire.committed(group, topic).must_be(5)


@case("commits/metadata-limit", guarantee="cmt-010", apis=COMMITS, detects=[TAKEN, "D17"])
def metadata_beyond_the_limit_is_refused(wire, topic, group):
    """Metadata of offset.metadata.max.bytes SHOULD be accepted and more SHOULD be refused (12), changing nothing; the
    limit counts characters as Java does, not bytes.
    """
    limit = _limit(wire)
    for one, count in (("x", limit), ("é", limit), ("✓", limit), ("😀", limit // 2)):
        with wire.part(f"{one} as metadata"):
            within = wire.commit(group, topic, offset=1, metadata=one * count)
            answered = f"{count} characters are answered {errors.name(within.error)}; the limit is {limit}"
            within.must(within.error == errors.NONE, answered)
            longer = wire.commit(group, topic, offset=2, metadata=one * (count + 1))
            longer.must_be_refused(errors.OFFSET_METADATA_TOO_LARGE)
            wire.committed(group, topic).must_be(1, metadata=one * count)


@case("commits/metadata-limit-in-a-transaction", guarantee="cmt-010", apis=STAGED, detects=[TAKEN])
def metadata_beyond_the_limit_is_refused_in_a_transaction(wire, topic, group, transactional_id):
    """TxnOffsetCommit with metadata beyond offset.metadata.max.bytes SHOULD be refused (12)."""
    limit = _limit(wire)
    producer = wire.producer(transactional_id)
    sent = producer.send_offsets(group, {(topic, 0): 5}, metadata="x" * (limit + 1))
    sent.must_be_refused(errors.OFFSET_METADATA_TOO_LARGE)
    producer.commit().must_succeed()


@case("commits/refused-in-a-transaction-leaves-nothing", guarantee="txn-012", apis=STAGED, detects=[TAKEN, "P18"])
def a_refused_offset_leaves_nothing_pending(wire, topic, group, transactional_id):
    """A partition MUST NOT stay unstable when the transaction has ended in which its offset was refused, and nothing of
    it may be in force (KAFKA-16371).

    Refused because of metadata beyond the limit, which is a SHOULD: where it is taken, which the report says, it is in
    force after the commit.
    """
    limit = _limit(wire)
    producer = wire.producer(transactional_id)
    sent = producer.send_offsets(group, {(topic, 0): 5}, metadata="x" * (limit + 1))
    taken = _taken(wire, sent.error)
    if not taken:
        sent.must_be_refused(errors.OFFSET_METADATA_TOO_LARGE)
    producer.commit().must_succeed()
    offset = 5 if taken else -1
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(offset), within=10)


def _limit(wire):
    """Of characters; where no broker reports it, none is assumed."""
    limit = wire.setting(LIMIT)
    if limit is None or int(limit) >= MOST:
        wire.not_applicable(f"{LIMIT} is {limit or 'not reported'}")
    return int(limit)


def _taken(wire, code):
    if code == errors.NONE:
        wire.noted.append(f"TxnOffsetCommit takes metadata that is longer than {LIMIT}")
    return code == errors.NONE


@case(
    "commits/metadata-limit-in-part-of-a-transaction",
    guarantees=["txn-012", "cmt-010"],
    needs=["partitions"],
    apis=STAGED,
    detects=["K12"],
)
def offsets_beside_a_refused_one_come_with_the_transaction(wire, topic_of, group, transactional_id):
    """Offsets that a transaction stages beside one whose metadata is beyond the limit MUST be in force when it has
    committed, and no partition MUST stay unstable: neither theirs nor that of the refused one.

    That it is refused is a SHOULD: where it is taken, which the report says, it is in force with the others.
    """
    topic, limit = topic_of(partitions=4), _limit(wire)
    producer = wire.producer(transactional_id)
    first = producer.send_offsets(group, {(topic, 3): 1}).must_succeed()
    staged = {0: (5, ""), 1: (6, "x" * (limit + 1)), 2: (7, "y")}
    rows = [
        {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}
        for index, (offset, metadata) in staged.items()
    ]
    named = {"topic_id": wire.topic_id(topic)} if first.version >= 6 else {}
    asked = request(
        "TxnOffsetCommit",
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        topics=[{"name": topic, **named, "partitions": rows}],
    )
    answer = wire.ask(asked, to=wire.coordinator(group), version=first.version)
    codes = {row.partition_index: row.error_code for row in answer.struct.topics[0].partitions}
    taken = _taken(wire, codes.get(1))
    wanted = {0: 0, 1: 0 if taken else errors.OFFSET_METADATA_TOO_LARGE, 2: 0}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "topics[0].partitions")
    producer.commit().must_succeed()

    for partition, offset in ((0, 5), (1, 6 if taken else -1), (2, 7), (3, 1)):
        wire.eventually(
            lambda partition=partition, offset=offset: wire.committed(
                group, topic, partition, require_stable=True
            ).must_be(offset),
            within=10,
        )
