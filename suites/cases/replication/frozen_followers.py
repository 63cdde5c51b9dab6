"""A leader whose followers are paused: what it alone has is not committed, and it must not acknowledge it.

Of two records that come after the freeze the first may still have been on its way to a follower; the second is on the
leader alone, and stays there: too few replicas are left to do without those that are frozen.
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, frozen, replicated, roles, thawed
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

NEEDS = ("three-nodes", "leaders", "pause", "topic-settings")
SOON_MS = 1_000
"""Less than it takes until a node that stands still is no broker any more."""
PARTLY = (errors.REQUEST_TIMED_OUT, errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


@case("replication/seen-when-replicated", guarantees=["repl-004", "fetch-001"], needs=NEEDS, detects=["M04", "Z21"])
def what_followers_lack_is_not_given_out(wire, nodes):
    """A record MUST NOT be returned to consumers before all in-sync replicas have it, and a consumer that waits for it
    there MUST get no error; behind the end of the log the offset is out of range (1).

    Both followers are paused, and two records are written with acks=1.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    wire.produce(topic, batch("all"), to=leader).must_be_at(0)
    wire.fetch(topic, to=leader).must_succeed()
    frozen(nodes, followers)
    wire.produce(topic, batch("on its way"), acks=1, to=leader).must_be_at(1)
    wire.produce(topic, batch("alone"), acks=1, to=leader).must_be_at(2)

    for offset in (1, 2, 3):
        seen = wire.fetch(topic, offset=offset, to=leader, max_wait_ms=300, min_bytes=100_000)
        seen.must(not seen.error, f"a consumer that waits at offset {offset} gets error {seen.error}")
        mark = seen.high_watermark
        seen.must(2 not in seen.offsets, "a consumer is given offset 2, which no follower has")
        seen.must(mark <= 2, f"the high watermark is {mark}, and no follower has offset 2")
    wire.fetch(topic, offset=4, to=leader).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    thawed(wire, nodes, topic, followers)
    log = wire.read_all(topic)
    log.must(log.values[0] == b"all", f"the log holds {log.values}; the first record was committed")


@case(
    "replication/not-acknowledged-alone",
    guarantees=["repl-010", "prod-010"],
    needs=NEEDS,
    detects=["M34b"],
)
def a_leader_without_followers_acknowledges_nothing(wire, nodes):
    """While no follower gets it, a record MUST NOT be acknowledged to a producer that asked for acks=all: the answer
    is a time-out (7), or that there are too few replicas (19, 20).
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    wire.produce(topic, batch("all"), to=leader).must_be_at(0)
    frozen(nodes, followers)
    wire.produce(topic, batch("on its way"), acks=1, to=leader).must_be_at(1)
    wire.produce(topic, batch("alone"), to=leader, timeout_ms=1_000).must_be_refused(*PARTLY)

    thawed(wire, nodes, topic, followers)
    wire.until(lambda: not wire.produce(topic, batch("again")).error, within=60, what="acks=all works again")
    log = wire.read_all(topic)
    log.must(log.values[0] == b"all" and log.values[-1] == b"again", f"the log holds {log.values}")


@case(
    "replication/deleted-where-all-have-deleted",
    guarantees=["adm-011"],
    needs=NEEDS,
    apis={"DeleteRecords": 0},
    detects=["Z12"],
)
def what_a_follower_still_has_is_not_deleted(wire, nodes):
    """DeleteRecords MUST NOT succeed before each live replica has deleted: while a follower is paused the answer MUST
    be a time-out (7), and once it resumes it MUST be the requested low watermark.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, followers = roles(wire, topic)
    for number in range(5):
        wire.produce(topic, batch(f"{number}"), to=leader).must_be_at(number)
    frozen(nodes, followers[:1])
    answer = wire.delete_records(topic, offset=3, timeout_ms=SOON_MS, retry=False)
    if not answer.error and followers[0] not in [row.node_id for row in wire.metadata(to=leader).struct.brokers]:
        wire.not_applicable(f"a node that stood still for {SOON_MS} ms is a broker no more")
    answer.must_be_refused(errors.REQUEST_TIMED_OUT)

    thawed(wire, nodes, topic, followers[:1])
    wire.delete_records(topic, offset=3).must_have("topics[0].partitions[0].low_watermark", 3)
    wire.list_offsets(topic, at="earliest").must_name(offset=3)
