"""transaction.version 2 (KIP-890), case by case: EndTxn v5, Produce v12 and TxnOffsetCommit v5 and later."""

from __future__ import annotations

import uuid

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct
from brokertrial.wire.records import Record, build_batch
from tests.reference_impl_coordinators.scenarios import Scenario, Story


def end5(s: Story, name: str, pid: int, epoch: int, commit: bool) -> Struct:
    """EndTxn v5, again while the markers are on their way."""
    fields = {"transactional_id": name, "producer_id": pid, "producer_epoch": epoch, "committed": commit}
    while True:
        answer = s.wire.call("EndTxn", 5, **fields)
        if answer.error_code != errors.CONCURRENT_TRANSACTIONS:
            return answer


def produce13(s: Story, topic: uuid.UUID, name: str, pid: int, epoch: int, sequence: int = 0) -> int:
    """Produce v13: the partition joins the transaction with its first batch."""
    batch = build_batch(
        [Record(key=None, value=b"v", timestamp=1)], producer_id=pid, producer_epoch=epoch, base_sequence=sequence,
        transactional=True,
    )  # fmt: skip
    data = [{"topic_id": topic, "partition_data": [{"index": 0, "records": batch}]}]
    while True:
        answer = s.wire.call("Produce", 13, transactional_id=name, acks=-1, timeout_ms=20_000, topic_data=data)
        code = int(answer.responses[0].partition_responses[0].error_code)
        if code not in (errors.NOT_LEADER_OR_FOLLOWER, errors.CONCURRENT_TRANSACTIONS):
            return code


def each_end_raises_the_epoch(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    where = s.topic_id(topic)
    pid, epoch, _ = s.producer(name)
    nothing = end5(s, name, pid, epoch, commit=True)
    s.tell("commit of nothing", nothing.error_code, str(nothing.producer_id), str(nothing.producer_epoch))
    for commit in (True, False):
        s.tell("joined by producing", produce13(s, where, name, pid, epoch))
        s.tell(
            "an unknown epoch",
            produce13(s, where, name, pid, epoch + 5),
            end5(s, name, pid, epoch + 5, commit).error_code,
        )
        s.tell(
            "another id",
            produce13(s, where, name, pid + 1000, epoch),
            end5(s, name, pid + 1000, epoch, commit).error_code,
        )
        ended = end5(s, name, pid, epoch, commit)
        s.tell(f"commit {commit}", ended.error_code, ended.producer_id == pid, str(ended.producer_epoch - epoch))
        s.tell("state", s.ended(name))
        again = end5(s, name, pid, epoch, commit)
        s.tell("the same again", again.error_code, again.producer_id == pid, str(again.producer_epoch - epoch))
        opposite = end5(s, name, pid, epoch, not commit)
        s.tell("the opposite", opposite.error_code, str(opposite.producer_id), str(opposite.producer_epoch))
        s.tell("late batch", produce13(s, where, name, pid, epoch, sequence=1))
        s.tell("late add", *s.add(name, pid, epoch, topic, 0))
        epoch = ended.producer_epoch
    empty = end5(s, name, pid, epoch, commit=False)
    s.tell("abort of nothing", empty.error_code, str(empty.producer_epoch - epoch), s.ended(name))
    s.tell("commit of nothing", end5(s, name, pid, empty.producer_epoch, commit=True).error_code)
    s.tell("a late EndTxn v4", s.end(name, pid, epoch, commit=True))
    going = s.producer(name, producer_id=pid, producer_epoch=empty.producer_epoch)
    s.tell("going on", going[2], str(going[1] - empty.producer_epoch))
    s.tell("going on from before", s.producer(name, producer_id=pid, producer_epoch=epoch)[2])


def going_on_after_an_end(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    where = s.topic_id(topic)
    pid, epoch, _ = s.producer(name)
    s.tell(
        "committed",
        produce13(s, where, name, pid, epoch),
        end5(s, name, pid, epoch, commit=True).error_code,
        s.ended(name),
    )
    s.tell("going on with the old epoch", s.producer(name, producer_id=pid, producer_epoch=epoch)[2])
    pid, epoch, _ = s.producer(name)
    s.tell("old protocol next", *s.add(name, pid, epoch, topic, 0), s.end(name, pid, epoch, commit=True), s.ended(name))
    s.tell("again", s.end(name, pid, epoch, commit=True))
    s.tell("and the new", produce13(s, where, name, pid, epoch), end5(s, name, pid, epoch, commit=True).error_code)


def offsets_join_by_themselves(s: Story) -> None:
    name, group, topic = s.name("x"), s.name("g"), s.topic("t")
    s.ready(0, group)
    s.ready(1, name)
    pid, epoch, _ = s.producer(name)
    s.tell("staged v5", *s.txn_commit(name, group, pid, epoch, {(topic, 0): 9}, 5))
    line = {"partition_index": 1, "committed_offset": 8, "committed_metadata": ""}
    topics = [{"topic_id": t, "partitions": [line]} for t in (s.topic_id(topic), uuid.UUID(int=12345))]
    fields = {"transactional_id": name, "group_id": group, "producer_id": pid, "producer_epoch": epoch}
    answer = s.wire.call("TxnOffsetCommit", 6, topics=topics, **fields)
    s.tell("staged v6", *sorted(p.error_code for t in answer.topics for p in t.partitions))
    s.tell("staged of an absent generation", *s.txn_commit(name, s.name("h"), pid, epoch, {(topic, 0): 9}, 5,
                                                          member_id="m", generation_id_or_member_epoch=1))  # fmt: skip
    s.tell("another epoch", *s.txn_commit(name, group, pid, epoch + 3, {(topic, 0): 9}, 5))
    s.tell("committed", end5(s, name, pid, epoch, commit=True).error_code, s.ended(name))
    s.until("stability", lambda: s.fetched(group, topic, stable=True)[1] != errors.UNSTABLE_OFFSET_COMMIT)
    s.tell("then", s.fetched(group, topic), s.fetched(group, topic, 1))


SCENARIOS: list[Scenario] = [each_end_raises_the_epoch, going_on_after_an_end, offsets_join_by_themselves]
