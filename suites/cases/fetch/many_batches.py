"""Fetch in a log of many small batches, segments and index entries: each offset is found, each limit held."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch

HOUR_MS = 3_600_000
SMALL = {"segment.ms": "60000", "index.interval.bytes": "1", "retention.ms": "-1"}
RECORDS = "responses[].partitions[].records"


@case(
    "fetch/any-offset-of-many-batches",
    guarantees=["fetch-003", "fetch-015", "fetch-006"],
    apis={"DeleteRecords": 0},
    needs=["topic-settings"],
    detects=["M37b", edit_answer(RECORDS, set="", api="Fetch", skip=3)],
)
def each_offset_of_a_long_log_is_found(wire, topic_of, rng):
    """A fetch at any offset of a log of many batches and segments MUST begin with the batch that holds the offset, also
    when it may take that batch alone, and behind a log start that was moved; the whole MUST be read without a gap.

    200 batches of one to five records in eight segments.
    """
    topic = topic_of(configs=SMALL)
    begin = wire.now_ms() - 20 * HOUR_MS
    holder: list[tuple[int, int]] = []
    answers = []
    for number in range(200):
        count, at = rng.randint(1, 5), begin + (number // 25) * HOUR_MS + number
        answers.append((len(holder), wire.produce(topic, batch(at=[at] * count), wait=False)))
        holder += [(len(holder), len(holder) + count - 1)] * count
    for offset, answer in answers:
        answer.must_be_at(offset)

    _must_begin_rightly(wire, topic, holder, rng.sample(range(len(holder)), 80))
    start = len(holder) // 2
    wire.delete_records(topic, offset=start).must_succeed()
    _must_begin_rightly(wire, topic, holder, [start, *rng.sample(range(start, len(holder)), 20)])
    wire.read_all(topic).must_have_offsets(range(start, len(holder)))


@case(
    "fetch/limits-in-the-middle",
    guarantees=["fetch-006", "fetch-007", "fetch-015"],
    needs=["partitions"],
    detects=["M37c", edit_answer(RECORDS, set="", api="Fetch", skip=1)],
)
def every_limit_gives_the_same_log(wire, topic_of):
    """Whatever the limits of its fetches, a reader that follows positions MUST be given each record once and in order:
    with limits of less than a batch, of one and a half, of three, and of the whole log.
    """
    topic = topic_of()
    made = batch("x" * 300, "y" * 300)
    for pending in [wire.produce(topic, made, wait=False) for _ in range(12)]:
        pending.must_succeed()
    for limit in (1, len(made) * 3 // 2, 3 * len(made), 1 << 20):
        for name in ("max_bytes", "partition_max_bytes"):
            with wire.part(f"{name}={limit}"):
                position, seen = 0, []
                while position < 24:
                    answer = wire.fetch(topic, offset=position, **{name: limit})
                    offsets = [offset for offset in answer.offsets if offset >= position]
                    answer.must(bool(offsets), f"at offset {position} of 24 a reader is given nothing", RECORDS)
                    seen += offsets
                    position = seen[-1] + 1
                answer.must(seen == list(range(24)), f"the offsets read are {seen}; they must be 0 to 23", RECORDS)  # type: ignore[possibly-undefined]


@case(
    "fetch/both-isolations-at-each-offset",
    guarantees=["txn-002", "txn-003", "fetch-013"],
    apis={"InitProducerId": 0, "EndTxn": 0, "Fetch": 4},
    needs=["topic-settings"],
    detects=["M16", edit_answer("responses[].partitions[].aborted_transactions", set=[], api="Fetch")],
)
def transactions_are_distinguished_from_each_offset(wire, topic_of, rng):
    """From whatever offset a read_committed consumer begins, it MUST be given the records of committed transactions
    behind it and none of the aborted: of four producers with interleaved transactions, over several segments.

    What each step does is drawn: a batch of one of the four, its commit or its abort, or a new segment.
    """
    topic = topic_of(configs={**SMALL, "message.timestamp.after.max.ms": str(1_000 * HOUR_MS)})
    producers = [wire.producer(wire.name(f"x{number}")) for number in range(4)]
    begin = wire.now_ms()  # markers have the broker's time, and must not begin a segment
    open_values: list[list[str]] = [[] for _ in producers]
    kept, hour = set(), 0  # type: ignore[var-annotated]
    for turn in range(60):
        number = rng.randrange(4)
        hour += rng.random() < 0.15
        if open_values[number] and rng.random() < 0.35:
            _ended(producers[number], open_values[number], kept, rng.random() < 0.5)
            continue
        open_values[number].append(f"{number}.{turn}")
        producers[number].send(topic, f"{number}.{turn}", timestamp=begin + hour * HOUR_MS).must_succeed()
    for number, producer in enumerate(producers):
        if open_values[number]:
            _ended(producer, open_values[number], kept, number % 2 == 0)
    wire.await_settled(topic)

    everything = wire.read_all(topic)
    wanted = [(record.offset, record.value) for record in everything.records if record.value.decode() in kept]
    end = wire.log_end(topic)
    for offset in sorted({0, end - 1, *rng.sample(range(end), 25)}):
        log = wire.read_all(topic, offset=offset, isolation=COMMITTED)
        found = [(record.offset, record.value) for record in log.records]
        must = [one for one in wanted if one[0] >= offset]
        log.must(found == must, f"from offset {offset} on come {found}; it must be {must}")


def _ended(producer, values, kept, commit):
    if commit:
        kept.update(values)
    (producer.commit() if commit else producer.abort()).must_succeed()
    values.clear()


def _must_begin_rightly(wire, topic, holder, offsets):
    answers = [(at, wire.fetch(topic, offset=at, partition_max_bytes=1, wait=False)) for at in offsets]
    for at, answer in answers:
        found = [(part.header.base_offset, part.header.last_offset) for part in answer.batches]
        answer.must(
            found[:1] == [holder[at]], f"a fetch at {at} begins with {found[:1]}; it must be {holder[at]}", RECORDS
        )
