"""Offsets that hold nothing for the reader: transaction markers and aborted records."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

TXN_APIS = {"InitProducerId": 0, "EndTxn": 0}


@case(
    "fetch/over-markers",
    guarantee="fetch-013",
    apis=TXN_APIS,
    smoke=True,
    detects=[edit_answer("responses[].partitions[].records", set="", api="Fetch", skip=4)],
)
def a_reader_never_sticks_at_markers_and_aborted_records(wire, topic, transactional_id):
    """A fetch at an offset that holds a marker or an aborted record MUST give a batch that moves the reader on.

    Two aborted records and their marker, a committed one and its marker: a fetch from each of these offsets.
    """
    producer = wire.producer(transactional_id)
    producer.send(topic, "no", "nor this")
    producer.abort().must_succeed()
    wire.until(lambda: stable(wire, topic) >= 3, within=20, what="the abort is in the log")
    producer.send(topic, "yes")
    producer.commit().must_succeed()
    wire.until(lambda: stable(wire, topic) >= 5, within=20, what="the commit is in the log")

    for isolation in ("uncommitted", COMMITTED):
        at = [wire.fetch(topic, offset=n, isolation=isolation, wait=False) for n in range(5)]
        for offset, answer in enumerate(at):
            ends = [part.header.last_offset for part in answer.batches]
            answer.must(
                max(ends, default=-1) >= offset,
                f"a reader at offset {offset} is given batches that end at {ends}: it never gets further",
                "responses[0].partitions[0].records",
            )
    wire.read_all(topic, isolation=COMMITTED).must_hold("yes")


def stable(wire, topic):
    return wire.log_end(topic, isolation=COMMITTED)
