"""What is committed once a follower is gone: what all have who are left, though nothing more is written."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import batch

ALONE = {"min.insync.replicas": "1"}
PATIENT_MS = 60_000


@case(
    "replication/committed-by-who-is-left",
    guarantees=["repl-004", "repl-010", "prod-010"],
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    apis={"CreateTopics": 0},
    detects=["Z19"],
)
def what_the_rest_has_is_committed(wire, nodes):
    """Once a dead follower is out of the in-sync replicas, a record that all others have MUST be committed: a Produce
    with acks=all that was waiting for the follower MUST be acknowledged, and consumers MUST be given what was written
    with acks=1, though nothing more is written and no other follower fetches.

    Two topics with two replicas each. The follower of both dies before the record is written.
    """
    leader, follower, *_ = wire.nodes
    awaited, written = (placed(wire, what, [leader, follower], **ALONE) for what in ("awaited", "written"))
    for topic in (awaited, written):
        all_in_sync(wire, topic)
        wire.produce(topic, batch("both"), to=leader).must_be_at(0)
    nodes.kill(follower)
    waiting = wire.produce(
        awaited, batch("alone"), timeout_ms=PATIENT_MS, to=leader, via="waiting", wait=False, retry=False
    )
    wire.produce(written, batch("alone"), acks=1, to=leader).must_be_at(1)
    for topic in (awaited, written):
        wire.until(
            lambda topic=topic: partition(wire, topic).isr_nodes == [leader],
            within=WITHIN_S,
            what=f"node {leader} is the only replica of {topic} in sync",
        )
    code, took_s = waiting.error, waiting.took_ms / 1000
    waiting.must(not code, f"the Produce that waited for the follower got error {code} after {took_s:.0f} s")
    wire.eventually(lambda: wire.fetch(written, offset=1, to=leader).must_hold("alone"), within=WITHIN_S)

    nodes.start(follower)
    for topic in (awaited, written):
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        wire.read_all(topic).must_hold("both", "alone")
