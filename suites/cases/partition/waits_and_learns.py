"""Who leads instead, as producers learn it whose batch waited for its followers when another was elected (KIP-951)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, shown_by, take_over
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

NAMED_SINCE, BY_ID, LONG_MS = 10, 13, 60_000
ALONE, NO_LEADER = {"min.insync.replicas": "1"}, (-1, -1)


@case(
    "partition/waiting-producers-learn-who-leads",
    guarantees=["repl-018", "prod-009"],
    needs=NEEDS,
    apis={"Produce": NAMED_SINCE, "CreateTopics": 5, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B97"],
)
def who_waited_learns_who_leads(wire, nodes, rng):
    """A Produce that waits for a follower while another node is elected is refused with NOT_LEADER_OR_FOLLOWER; where
    the node names leaders, the answer MUST name the present leader of that partition, its epoch and its address, and
    none for partitions that are acknowledged. What is sent after the election MUST be answered so too.

    Two partitions, of which one changes its leader; a follower of that one is cut off. Each version that names leaders.
    """
    former, new, lagging = rng.sample(wire.nodes, 3)
    goes = placed(wire, "goes", [former, new, lagging], **ALONE)
    stays = placed(wire, "stays", [former, new], **ALONE)
    for topic in (goes, stays):
        all_in_sync(wire, topic)
        wire.produce(topic, batch("before")).must_be_at(0)
    versions = [version for version in wire.versions("Produce") if version >= NAMED_SINCE]
    with apart(nodes, lagging, "brokers"):
        waiting = [_sent(wire, former, rng.sample((goes, stays), 2), version) for version in versions]
        wire.rest(REPLICATED_S)
        take_over(wire, goes, [new, former, lagging])
        await_answers(waiting, WITHIN_S, 1)
        after = [_sent(wire, former, rng.sample((goes, stays), 2), version) for version in versions]
        await_answers(after, WITHIN_S, 1)
    for one in (*waiting, *after):
        with wire.part(f"v{one.version} {'after' if one in after else 'before'} the election"):
            _must_learn(wire, one, goes, stays, new)


def _sent(wire, node, topics, version):
    rows = [
        {
            "name": topic,
            "topic_id": wire.topic_id(topic),
            "partition_data": [{"index": 0, "records": batch("waits")}],
        }
        for topic in topics
    ]
    asked = request("Produce", acks=-1, timeout_ms=LONG_MS, topic_data=rows)
    return OpenRequest(wire, node, asked, f"v{version} to {topics[0]}, {wire.now_ms()}", version)


def _must_learn(wire, one, goes, stays, new):
    if not one.answered:
        wire.unclear(f"a Produce to {goes} was not answered in time", "unobserved")
    answer = one.response
    names = {wire.topic_id(topic): topic for topic in (goes, stays)}
    rows = {
        names.get(row.topic_id) if one.version >= BY_ID else row.name: row.partition_responses[0]
        for row in answer.struct.responses
    }
    codes = (rows[goes].error_code, rows[stays].error_code)
    if codes[0] == errors.NONE:
        wire.unclear(f"{goes} was acknowledged: the follower that lags was left out too early", "unobserved")
    answer.must(
        codes == (errors.NOT_LEADER_OR_FOLLOWER, errors.NONE),
        f"the error codes are {codes}; it leads the second partition alone, so they must be "
        f"{(errors.NOT_LEADER_OR_FOLLOWER, errors.NONE)}",
        "responses",
    )
    named = {topic: (row.current_leader.leader_id, row.current_leader.leader_epoch) for topic, row in rows.items()}
    right = {goes: (new, shown_by(wire, goes, new).leader_epoch), stays: NO_LEADER}
    answer.must(named == right, f"it names leaders and epochs {named}; they must be {right}", "responses")
    brokers = {row.node_id: (row.host, row.port) for row in wire.metadata(to=new).struct.brokers}
    listed = [(row.node_id, row.host, row.port) for row in answer.struct.node_endpoints]
    at = [(new, *brokers[new])]
    answer.must(listed == at, f"the leader listens at {at}; it lists {listed}", "node_endpoints")
