"""What is asked of the transaction coordinator, case by case; the answers are in `kafka_says.txt`.

Only requests of the classic protocol (EndTxn up to v4), which Kafka serves at any level of transaction.version. Epochs
after a fencing are told as "higher": how far they rise depends on that level.
"""

from __future__ import annotations

from typing import Any

from brokertrial.wire import errors
from tests.reference_impl_coordinators.scenarios import Scenario, Story


def ids_and_epochs(s: Story) -> None:
    name = s.name("x")
    s.ready(1, name)
    s.until("producer ids", lambda: s.wire.call("InitProducerId", 4, transactional_id=None).error_code == errors.NONE)
    first = s.wire.call("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=0)
    second = s.wire.call("InitProducerId", 0, transactional_id=None, transaction_timeout_ms=-1)
    s.tell("idempotent", first.error_code, str(first.producer_epoch), second.error_code, str(second.producer_epoch))
    s.tell("never the same", first.producer_id != second.producer_id)
    longest = int(s.broker_settings("transaction.max.timeout.ms")[0])
    for what, timeout_ms in (("zero", 0), ("negative", -1), ("above", longest + 1), ("far above", 2**31 - 1)):
        a = s.wire.call("InitProducerId", 4, transactional_id=name, transaction_timeout_ms=timeout_ms)
        s.tell(f"timeout {what}", a.error_code, str(a.producer_id), str(a.producer_epoch))
    a = s.wire.call("InitProducerId", 4, transactional_id="", transaction_timeout_ms=1000)
    s.tell("empty id", a.error_code, str(a.producer_id), str(a.producer_epoch))
    for half in ({"producer_id": 5}, {"producer_epoch": 5}):
        a = s.wire.call("InitProducerId", 4, transactional_id=name, transaction_timeout_ms=1000, **half)
        s.tell(f"only {sorted(half)}", a.error_code)
    pid, epoch, code = s.producer(name, longest)
    s.tell("longest timeout", code, f"epoch {epoch}")
    again = s.producer(name)
    s.tell("again", again[2], again[0] == pid, f"epoch {again[1]}")
    on = s.producer(name, producer_id=pid, producer_epoch=1)
    s.tell("going on from 1", on[2], on[0] == pid, f"epoch {on[1]}")
    retry = s.producer(name, producer_id=pid, producer_epoch=1)
    s.tell("the same again", retry[2], retry[0] == pid, f"epoch {retry[1]}")
    for version in (3, 4):
        s.tell(f"from 0, v{version}", s.producer(name, version=version, producer_id=pid, producer_epoch=0)[2])
        s.tell(f"another id, v{version}", s.producer(name, version=version, producer_id=pid + 77, producer_epoch=2)[2])
    s.tell("an unknown id going on", s.producer(s.name("y"), producer_id=pid, producer_epoch=3)[2])


def adding_partitions(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    pid, epoch, _ = s.producer(name)
    s.tell("unknown id", *s.add(s.name("y"), pid, epoch, topic, 0))
    s.tell("empty id", *s.add("", pid, epoch, topic, 0))
    s.tell("another producer", *s.add(name, pid + 1, epoch, topic, 0))
    for version in (0, 1, 2, 3):
        s.tell(f"epochs v{version}", *s.add(name, pid, epoch - 1, topic, 0, version=version),
               *s.add(name, pid, epoch + 1, topic, 0, version=version))  # fmt: skip
    s.tell("one that is missing", *s.add(name, pid, epoch, topic, 0, 9, 1))
    s.tell("state", s.ended(name))
    s.tell("added", *s.add(name, pid, epoch, topic, 0), *s.add(name, pid, epoch, topic, 0, 1))
    found = s.wire.call("DescribeTransactions", 0, transactional_ids=[name, "", s.name("y")]).transaction_states
    for t in found:
        parts = [(x.topic, sorted(x.partitions)) for x in t.topics]
        shown = str(t.producer_epoch), str(t.transaction_timeout_ms), t.transaction_start_time_ms > 0
        s.tell("described", t.error_code, t.transaction_state, t.producer_id == pid, *shown, parts)
    verify = {"transactional_id": name, "producer_id": pid, "producer_epoch": epoch, "verify_only": True}
    other = s.topic("other")
    wanted = [{"name": topic, "partitions": [0]}, {"name": other, "partitions": [0]}]
    answer = s.wire.call("AddPartitionsToTxn", 4, transactions=[{**verify, "topics": wanted}])
    results = answer.results_by_transaction[0].topic_results
    codes = {t.name: t.results_by_partition[0].partition_error_code for t in results}
    s.tell("verified", codes[topic], codes[other])
    s.tell("aborted", s.end(name, pid, epoch, commit=False), s.ended(name))


def ending(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    s.tell("unknown id", s.end(name, 5, 0, commit=True))
    s.tell("empty id", s.end("", 5, 0, commit=True))
    pid, epoch, _ = s.producer(name)
    s.tell("nothing begun", s.end(name, pid, epoch, commit=True), s.end(name, pid, epoch, commit=False))
    for commit in (True, False):
        s.tell("added", *s.add(name, pid, epoch, topic, 0))
        s.tell("another producer", s.end(name, pid + 1, epoch, commit))
        for version in (0, 1, 2, 4):
            s.tell(f"epochs v{version}", s.end(name, pid, epoch - 1, commit, version),
                   s.end(name, pid, epoch + 1, commit, version))  # fmt: skip
        s.tell(f"commit {commit}", s.end(name, pid, epoch, commit), s.ended(name))
        s.tell("the same again", s.end(name, pid, epoch, commit))
        s.tell("the opposite", s.end(name, pid, epoch, not commit))
    s.tell("a new beginning", *s.add(name, pid, epoch, topic, 0), s.end(name, pid, epoch, commit=True))


def producing(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    pid, epoch, _ = s.producer(name)
    for version in (3, 9, 10, 11):
        s.tell(f"not added v{version}", *s.produce(topic, name, pid, epoch, version=version)[:1])
    s.tell("unknown id", s.produce(topic, s.name("y"), pid, epoch)[0])
    s.tell("added", *s.add(name, pid, epoch, topic, 0))
    s.tell("another producer", s.produce(topic, name, pid + 1000, epoch)[0])
    s.tell("another epoch", s.produce(topic, name, pid, epoch + 1)[0])
    s.tell("produced", s.produce(topic, name, pid, epoch))
    s.tell("another partition", s.produce(topic, name, pid, epoch, partition=1)[0])
    s.tell("the same again", s.produce(topic, name, pid, epoch))
    s.tell("a gap", s.produce(topic, name, pid, epoch, sequence=7)[0])
    s.tell("plain in the middle", s.produce(topic, None, pid, epoch, sequence=1)[0])
    s.tell("committed", s.end(name, pid, epoch, commit=True), s.ended(name))
    s.tell("after the end", s.produce(topic, name, pid, epoch, sequence=1)[0])
    wanted = [{"name": topic, "partition_indexes": [0, 1, 9]}, {"name": "no such topic", "partition_indexes": [0]}]
    for t in s.wire.call("DescribeProducers", 0, topics=wanted).topics:
        for p in t.partitions:
            mine = [(x.producer_epoch, x.last_sequence, x.current_txn_start_offset) for x in p.active_producers]
            s.tell("producers", p.error_code, *mine)


def staging_offsets(s: Story) -> None:
    name, group, topic = s.name("x"), s.name("g"), s.topic("t")
    s.ready(0, group)
    s.ready(1, name)
    s.tell("plain", *s.commit(group, {(topic, 0): 5}))
    pid, epoch, _ = s.producer(name)
    where = {(topic, 0): 9}
    for version in (0, 3, 4):
        s.tell(f"not added v{version}", *s.txn_commit(name, group, pid, epoch, where, version))
    s.tell("unknown id", *s.txn_commit(s.name("y"), group, pid, epoch, where))
    s.tell("add: unknown id, producer, epochs", s.add_offsets(s.name("y"), pid, epoch, group),
           s.add_offsets(name, pid + 1, epoch, group), s.add_offsets(name, pid, epoch + 1, group),
           s.add_offsets(name, pid, epoch + 1, group, version=1))  # fmt: skip
    for commit in (False, True):
        s.tell("added", s.add_offsets(name, pid, epoch, group))
        s.tell("another producer, epoch", *s.txn_commit(name, group, pid + 1000, epoch, where),
               *s.txn_commit(name, group, pid, epoch + 1, where))  # fmt: skip
        s.tell("no group", *s.txn_commit(name, "", pid, epoch, where))
        several = {(topic, 0): 9, (topic, 1): 4, (topic, 7): 1, (s.name("absent"), 0): 1}
        s.tell("staged", *sorted(s.txn_commit(name, group, pid, epoch, several)))
        s.tell("meanwhile", s.fetched(group, topic), s.fetched(group, topic, 1))
        s.tell("if stable", s.fetched(group, topic, stable=True), s.fetched(group, topic, 1, stable=True))
        s.tell("ended", s.end(name, pid, epoch, commit), s.ended(name))
        s.until("stability", lambda: s.fetched(group, topic, stable=True)[1] != errors.UNSTABLE_OFFSET_COMMIT)
        s.tell("then", s.fetched(group, topic, stable=True), s.fetched(group, topic, 1))
    s.tell("added", s.add_offsets(name, pid, epoch, group))
    s.tell(
        "staged 20, plain 15",
        *s.txn_commit(name, group, pid, epoch, {(topic, 0): 20}),
        *s.commit(group, {(topic, 0): 15}),
    )
    s.tell("committed", s.end(name, pid, epoch, commit=True), s.ended(name))
    s.until("stability", lambda: s.fetched(group, topic, stable=True)[1] != errors.UNSTABLE_OFFSET_COMMIT)
    s.tell("the later one stays", s.fetched(group, topic))


def staging_as_a_member(s: Story) -> None:
    name, group, topic = s.name("x"), s.name("g"), s.topic("t")
    s.ready(0, group)
    s.ready(1, name)
    pid, epoch, _ = s.producer(name)
    s.tell("added", s.add_offsets(name, pid, epoch, group))
    where = {(topic, 0): 9}

    def staged(**who: Any) -> list[int]:
        return s.txn_commit(name, group, pid, epoch, where, **who)

    s.tell("absent group, generation 1", *staged(member_id="m", generation_id_or_member_epoch=1))
    member, generation = s.member_of(group)
    now = {"member_id": member, "generation_id_or_member_epoch": generation}
    s.tell("member", *staged(**now))
    s.tell("nobody", *staged())
    s.tell("stranger", *staged(**{**now, "member_id": "x"}))
    s.tell("old generation", *staged(**{**now, "generation_id_or_member_epoch": generation - 1}))
    s.tell("member without generation", *staged(member_id=member))
    s.tell("unknown instance", *staged(**now, group_instance_id="i"))
    s.wire.call("LeaveGroup", 3, group_id=group, members=[{"member_id": member}])
    first = s.join(group, group_instance_id="i").receive()
    second = s.join(group, group_instance_id="i").receive()
    s.tell("the double came", first.error_code, second.error_code)
    late = {"member_id": first.member_id, "generation_id_or_member_epoch": second.generation_id}
    s.tell("fenced instance", *staged(**late, group_instance_id="i"))
    s.tell("aborted", s.end(name, pid, epoch, commit=False), s.ended(name), s.fetched(group, topic))


def fencing(s: Story) -> None:
    name, group, topic = s.name("x"), s.name("g"), s.topic("t")
    s.ready(0, group)
    s.ready(1, name)
    pid, epoch, _ = s.producer(name)
    s.tell("open", *s.add(name, pid, epoch, topic, 0), s.produce(topic, name, pid, epoch)[0])
    ask = {"transactional_id": name, "transaction_timeout_ms": 60_000}
    s.tell("first ask of the new one", s.wire.call("InitProducerId", 4, **ask).error_code)
    new, higher, code = s.producer(name)
    s.tell("new", code, new == pid, higher > epoch + 1)
    s.tell("state", s.ended(name))
    s.tell("old: add, end, produce", *s.add(name, pid, epoch, topic, 0), s.end(name, pid, epoch, commit=True),
           s.produce(topic, name, pid, epoch, sequence=1)[0])  # fmt: skip
    s.tell(
        "old: offsets", s.add_offsets(name, pid, epoch, group), *s.txn_commit(name, group, pid, epoch, {(topic, 0): 1})
    )
    s.tell("old: go on", s.producer(name, producer_id=pid, producer_epoch=epoch)[2])
    s.tell("new: add, produce, end", *s.add(name, new, higher, topic, 0), s.produce(topic, name, new, higher),
           s.end(name, new, higher, commit=True))  # fmt: skip


def timing_out(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    pid, epoch, _ = s.producer(name, timeout_ms=500)
    s.tell("open", *s.add(name, pid, epoch, topic, 0), s.produce(topic, name, pid, epoch)[0])
    s.until("the time-out", lambda: s.ended(name) == "CompleteAbort")
    s.tell("end", s.end(name, pid, epoch, commit=True))
    s.tell("add", *s.add(name, pid, epoch, topic, 0))
    s.tell("produce", s.produce(topic, name, pid, epoch, sequence=1)[0])
    again = s.producer(name)
    s.tell("again", again[2], again[0] == pid, again[1] > epoch)


def listing(s: Story) -> None:
    name, other, topic = s.name("x"), s.name("y"), s.topic("t")
    s.ready(1, name)
    s.ready(1, other)
    pid, epoch, _ = s.producer(name)
    s.producer(other)
    s.add(name, pid, epoch, topic, 0)
    filters: list[dict[str, object]] = [
        {}, {"state_filters": ["Ongoing"]}, {"state_filters": ["Empty", "Nonsense"]}, {"state_filters": ["ongoing"]},
        {"producer_id_filters": [pid]}, {"producer_id_filters": [-5]}, {"duration_filter": 3_600_000},
        {"transactional_id_pattern": f"x-.*{s.run}"}, {"transactional_id_pattern": "x-"},
        {"transactional_id_pattern": "("}, {"transactional_id_pattern": ""},
    ]  # fmt: skip
    for f in filters:
        a = s.wire.call("ListTransactions", 2, **f)
        mine = sorted(
            (t.transactional_id, t.transaction_state) for t in a.transaction_states if s.run in t.transactional_id
        )
        shown = "a producer" if "producer_id_filters" in f else f
        s.tell(f"{shown}", a.error_code, *a.unknown_state_filters, *mine)
    s.tell("committed", s.end(name, pid, epoch, commit=True), s.ended(name))


def markers_from_elsewhere(s: Story) -> None:
    name, topic = s.name("x"), s.topic("t")
    s.ready(1, name)
    s.producer(name)
    pid, epoch, _ = s.producer(name)
    s.tell("open", *s.add(name, pid, epoch, topic, 0), s.produce(topic, name, pid, epoch)[0])
    marker = {"producer_id": pid, "producer_epoch": epoch, "transaction_result": False, "coordinator_epoch": 100}
    for change in ({"producer_epoch": epoch - 1}, {}, {"coordinator_epoch": 99}):
        topics = [{"name": topic, "partition_indexes": [0]}, {"name": s.name("absent"), "partition_indexes": [0]}]
        answer = s.wire.call("WriteTxnMarkers", 1, markers=[{**marker, **change, "topics": topics}])
        found = {t.name: t.partitions[0].error_code for t in answer.markers[0].topics}
        s.tell(f"marker {sorted(change)}", found[topic], found[s.name("absent")])


SCENARIOS: list[Scenario] = [
    ids_and_epochs, adding_partitions, ending, producing, staging_offsets, staging_as_a_member, fencing, timing_out,
    listing, markers_from_elsewhere,
]  # fmt: skip
