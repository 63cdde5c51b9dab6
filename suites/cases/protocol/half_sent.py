"""Requests that are broken off where the bytes of requests are bounded (queued.max.request.bytes, KIP-72)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

CHOSEN = {"socket.request.max.bytes": "1500000", "queued.max.request.bytes": "2000000"}
SIZE, SENT, BROKEN_OFF = 900_000, 200_000, 15


@case(
    "protocol/half-sent-takes-no-room",
    guarantee="prot-014",
    needs=["chosen-settings", "started", "terminate", "restart"],
    apis={"Produce": 3},
    detects=["B359"],
)
def what_was_half_sent_is_forgotten(wire, topic, nodes):
    """What a client had half sent when it hung up MUST NOT take room from others: where brokers bound the bytes of
    requests, one of 900 kB MUST be taken, however many were broken off before, and those MUST have no effect.

    Fifteen times 200 kB of a Produce of 900 kB, one after the other; the brokers have room for 2 MB.
    """
    nodes.start_with(CHOSEN)
    wire.await_topic(topic)
    node, version = wire.leader(topic), min(wire.versions("Produce")[-1], 12)
    rows = [{"name": topic, "partition_data": [{"index": 0, "records": batch("x" * SIZE)}]}]
    frame = wire.frame(request("Produce", acks=-1, timeout_ms=10_000, topic_data=rows), version)
    for number in range(BROKEN_OFF):
        line = wire.connect(f"lost {number}", node)
        line.send_bytes(frame[:SENT])
        line.close()
    for number in range(2):
        wire.produce(topic, batch("y" * SIZE), via="whole").must_be_at(number)
    wire.read_all(topic).must_hold("y" * SIZE, "y" * SIZE)
