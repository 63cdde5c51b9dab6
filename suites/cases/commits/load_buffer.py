"""What a coordinator reads when it starts, where one batch of it is larger than the buffer that it reads with."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._rows import commit_rows
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.fetch import COMMITTED

BUFFERS = ("offsets.load.buffer.size", "transaction.state.log.load.buffer.size")
BUFFER, PARTITIONS, CHARACTERS, LARGE, WITHIN_S = 100, 48, 3_000, 150_000, 30
LONG_MS = 60_000


@case(
    "commits/more-than-the-load-buffer-holds",
    guarantees=["cmt-002", "grp-016", "txn-001"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "EndTxn": 0},
    needs=["chosen-settings", "restart", "partitions"],
    detects=["Z29"],
)
def whatever_was_written_is_read_again(wire, topic_of, rng, nodes):
    """Offsets, groups and transactions MUST be there after the coordinator was stopped or killed, also where one commit
    or one assignment is larger than the buffer with which the coordinator reads its log; as MUST what comes after it.

    With buffers of 100 bytes (offsets.load.buffer.size, transaction.state.log.load.buffer.size): a commit of 48
    partitions with metadata of 3,000 characters each, an assignment of 150,000 bytes, a transaction that is open.
    """
    nodes.start_with(dict.fromkeys(BUFFERS, str(BUFFER)))
    topic = topic_of(partitions=PARTITIONS)
    before, much, after = (wire.name("g") for _ in range(3))
    member = wire.member(wire.name("g"), "m", session_timeout_ms=LONG_MS, rebalance_timeout_ms=LONG_MS)
    assigned = rng.randbytes(LARGE)

    wire.commit(before, topic, offset=3).must_succeed()
    metadata = ["".join(rng.choices("abcdefgh0123456789", k=CHARACTERS)) for _ in range(PARTITIONS)]
    _await_coordinator(wire, much)
    _commit(wire, much, topic, metadata)
    rebalance(member, assignments=[assigned])
    producer = wire.producer(wire.name("x"), timeout_ms=5 * LONG_MS)
    producer.send(topic, "in it").must_be_at(0)
    wire.commit(after, topic, offset=5).must_succeed()

    for down in rng.sample([nodes.kill, nodes.terminate], 2):
        for node in sorted({nodes.of_group(one) for one in (before, much, after, member.group)}):
            down(node)
            nodes.start(node)
        wire.eventually(lambda: wire.committed(before, topic).must_be(3), within=WITHIN_S)
        wire.eventually(lambda: wire.committed(after, topic).must_be(5), within=WITHIN_S)
        _await_coordinator(wire, much)
        _must_have(wire, much, topic, metadata)
        wire.eventually(lambda: member.heartbeat().must_succeed(), within=WITHIN_S)
        member.sync().must_bring(assigned)
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.read_all(topic, isolation=COMMITTED).must_hold("in it"), within=WITHIN_S)


def _await_coordinator(wire, group):
    """Each group may lie in a partition of its own, which is read by itself; who is busy reading is asked again."""
    _ = wire.describe_group(group).error


def _commit(wire, group, topic, metadata):
    rows = [
        {"partition_index": number, "committed_offset": number, "committed_metadata": text}
        for number, text in enumerate(metadata)
    ]
    commit_rows(wire, group, topic, rows).must_succeed()


def _must_have(wire, group, topic, metadata):
    partitions = [(topic, number) for number in range(len(metadata))]
    version = min(7, max(wire.versions("OffsetFetch")))
    answer = wire.committed_all(group, partitions, version=version).must_succeed()
    found = {row.partition_index: (row.committed_offset, row.metadata) for row in answer.struct.topics[0].partitions}
    for number, text in enumerate(metadata):
        whole = found.get(number) == (number, text)
        answer.must(whole, f"of partition {number} it has {str(found.get(number))[:80]}; {number} was committed")
