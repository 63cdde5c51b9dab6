"""A client that has several requests under way and is late to read the answers: none of them is forgotten."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}
BATCHES, BATCH_BYTES, MUCH = 14, 900_000, 1 << 26
"""An answer of more bytes than the buffers of a connection hold."""
LATE_S, BEHIND = 1.0, 4


@case("protocol/answered-behind-a-large-answer", guarantees=["prot-008", "prot-007"], detects=["B52"])
def what_is_asked_behind_a_large_answer_is_answered(wire, topic):
    """Requests MUST be answered in their order also where the client reads late an answer that fills the buffers of the
    connection, and sends nothing more until it has all of them.
    """
    for number in range(BATCHES):
        wire.produce(topic, batch(b"x" * BATCH_BYTES), acks=1).must_be_at(number)
    wire.until(lambda: wire.log_end(topic) == BATCHES, within=20, what=f"{BATCHES} records are committed")
    node, limits = wire.leader(topic), {"max_bytes": MUCH, "partition_max_bytes": MUCH}
    large = wire.fetch(topic, to=node, via="late", wait=False, **limits)
    quick = [
        wire.ask(request("ApiVersions", **SOFTWARE), version=0, to=node, via="late", wait=False) for _ in range(BEHIND)
    ]
    wire.rest(LATE_S)
    found = [record.offset for record in large.must_succeed().records]
    large.must(found[:1] == [0] and found == [*range(len(found))], f"the offsets are {found}; they must begin at 0")
    for answer in quick:
        answer.must_succeed()
    if len(found) < BATCHES:
        wire.unclear(f"the answer has {len(found)} of {BATCHES} records: it may not have filled the buffers")
