"""A leader of an unclean election, and the former one after it: what is committed by then is less than it was."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

UNCLEAN = 1


@case(
    "replication/committed-again-after-an-unclean-election",
    guarantees=["repl-006", "repl-009", "repl-004"],
    needs=["three-nodes", "leaders", "topic-settings", "kill", "terminate", "restart"],
    apis={"CreateTopics": 5, "ElectLeaders": 1},
    detects=["B31"],
)
def what_was_given_up_is_not_committed_any_more(wire, nodes, rng):
    """When a former leader has given up what an unclean election had lost, and leads again, the end of the log MUST be
    that of what is left and written since: in ListOffsets, as the high watermark of Fetch, and for acks=all, though it
    knew of more to be committed when it was stopped in good order.
    """
    one, other = rng.sample(wire.nodes, 2)
    topic = placed(wire, "t", [one, other], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    values = [f"both {number}" for number in range(rng.randint(1, 4))]
    for number, value in enumerate(values):
        wire.produce(topic, batch(value)).must_be_at(number)
    nodes.kill(other)
    wire.until(lambda: other not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{other} is out of sync")
    for number in range(len(values), len(values) + rng.randint(5, 9)):
        wire.produce(topic, batch(f"lost {number}"), acks=1).must_be_at(number)
    nodes.terminate(one)
    nodes.start(other)
    wire.until(lambda: is_elected(wire, topic, other), within=WITHIN_S, what=f"node {other} leads")
    nodes.start(one)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.until(lambda: leads_again(wire, topic, one), within=WITHIN_S, what=f"node {one} leads again")
    wire.refresh_metadata(topic)
    wire.list_offsets(topic).must_name(offset=len(values))
    seen = wire.fetch(topic, offset=len(values)).must_succeed()
    mark = seen.high_watermark
    seen.must(mark == len(values) and not seen.records, f"the high watermark is {mark}; the log ends at {len(values)}")
    wire.produce(topic, batch("last")).must_be_at(len(values))
    wire.list_offsets(topic).must_name(offset=len(values) + 1)
    wire.read_all(topic).must_hold(*values, "last")


def is_elected(wire, topic, node):
    """Asks for an unclean election, and whether the node leads."""
    rows = [{"topic": topic, "partitions": [0]}]
    asked = request("ElectLeaders", election_type=UNCLEAN, topic_partitions=rows, timeout_ms=10_000)
    answer = wire.ask(asked, to=wire.controller)
    return answer.error in (errors.NONE, errors.ELECTION_NOT_NEEDED) and partition(wire, topic).leader_id == node
