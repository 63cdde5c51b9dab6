"""Which record of a batch was the wrong one (KIP-467)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record


@case(
    "records/the-wrong-one-is-named",
    guarantee="rec-009",
    apis={"Produce": 8},
    needs=["topic-settings"],
    detects=["M36d"],
)
def a_refusal_names_the_record(wire, topic_of):
    """A Produce that is refused for some records SHOULD name them and say why (from version 8 on), and drop the batch.

    A compacted topic takes no record without a key.
    """
    topic = topic_of(configs={"cleanup.policy": "compact"})
    records = [Record(key, b"v") for key in (b"a", None, b"c", None)]
    answer = wire.produce(topic, batch(records=records)).must_be_refused(errors.INVALID_RECORD)
    named = {row.batch_index: row.batch_index_error_message for row in answer.at(f"{answer.row}.record_errors")}
    path = f"{answer.row}.record_errors"
    answer.must(set(named) <= {1, 3} and 1 in named, f"records 1 and 3 are wrong, and it names {sorted(named)}", path)
    answer.must(any(named.values()) or bool(answer.at(f"{answer.row}.error_message")), "it does not say why", path)
    wire.produce(topic, batch(records=[Record(b"a", b"v")])).must_be_at(0)
    wire.read_all(topic).must_have_offsets([0])


@case(
    "records/a-wrong-time-is-named",
    guarantee="rec-009",
    apis={"Produce": 8},
    needs=["topic-settings"],
    since="3.6 (KIP-937)",
    detects=[edit_answer("responses[].partition_responses[].record_errors[0].batch_index", add=1, api="Produce")],
)
def a_refusal_names_the_record_with_the_wrong_time(wire, topic_of):
    """A Produce that is refused for the time of a record SHOULD name that record, not its neighbours."""
    day = 86_400_000
    topic = topic_of(configs={"message.timestamp.before.max.ms": str(day), "message.timestamp.type": "CreateTime"})
    now = wire.now_ms()
    answer = wire.produce(topic, batch(at=[now, now, now - 3 * day, now])).must_be_refused(errors.INVALID_TIMESTAMP)
    named = [row.batch_index for row in answer.at(f"{answer.row}.record_errors")]
    answer.must(named == [2], f"record 2 has the wrong time, and it names {named}", f"{answer.row}.record_errors")
    wire.list_offsets(topic, at="latest").must_name(offset=0)
