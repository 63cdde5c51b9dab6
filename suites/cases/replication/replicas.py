"""What replication promises: leaders that die, followers left behind, restarts in turn, too few replicas."""

from brokertrial.faults.kinds.drop_request import drop_request
from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.faults.kinds.kill import kill
from brokertrial.faults.kinds.pause import pause
from brokertrial.faults.kinds.terminate import terminate
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op, message
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead
from brokertrial.wire import errors

NEW_LEADER = "leader({topic},0)"
"""A dead node is asked for nothing: what goes to the leader, once that is dead, goes to the next one."""


@case(
    "replication/leader-lost",
    guarantees=["repl-001", "repl-010", "prod-002"],
    needs=["three-nodes", "leaders", "pause", "kill", "restart", "proxy"],
    detects=["M34b"],
)
def what_all_replicas_acknowledged_survives_the_leader():
    """A record acknowledged by all in-sync replicas MUST be there, at its offset, under the leader elected next.

    The followers are paused before the leader is killed: what it appends meanwhile it has alone, and must not
    acknowledge. So many producers send so rarely that few have a request under way at the pause. The next leader
    receives three of them first, and gives the same offsets to other records. The former one comes back then, must give
    up what the new leader does not have, and has time to lead again.
    """
    return Trial(
        workload=SendAndRead(producers=12, rate=60.0, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            pause("followers({topic},0)", begin=at_op(600), end=after("f2", "begin", delay_ms=300)),
            kill(
                "leader({topic},0)",
                begin=after("f1", "begin", delay_ms=700),
                end=after("f3", "end", delay_ms=2_000),
            ),
            drop_request(
                api="Produce",
                client="producer-?",
                begin=after("f2", "begin"),
                end=message(40, api="Produce", client="producer-1?", node=NEW_LEADER),
            ),
        ),
        at_least_s=22.0,
        longest_s=60.0,
    )


@case(
    "replication/lagging-replica-does-not-lead",
    guarantees=["repl-001", "prod-002"],
    needs=["three-nodes", "leaders", "pause", "kill", "restart"],
    detects=["M33e"],
)
def who_was_left_behind_does_not_lead():
    """What was acknowledged while one follower was out of sync MUST be there when the leader dies, whichever replica
    leads next.

    The follower that is next in line is paused until acks=all goes on without it, and resumes when the leader is dead.
    """
    return Trial(
        workload=SendAndRead(producers=4, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            pause("follower({topic},0)", begin=at_op(600), end=after("f2", "begin", delay_ms=300)),
            kill(
                "leader({topic},0)",
                begin=after("f1", "begin", delay_ms=2_700),
                end=message(300, api="Produce", node=NEW_LEADER),
            ),
        ),
        longest_s=60.0,
    )


@case(
    "replication/in-sync-when-caught-up",
    guarantees=["repl-001", "prod-002"],
    needs=["three-nodes", "leaders", "pause", "kill", "restart"],
    detects=["M33d"],
)
def who_has_not_caught_up_is_not_in_sync():
    """What was acknowledged while a follower was away MUST be there although it comes back first when all were lost.

    The follower that is next in line is paused until it is out of sync; then the two that went on without it are
    killed, and it resumes alone: it must not lead before one of them is back. There is one partition only: of another
    it may have been the leader, and without a controller it cannot learn that it no longer is.
    """
    return Trial(
        workload=SendAndRead(producers=4, partitions=1, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            pause("follower({topic},0)", begin=at_op(600), end=after("f3", "begin", delay_ms=500)),
            kill(
                "follower({topic},0,2)",
                begin=after("f1", "begin", delay_ms=6_000),
                end=after("f2", "begin", delay_ms=9_000),
            ),
            kill("leader({topic},0)", begin=after("f2", "begin"), end=after("f3", "begin", delay_ms=6_000)),
        ),
        longest_s=60.0,
    )


