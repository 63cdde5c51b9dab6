"""What a Produce answer says besides the offset: the broker's time and where the log starts."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch


@case(
    "produce/log-append-time",
    guarantee="prod-017",
    needs=["topic-settings"],
    detects=["M39e", edit_answer("responses[].partition_responses[].log_append_time_ms", set=5, api="Produce")],
)
def the_answer_names_the_brokers_time(wire, topic_of):
    """A Produce answer MUST name the broker's time where that is what is stored, and -1 where the producer's is."""
    own = topic_of(what="own", configs={"message.timestamp.type": "CreateTime"})
    theirs = topic_of(what="theirs", configs={"message.timestamp.type": "LogAppendTime"})
    sent = batch("a", timestamp=wire.now_ms())
    for version in sorted({wire.versions("Produce")[0], wire.versions("Produce")[-1]}):
        answer = wire.produce(own, sent, version=version)
        answer.must(answer.log_append_time == -1, "the producer's time counts; the answer must say -1", answer.row)
        answer = wire.produce(theirs, sent, version=version)
        answer.must(answer.log_append_time > 0, "the broker's time counts; the answer must name it", answer.row)
        stored = wire.fetch(theirs, offset=answer.offset).records[-1].timestamp
        answer.must(
            answer.log_append_time == stored,
            f"the answer names {answer.log_append_time}, stored is {stored}",
            f"{answer.row}.log_append_time_ms",
        )


@case(
    "produce/log-start-in-the-answer",
    guarantee="prod-017",
    apis={"Produce": 5, "DeleteRecords": 0},
    detects=["M40h"],
)
def the_answer_names_the_log_start(wire, topic):
    """A Produce answer MUST name the first offset that is still there (from version 5 on)."""
    first = wire.produce(topic, batch("a", "b", "c"))
    first.must(first.log_start_offset == 0, f"nothing was deleted, and the log starts at {first.log_start_offset}")
    wire.delete_records(topic, offset=2).must_succeed()
    later = wire.produce(topic, batch("d")).must_be_at(3)
    later.must(
        later.log_start_offset == 2,
        f"records below 2 were deleted, and the log starts at {later.log_start_offset}",
        f"{later.row}.log_start_offset",
    )
