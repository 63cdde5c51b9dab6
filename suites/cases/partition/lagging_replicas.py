"""Leaders change while a replica replicates nothing, though the controllers hear it: it lags, and is in sync still."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.cases.partition._replicas import (
    NEEDS,
    REPLICATED_S,
    SURELY_KNOWN_S,
    is_in_sync,
    lead_in_this_order,
    produce_request,
    shown_by,
    take_over,
)
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LOOKS = 12
SOON_MS, LONG_MS = 700, 60_000
ANSWERED_S = 5
"""A leader that has stepped down refuses at once what waits at it."""


@case(
    "partition/new-leader-asks-its-followers-first",
    guarantees=["repl-004", "repl-010"],
    needs=[*NEEDS, "kill", "restart"],
    apis={"CreateTopics": 5},
    detects=["B13"],
)
def what_a_new_leader_has_is_not_committed_by_that(wire, nodes, rng):
    """What a new leader brings along MUST NOT be returned to consumers, and what it is sent MUST NOT be acknowledged
    with acks=all, while a replica lacks it that is in sync by the new leader's own word.

    Of two followers one replicates nothing when the leader has written a record more, and dies; the other takes over.
    """
    first, new, lagging = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [first, new, lagging], **{"min.insync.replicas": "1"})
    all_in_sync(wire, topic)
    wire.produce(topic, batch("on all"), to=first).must_be_at(0)
    with apart(nodes, lagging, "brokers"):
        wire.produce(topic, batch("not on all"), acks=1, to=first).must_be_at(1)
        wire.rest(REPLICATED_S)
        nodes.kill(first)
        wire.until(
            lambda: shown_by(wire, topic, new).leader_id not in (first, NO_NODE), within=WITHIN_S, what="another leads"
        )
        leader = shown_by(wire, topic, new).leader_id
        looks = sum(is_not_committed(wire, topic, leader, lagging) for _ in range(LOOKS)) if leader == new else 0
    nodes.start(first)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    log = wire.read_all(topic)
    log.must(log.values[:1] == [b"on all"], f"the log begins with {log.values[:1]}; that was not acknowledged")
    if not looks or b"not on all" not in log.values:
        wire.unclear("no new leader had what a replica in sync lacked", "unobserved")


def is_not_committed(wire, topic, leader, lagging):
    """Whether it was looked at while the replica was in sync: then nobody must be given what that one lacks."""
    if not is_in_sync(wire, topic, lagging, leader):
        return False
    seen = wire.fetch(topic, offset=1, to=leader, max_wait_ms=100)
    if not seen.error and seen.records and is_in_sync_still(wire, topic, lagging, leader):
        seen.is_false(f"it returns offsets {seen.offsets}, which node {lagging} lacks, a replica in sync")
    sent = wire.produce(topic, batch("asked of all"), to=leader, timeout_ms=SOON_MS)
    if not sent.error and is_in_sync_still(wire, topic, lagging, leader):
        sent.is_false(f"it is acknowledged to acks=all, and node {lagging} lacks it, a replica in sync")
    return not seen.error and is_in_sync(wire, topic, lagging, leader)


def is_in_sync_still(wire, topic, lagging, leader):
    """Whether its leader has gone by that all the time."""
    wire.rest(SURELY_KNOWN_S)
    return is_in_sync(wire, topic, lagging, leader)


@case(
    "partition/waiting-at-a-deposed-leader",
    guarantees=["repl-010", "prod-010", "repl-001", "idem-001"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "ElectLeaders": 1, "AlterPartitionReassignments": 0},
    detects=["B14"],
)
def what_waits_when_its_leader_is_deposed_is_not_acknowledged(wire, nodes, rng):
    """A Produce with acks=all that waits for followers when another node is made leader MUST NOT be acknowledged,
    also when the former leader leads again, unless its record is in the log at the offset that it is answered. What
    an idempotent producer sends again then MUST be taken, once.

    The leader's followers are cut off from it when it gets the records: by their own election in one turn, by that of
    an administrator in the other, where the controllers reach it still.
    """
    first, second, third = rng.sample(wire.nodes, 3)
    for service in rng.sample(("any", "brokers"), 2):
        topic = placed(wire, "t", [first, second, third], **{"min.insync.replicas": "2"})
        all_in_sync(wire, topic)
        wire.produce(topic, batch("on all"), to=first).must_be_at(0)
        producer = wire.producer()
        numbered = producer.batch("numbered", sequence=0)
        sent = {b"plain": batch("plain"), b"numbered": numbered}
        with apart(nodes, first, service):
            waiting = {
                value: OpenRequest(wire, first, produce_request(wire, topic, content, LONG_MS), value.decode() + topic)
                for value, content in sent.items()
            }
            wire.rest(REPLICATED_S)
            if service == "brokers":
                take_over(wire, topic, [second, first, third])
            wire.until(
                lambda of=topic: shown_by(wire, of, second).leader_id in (second, third),
                within=WITHIN_S,
                what=f"another node than {first} leads {topic}",
            )
            leader = shown_by(wire, topic, second).leader_id
            for number in range(3):
                wire.produce(topic, batch(f"written after it {number}"), acks=1, to=leader).must_succeed()
        all_in_sync(wire, topic)
        lead_in_this_order(wire, topic, [first, second, third])
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("led again")).must_succeed()
        await_answers(list(waiting.values()), ANSWERED_S, ANSWERED_S)
        log = wire.read_all(topic)
        for value, one in waiting.items():
            if one.acknowledged:
                offset = one.response.struct.responses[0].partition_responses[0].base_offset
                held = dict(zip(log.offsets, log.values, strict=True)).get(offset)
                one.response.must(held == value, f"{value!r} is acknowledged at offset {offset}, where {held!r} is")
        wire.produce(topic, numbered).must_succeed()
        log = wire.read_all(topic)
        log.must(
            log.values.count(b"numbered") == 1, f"the log holds {log.values}; what was sent again must be there once"
        )


@case(
    "partition/in-sync-first-where-unclean-is-allowed",
    guarantees=["repl-005", "repl-001", "adm-013"],
    needs=[*NEEDS, "kill", "restart"],
    apis={"CreateTopics": 5, "ElectLeaders": 1},
    detects=["B15"],
)
def an_unclean_election_is_the_last_resort(wire, nodes, rng):
    """Where a topic allows unclean elections, a replica that is not in sync MUST NOT lead while one that is in sync is
    alive, though it is the first replica and alive too; a preferred election MUST be refused with 80 meanwhile, and
    everything that was acknowledged MUST be there.

    The first replica dies, and comes back unable to replicate; then the leader of the time in between dies. The first
    node of all is neither of them: others ask it who leads.
    """
    in_sync, *others = wire.nodes
    first, between = rng.sample(others, 2)
    configs = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    topic = placed(wire, "t", [first, between, in_sync], **configs)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("on all"), to=first).must_be_at(0)
    nodes.kill(first)
    for node in (between, in_sync):
        wire.until(
            lambda node=node: is_led_without(wire, topic, first, node),
            within=WITHIN_S,
            what=f"node {first} is not in sync by what node {node} shows, and another leads",
        )
    wire.refresh_metadata(topic)
    for number in range(rng.randint(1, 3)):
        wire.produce(topic, batch(f"without the first {number}")).must_be_at(number + 1)
    held = wire.read_all(topic).values
    with apart(nodes, first, "brokers"):
        nodes.start(first)
        leader = shown_by(wire, topic, first).leader_id
        answer = preferred_election(wire, topic, first)
        answer.must(
            answer.error == errors.PREFERRED_LEADER_NOT_AVAILABLE,
            f"a preferred election is answered {answer.error}; node {first} is not in sync",
        )
        nodes.kill(leader)
        left = next(node for node in (between, in_sync) if node != leader)
        for node in (left, first):
            wire.until(
                lambda node=node: is_led_without(wire, topic, leader, node),
                within=WITHIN_S,
                what=f"node {leader} is not in sync by what node {node} shows, and another leads",
            )
            next_leader = shown_by(wire, topic, node).leader_id
            wire.must(next_leader == left, f"node {next_leader} leads; node {left} was in sync and is alive")
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("at last")).must_succeed()
    nodes.start(leader)
    wire.await_topic(topic)
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*held, "at last")


def is_led_without(wire, topic, gone, asked):
    """Whether another leads, and this one is not in sync, by what a node shows."""
    row = shown_by(wire, topic, asked)
    return row.leader_id not in (gone, NO_NODE) and gone not in row.isr_nodes


def preferred_election(wire, topic, asked):
    """ElectLeaders of the first partition, for its preferred replica."""
    rows = [{"topic": topic, "partitions": [0]}]
    return wire.ask(request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000), to=asked)
