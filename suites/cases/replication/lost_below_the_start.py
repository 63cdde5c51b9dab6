"""Records are deleted beyond what an unclean election brings back: the log begins where the new leader's ends."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.cases.replication.unclean_and_back import is_elected
from brokertrial.suites.probe import batch


@case(
    "replication/begins-where-it-was-cut",
    guarantees=["repl-006", "repl-009", "ord-006", "fetch-015"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"CreateTopics": 5, "ElectLeaders": 1, "DeleteRecords": 0},
    detects=["B38"],
)
def what_comes_after_the_loss_can_be_read(wire, nodes, rng):
    """When a former leader, whose log began behind what an unclean election left, follows, what was acknowledged since
    MUST be read from it when it leads again: its log begins no later than it ends (KAFKA-463).

    Records are deleted up to within those that are lost; the follower was down when they were written.
    """
    one, other = rng.sample(wire.nodes, 2)
    topic = placed(wire, "t", [one, other], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    values = [f"both {number}" for number in range(rng.randint(1, 4))]
    for number, value in enumerate(values):
        wire.produce(topic, batch(value)).must_be_at(number)
    nodes.kill(other)
    wire.until(lambda: other not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{other} is out of sync")
    end = len(values) + rng.randint(5, 9)
    for number in range(len(values), end):
        wire.produce(topic, batch(f"lost {number}"), acks=1).must_be_at(number)
    wire.until(lambda: wire.log_end(topic) == end, within=WITHIN_S, what=f"all up to {end} is committed")
    wire.delete_records(topic, offset=rng.randint(len(values) + 2, end)).must_succeed()
    nodes.terminate(one)
    nodes.start(other)
    wire.until(lambda: is_elected(wire, topic, other), within=WITHIN_S, what=f"node {other} leads")
    nodes.start(one)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.refresh_metadata(topic)
    start = wire.log_start(topic)
    for number in range(2):
        wire.produce(topic, batch(f"since {number}")).must_be_at(len(values) + number)
    wire.until(lambda: leads_again(wire, topic, one), within=WITHIN_S, what=f"node {one} leads again")
    wire.refresh_metadata(topic)
    wire.list_offsets(topic).must_name(offset=len(values) + 2)
    first = wire.list_offsets(topic, at="earliest").offset
    wire.must(
        start <= first <= len(values),
        f"the log of node {one} begins at {first}; that of node {other} at {start}, and it was cut at {len(values)}",
    )
    log = wire.read_all(topic)
    log.must_have_offsets(range(first, len(values) + 2)).must_hold(*[*values, "since 0", "since 1"][first:])