@case(
    "replication/rolling-restart",
    guarantees=["repl-012", "ord-003"],
    needs=["three-nodes", "leaders", "terminate", "restart"],
    detects=["M33f"],
)
def a_rolling_restart_loses_and_doubles_nothing():
    """While three brokers in turn, all of a cluster of three, are stopped cleanly and started again, nothing
    acknowledged MUST be lost, duplicated or reordered.
    """
    return Trial(
        workload=SendAndRead(producers=4, partitions=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            terminate("{node1}", begin=at_op(400), end=after("f1", "begin", delay_ms=500)),
            terminate("{node2}", begin=after("f1", "end", delay_ms=3000), end=after("f2", "begin")),
            terminate("{node3}", begin=after("f2", "end", delay_ms=3000), end=after("f3", "begin")),
        ),
        longest_s=75.0,
    )


@case(
    "replication/ends-never-go-back",
    guarantees=["repl-011", "ord-007"],
    needs=["three-nodes", "leaders", "pause", "kill", "restart", "proxy"],
    detects=["M33h"],
)
def consumers_do_not_go_back_after_a_fail_over():
    """After a fail-over no listed end MUST be below what was acknowledged, read or listed before (KIP-207).

    A follower learns that a batch is committed from the answer after it, and the slower of two at once. So the second
    is paused for a moment, and the writer, which sends one at a time, is kept from sending the next; the leader is
    paused at once, and is killed with the second: the first leads, and cannot know the end before another is back.
    """
    return Trial(
        workload=SendAndRead(producers=1, partitions=1, readers_=3, askers=3, in_flight=ONE_AT_A_TIME),
        schedule=Windows(
            pause("follower({topic},0,2)", begin=at_op(600), end=after("f1", "begin", delay_ms=30)),
            drop_request(
                api="Produce",
                client="*producer-*",
                begin=after("f1", "begin", delay_ms=10),
                end=after("f5", "end"),
            ),
            pause("leader({topic},0)", begin=after("f2", "hit"), end=after("f5", "begin")),
            kill("follower({topic},0,2)", begin=after("f3", "begin"), end=after("f4", "begin", delay_ms=4_000)),
            kill(
                "leader({topic},0)",
                begin=after("f4", "begin"),
                end=message(200, api="ListOffsets", node=NEW_LEADER),
            ),
        ),
        length=1_500,
        checks=("log-recency",),
        longest_s=60.0,
    )


@case(
    "replication/too-few-replicas",
    guarantee="repl-003",
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    detects=[
        edit_answer("responses[].partition_responses[].error_code", set=errors.NONE, api="Produce", skip=1, every=1)
    ],
)
def acks_all_is_refused_while_replicas_are_missing(wire, nodes):
    """Below min.insync.replicas acks=all MUST be refused with code 19 or 20, and acks=1 and reads MUST go on.

    Three replicas are asked for and one is killed; before the cluster has missed it, an append may time out.
    """
    topic = wire.new_topic(partitions=1, configs={"min.insync.replicas": "3"}, replicas=3)
    wire.produce(topic, batch("first")).must_be_at(0)
    missing = next(node for node in nodes.ids if node != nodes.of(topic))
    nodes.kill(missing)

    few = (errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    wire.until(
        lambda: wire.produce(topic, batch("all"), retry=False).error in few, within=60, what="acks=all was refused"
    )
    wire.produce(topic, batch("all"), retry=False).must_be_refused(*few)
    wire.produce(topic, batch("one"), acks=1).must_succeed()
    read = wire.fetch(topic, offset=0).must_succeed()
    read.must(read.values[:1] == [b"first"], "committed records are not readable while replicas are missing")

    nodes.start(missing)
    wire.until(
        lambda: wire.produce(topic, batch("last"), retry=False).error == errors.NONE, within=60, what="acks=all worked"
    )
    again = wire.read_all(topic)
    again.must(again.values[0] == b"first" and b"one" in again.values, "acknowledged records are gone")
