"""Several producers, batches of several records, partly valid requests: what a partition knows of each (KIP-98)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

IDS = {"InitProducerId": 0}
NOT_NEXT = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER)
WRITTEN = "responses[].partition_responses[].base_offset"


@case("idempotence/three-windows", guarantees=["idem-002", "idem-003"], apis=IDS, detects=["M10"])
def each_producer_has_a_window_of_its_own(wire, topic, rng):
    """Each of the five newest batches of every producer MUST be known to the partition, however many others write.

    Three producers take turns for six batches of two records; then the five newest of each come again, in any order.
    """
    producers = [wire.producer() for _ in range(3)]
    written: dict[tuple[int, int], tuple[bytes, int]] = {}
    for turn in range(6):
        for number, producer in enumerate(producers):
            made = producer.batch(f"{number}.{turn}", "and one more", sequence=2 * turn)
            offset = 2 * len(written)
            wire.produce(topic, made).must_be_at(offset)
            written[number, turn] = made, offset
    for place in rng.sample([place for place in written if place[1] >= 1], 15):
        made, offset = written[place]
        wire.produce(topic, made).must_be_at(offset)
    wire.list_offsets(topic).must_name(offset=36)
    for number, producer in enumerate(producers):
        wire.produce(topic, producer.batch("next", sequence=12)).must_be_at(36 + number)


@case(
    "idempotence/parts-of-a-batch",
    guarantees=["idem-002", "idem-005"],
    apis=IDS,
    detects=["Q04"],
)
def only_the_whole_batch_is_a_duplicate(wire, topic):
    """A batch is a duplicate only with the first and the last sequence of the one before: one that overlaps it MUST NOT
    be acknowledged nor appended, and the sequence goes on behind the last record that was written.
    """
    producer = wire.producer()
    whole = producer.batch("a", "b", "c", sequence=0)
    wire.produce(topic, whole).must_be_at(0)
    for name, values, sequence in (
        ("its beginning", ["a", "b"], 0),
        ("its end", ["b", "c"], 1),
        ("it and more", ["a", "b", "c", "d"], 0),
        ("past its end", ["c", "d"], 2),
    ):
        with wire.part(name):
            wire.produce(topic, producer.batch(*values, sequence=sequence)).must_be_refused(*NOT_NEXT)
    wire.list_offsets(topic).must_name(offset=3)
    wire.produce(topic, whole).must_be_at(0)
    wire.produce(topic, producer.batch("d", sequence=3)).must_be_at(3)
    wire.read_all(topic).must_hold("a", "b", "c", "d")


@case(
    "idempotence/three-fates-in-a-request",
    guarantees=["idem-002", "idem-005", "idem-015"],
    apis=IDS,
    needs=["partitions"],
    detects=["M10b", "M12", edit_answer(WRITTEN, add=1, api="Produce", skip=2)],
)
def a_duplicate_a_gap_and_a_new_batch_in_one_request(wire, topic_of):
    """Where one request brings a duplicate to one partition, a gap to another and the next batch to a third, each MUST
    have its own answer: the offset first given, 45, and the end of the log; and only the third is written.
    """
    topic = topic_of(partitions=12)
    again, gap, new = wire.led_together(topic, 3)
    producer = wire.producer()
    first = producer.batch("first", sequence=0)
    for partition in (again, gap, new):
        wire.produce(topic, batch("before", "before"), partition)
        wire.produce(topic, first, partition).must_be_at(2)

    answer = wire.produce_all(
        {
            (topic, again): first,
            (topic, gap): producer.batch("too early", sequence=2),
            (topic, new): producer.batch("second", sequence=1),
        }
    )
    answer.of(topic, again).must_be_at(2)
    answer.of(topic, gap).must_be_refused(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    answer.of(topic, new).must_be_at(3)
    wire.read_all(topic, again).must_hold("before", "before", "first")
    wire.read_all(topic, gap).must_hold("before", "before", "first")
    wire.read_all(topic, new).must_hold("before", "before", "first", "second")
    for partition in (again, gap):
        wire.produce(topic, producer.batch("second", sequence=1), partition).must_be_at(3)


@case("idempotence/damaged-then-whole", guarantees=["idem-005", "idem-015"], apis=IDS, detects=["M12"])
def a_refused_batch_uses_up_no_sequence(wire, topic):
    """A batch that was refused for its content MUST NOT use up its sequence: sent again whole it MUST be appended, not
    taken for a duplicate, and what comes after it MUST be refused until then.
    """
    producer = wire.producer()
    producer.send(topic, "a").must_be_at(0)
    damaged = producer.batch("b", sequence=1, crc=7)
    wire.produce(topic, damaged).must_be_refused(errors.CORRUPT_MESSAGE)
    wire.produce(topic, producer.batch("c", sequence=2)).must_be_refused(*NOT_NEXT)
    wire.produce(topic, producer.batch("b", sequence=1)).must_be_at(1)
    wire.produce(topic, producer.batch("c", sequence=2)).must_be_at(2)
    wire.read_all(topic).must_hold("a", "b", "c")


@case(
    "idempotence/described-in-part",
    guarantees=["txn-026", "idem-015"],
    apis={**IDS, "DescribeProducers": 0, "AddPartitionsToTxn": 0},
    needs=["partitions"],
    detects=["S10"],
)
def each_partition_returns_its_own_producers(wire, topic_of, transactional_id):
    """One DescribeProducers MUST return for each named partition its own producers, each once with the epoch, the last
    sequence and the open transaction that it has there; none for a partition without records, and
    UNKNOWN_TOPIC_OR_PARTITION (3) for one that does not exist.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    here = wire.led_together(topic, 3)
    one, two, running = wire.producer(), wire.producer(), wire.producer(transactional_id)
    began = wire.now_ms()
    for partition, batches in ((here[0], 2), (here[1], 3)):
        for number in range(batches):
            one.send(topic, f"{number}", "and one more", partition=partition)
    two.send(topic, "a", partition=here[1])
    open_at = running.send(topic, "open", partition=here[1]).offset
    wire.produce(topic, one.batch("raised", sequence=0, epoch=one.epoch + 1), here[0])
    wanted = {
        here[0]: {one.id: (one.epoch + 1, 0, -1)},
        here[1]: {one.id: (one.epoch, 5, -1), two.id: (two.epoch, 0, -1), running.id: (running.epoch, 0, open_at)},
        here[2]: {},
    }
    absent = 4 * len(wire.nodes)
    rows = [{"name": topic, "partition_indexes": [here[1], absent, here[2], here[0]]}]
    answer = wire.ask(request("DescribeProducers", topics=rows), to=lambda: wire.leader(topic, here[0]))
    partitions = {row.partition_index: row for row in answer.struct.topics[0].partitions}
    codes = {index: row.error_code for index, row in partitions.items()}
    must = dict.fromkeys(wanted, 0) | {absent: errors.UNKNOWN_TOPIC_OR_PARTITION}
    answer.must(codes == must, f"the error codes are {codes}; they must be {must}", "topics")
    for index, producers in wanted.items():
        found = {
            row.producer_id: (row.producer_epoch, row.last_sequence, row.current_txn_start_offset)
            for row in partitions[index].active_producers
        }
        answer.must(found == producers, f"partition {index} returns {found}; it must be {producers}", "topics")
        late = [row.last_timestamp for row in partitions[index].active_producers if row.last_timestamp < began]
        answer.must(not late, f"the last times are {late}; the records have {began} and later", "topics")
    running.abort().must_succeed()
