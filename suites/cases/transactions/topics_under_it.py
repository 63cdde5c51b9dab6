"""Open transactions whose topic changes under them: records deleted, partitions added, codec and limits changed."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire import errors

TXN = {"InitProducerId": 0, "EndTxn": 0}
RECORDS = "responses[].partitions[].records"


@case(
    "transactions/records-deleted-under-it",
    guarantees=["txn-001", "txn-002", "txn-004", "adm-011"],
    apis={**TXN, "DeleteRecords": 0},
    needs=["partitions"],
    detects=["M17"],
)
def records_are_deleted_under_a_transaction(wire, topic_of, transactional_id):
    """Where DeleteRecords takes the beginning of an open transaction, what is left of it MUST be decided by its end,
    and nothing below the log start comes back: with a commit in one partition, with an abort in another.
    """
    topic = topic_of(partitions=2)
    producers = [wire.producer(transactional_id), wire.producer(wire.name("x"))]
    for partition, producer in enumerate(producers):
        wire.produce(topic, batch("before"), partition).must_be_at(0)
        producer.send(topic, "first", "second", partition=partition).must_be_at(1)
        producer.send(topic, "third", partition=partition).must_be_at(3)
        wire.produce(topic, batch("after"), partition).must_be_at(4)
        wire.delete_records(topic, partition, offset=2).must_succeed()
        held = wire.fetch(topic, partition, offset=2, isolation=COMMITTED)
        held.must(not held.values, f"{held.values} of an open transaction are given to a committed reader", RECORDS)
        producer.send(topic, "fourth", partition=partition).must_be_at(5)
    producers[0].commit().must_succeed()
    producers[1].abort().must_succeed()
    for partition, wanted in enumerate((["second", "third", "after", "fourth"], ["after"])):
        wire.await_settled(topic, partition)
        wire.list_offsets(topic, partition, at="earliest").must_name(offset=2)
        wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*wanted)
        wire.read_all(topic, partition).must_hold("second", "third", "after", "fourth")
        producers[partition].send(topic, "next", partition=partition).must_be_at(7)
        producers[partition].commit().must_succeed()
        wire.await_settled(topic, partition)
        wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*wanted, "next")


@case(
    "transactions/partitions-added-under-it",
    guarantees=["txn-001", "adm-007"],
    apis={**TXN, "CreatePartitions": 0},
    needs=["partitions"],
    detects=["M15b", edit_answer(RECORDS, set="", api="Fetch")],
)
def a_transaction_takes_in_partitions_that_are_made_under_it(wire, topic_of, transactional_id):
    """A partition that is made while a transaction is open MUST be as good as any for it: its end decides over the new
    one together with the old, once with an abort, once with a commit.
    """
    topic = topic_of()
    producer, held = wire.producer(transactional_id), {}
    for count, commit in ((2, False), (3, True)):
        for partition in range(count - 1):
            producer.send(topic, f"{count}", partition=partition).must_succeed()
        wire.create_partitions(topic, count).must_succeed()
        wire.eventually(lambda count=count: _has(wire, topic, count), within=20)
        wire.await_topic(topic)
        producer.send(topic, f"{count} new", partition=count - 1).must_be_at(0)
        (producer.commit() if commit else producer.abort()).must_succeed()
        for partition in range(count):
            if commit:
                held[partition] = [f"{count} new" if partition == count - 1 else f"{count}"]
            wire.await_settled(topic, partition)
            wire.read_all(topic, partition, isolation=COMMITTED).must_hold(*held.get(partition, []))


@case(
    "transactions/settings-changed-under-it",
    guarantees=["txn-001", "txn-002", "adm-010"],
    apis={**TXN, "IncrementalAlterConfigs": 0},
    needs=["topic-settings"],
    detects=["M15b", "M40a"],
)
def settings_change_under_a_transaction(wire, topic, transactional_id):
    """Where the topic's codec and its maximum batch size change while transactions are open, a batch that is too large
    MUST be refused and not belong to its transaction, and all others MUST be decided by the ends, whatever their codec.
    """
    producer, other = wire.producer(transactional_id), wire.producer(wire.name("x"))
    producer.send(topic, "a", "x" * 3_000, compression="gzip").must_be_at(0)
    other.send(topic, "b", compression="lz4").must_be_at(2)
    changes = [("compression.type", SET, "zstd"), ("max.message.bytes", SET, "1000")]
    wire.change_configs(TOPIC, topic, changes).must_succeed()
    large = batch("y" * 5_000)
    wire.eventually(lambda: wire.produce(topic, large).must_be_refused(errors.MESSAGE_TOO_LARGE), within=10)
    end = wire.log_end(topic)
    noise = bytes((n * n * 31 + n // 7) % 251 for n in range(5_000))
    producer.send(topic, noise, sequence=2).must_be_refused(errors.MESSAGE_TOO_LARGE)
    wire.list_offsets(topic).must_name(offset=end)
    producer.send(topic, "c", sequence=2).must_be_at(end)
    other.send(topic, "d").must_be_at(end + 1)
    other.abort().must_succeed()
    producer.commit().must_succeed()
    wire.await_settled(topic)
    log = wire.read_all(topic, isolation=COMMITTED)
    found = [value for value in log.values if value and value not in (b"y" * 5_000,)]
    wanted = [b"a", b"x" * 3_000, b"c"]
    log.must(found == wanted, f"the committed records begin {[one[:5] for one in found]}; they must be a, x.., c")


@case(
    "transactions/in-every-codec",
    guarantees=["txn-001", "txn-002", "prod-011"],
    apis=TXN,
    needs=["topic-settings"],
    detects=["M15b", edit_answer("responses[].partitions[].aborted_transactions", set=[], api="Fetch")],
)
def transactions_are_decided_in_every_codec(wire, topic_of, transactional_id):
    """Whatever codec its batches come in and the topic stores, a transaction MUST be decided by its end; its retried
    batch is a duplicate, and the marker stands behind it.
    """
    settings = ("producer", "gzip", "zstd", "uncompressed")
    topics = {setting: topic_of(what=setting, configs={"compression.type": setting}) for setting in settings}
    producer, kept = wire.producer(transactional_id), []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        for commit in (False, True):
            values = [f"{codec} {commit} {n}" for n in range(2)]
            for topic in topics.values():
                producer.send(topic, *values, compression=codec).must_succeed()
            (producer.commit() if commit else producer.abort()).must_succeed()
            kept += values if commit else []
    for setting, topic in topics.items():
        wire.await_settled(topic)
        with wire.part(setting):
            log = wire.read_all(topic, isolation=COMMITTED).must_hold(*kept)
            markers = [part.header.base_offset for part in log.batches if part.header.is_control]
            log.must(markers == list(range(2, 30, 3)), f"the markers are at {markers}; every third offset is one")


@case(
    "transactions/initialised-in-every-version",
    guarantees=["txn-007", "cli-005"],
    apis={"InitProducerId": 0, "EndTxn": 0},
    detects=["M13b", edit_answer("producer_epoch", set=0, api="InitProducerId", skip=1)],
)
def each_version_gives_the_next_epoch(wire, topic, transactional_id):
    """InitProducerId of one transactional id MUST return the same producer id and a higher epoch each time, in whatever
    version, MUST abort what is open, and MUST fence the epoch before.
    """
    versions = [version for version in wire.versions("InitProducerId") if version <= 5]
    last = wire.init_producer_id(transactional_id, version=versions[0])
    for version in [*versions[1:], *reversed(versions)]:
        who = (transactional_id, last.producer_id, last.epoch)
        wire.add_partitions(*who, [(topic, 0)]).must_succeed()
        made = batch(f"v{version}", producer_id=who[1], producer_epoch=who[2], base_sequence=0, transactional=True)
        wire.produce(topic, made, transactional_id=transactional_id, version=_add_first(wire)).must_succeed()
        asked = wire.init_producer_id(transactional_id, version=version)
        with wire.part(f"v{version}"):
            asked.must(asked.producer_id == who[1], f"the producer id is {asked.producer_id}; it was {who[1]}")
            asked.must(asked.epoch > who[2], f"the epoch is {asked.epoch}; it must be above {who[2]}", "producer_epoch")
        late = wire.end_txn(*who, commit=True, version=min(4, wire.versions("EndTxn")[-1]), retry=False)
        late.must_be_refused(errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH)
        last = asked
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold()


def _add_first(wire):
    """The newest Produce for partitions that were added by request."""
    return min(11, max(wire.versions("Produce"), default=11))


def _has(wire, topic, count):
    answer = wire.metadata(topic)
    found = sorted(row.partition_index for row in answer.struct.topics[0].partitions)
    return answer.must(found == list(range(count)), f"the partitions are {found}; they must be {count}", "topics")
