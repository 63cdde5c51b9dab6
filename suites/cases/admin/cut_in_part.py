"""DeleteRecords of several partitions: each is answered separately."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request


@case(
    "admin/delete-records-in-part",
    guarantee="adm-011",
    apis={"DeleteRecords": 0},
    needs=["partitions"],
    detects=["M40h", edit_answer("topics[].partitions[].error_code", set=0, api="DeleteRecords")],
)
def each_partition_of_a_deletion_is_cut_for_itself(wire, topic_of):
    """Each partition that one DeleteRecords names MUST be cut at its own offset and answered with its own log start;
    one beyond its high watermark is refused alone (1), and one that is not named stays whole.
    """
    topic = topic_of(partitions=4 * len(wire.nodes))
    places = wire.led_together(topic, 4)
    for number, partition in enumerate(places):
        for value in range(3 + number):
            wire.produce(topic, batch(f"{number}.{value}"), partition).must_be_at(value)
    one, two, three, four = places
    rows = [{"partition_index": index, "offset": offset} for index, offset in ((three, -1), (one, 2), (two, 9))]
    asked = request("DeleteRecords", timeout_ms=20_000, topics=[{"name": topic, "partitions": rows}])
    answer = wire.ask(asked, to=wire.leader(topic, one), may_take_s=20)
    refused = (errors.OFFSET_OUT_OF_RANGE, "-")  # no text promises a log start beside an error code
    results = {
        row.partition_index: (row.error_code, "-" if row.error_code else row.low_watermark)
        for row in answer.struct.topics[0].partitions
    }
    wanted = {one: (0, 2), two: refused, three: (0, 5)}
    answer.must(
        results == wanted, f"(error, log start) of the partitions are {results}; they must be {wanted}", "topics"
    )
    for partition, values in ((one, ["0.2"]), (two, [f"1.{n}" for n in range(4)]), (three, [])):
        wire.read_all(topic, partition).must_hold(*values)
    wire.read_all(topic, four).must_hold(*(f"3.{n}" for n in range(6)))
    wire.produce(topic, batch("next"), three).must_be_at(5)
