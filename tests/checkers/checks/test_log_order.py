"""log-order: how it is put into a legal history, examples."""

from tests.checkers.picks import plain
from tests.checkers.wounds import Expected, Wound


def inject_append_order(w: Wound) -> Expected:
    one = w.sent(where=plain)
    call = w.operation(one)
    w.change(call, call_ns=w.end, return_ns=w.end + 1)
    return w.told("log-order", one, PASSED_BEFORE_SENT, offset_b=one.offset)


PASSED_BEFORE_SENT = "append-order read-from-future"
"""The proof is whichever call told of the furthest end: an append or a read."""


def inject_read_from_future(w: Wound) -> Expected:
    one = w.sent(where=plain)
    w.see(one, call_ns=-2, return_ns=-1)
    return w.told("log-order", one, "read-from-future", offset_b=one.offset, op_b=one.op)


def inject_torn_batch(w: Wound) -> Expected:
    one = w.sent(where=plain)
    end, place = w.length("t", one.partition), {"topic": "t", "partition": one.partition}
    batch = w.op(kind="send", client=one.client, base_offset=end, count=3, **place)
    asked = w.op(kind="list_offsets", high_watermark=end + 2, **place)
    return w.told("log-order", one, "torn-batch", offset_a=end + 3, offset_b=end + 2, op_a=batch.op, op_b=asked.op)


def test_a_later_append_below_an_acknowledged_one(told):
    tale = told()
    first = tale.send(10, at=1)
    second = tale.send(11, at=0)
    found = tale.only("log-order")

    assert (found.name, found.operations) == ("append-order", (first, second))


def test_overlapping_appends_may_lie_either_way(told):
    tale = told()
    tale.send(10, at=1, call=0, ret=50)
    tale.send(11, at=0, call=40, ret=60)

    assert tale.anomalies("log-order") == []


def test_an_acknowledgement_by_one_of_three_does_not_bind(story):
    tale = story(nodes=3)
    tale.producer("p", acks=1, idempotence=False)
    tale.reader()
    tale.send(10, at=1)
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert tale.anomalies("log-order") == []


def test_a_record_read_before_it_was_sent(told):
    tale = told()
    poll = tale.read((0, 10))
    send = tale.send(10, at=0)
    found = tale.only("log-order")

    assert (found.name, found.operations) == ("read-from-future", (poll, send))


def test_an_unanswered_send_that_was_read_before_it_began(told):
    tale = told()
    tale.read((0, 10))
    tale.send(10, outcome="info", ret=None)

    assert tale.only("log-order").name == "read-from-future"


def test_an_unanswered_send_may_land_late(told):
    tale = told()
    tale.send(10, outcome="info", ret=None)
    tale.send(11, at=0)
    tale.read((0, 11), (1, 10))

    assert tale.anomalies("log-order") == []


def test_an_end_inside_a_batch(told):
    tale = told(nodes=1)
    tale.op("send", base_offset=0, count=3)
    tale.op("list_offsets", "r", high_watermark=2)

    assert tale.only("log-order").name == "torn-batch"


def test_a_high_watermark_beyond_a_later_append(told):
    tale = told()
    tale.op("fetch", "r", high_watermark=1)
    tale.send(10, at=0)

    assert tale.only("log-order").name == "read-from-future"
