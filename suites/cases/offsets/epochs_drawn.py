"""Leader epochs over restarts and deletions that are drawn: every answer about one is followed (KIP-101, KIP-320)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.offsets._epoch_logs import EpochLogs
from brokertrial.suites.cases.retention.limits import CHECKS

APIS = {"OffsetForLeaderEpoch": 2, "ListOffsets": 1, "DeleteRecords": 0, "IncrementalAlterConfigs": 0, "Metadata": 7}
NEEDS = ["topic-settings", "partitions", "leaders", "terminate", "kill", "restart"]


@case(
    "offsets/epochs-whatever-comes-next",
    guarantees=["repl-008", "offs-007", "offs-001", "fetch-011"],
    apis=APIS,
    needs=NEEDS,
    detects=["L01", "L02", "M29c"],
)
def every_epoch_is_known_by_what_is_left_of_it(wire, topic_of, rng, nodes):
    """Whatever was written, deleted and restarted, the end of each leader epoch, the epoch of each offset that is
    named, and where a reader of some epoch has left the log MUST be those of what is left in it; the present epoch
    ends at the end of the log, also before it has written.

    Three partitions, six leaders after each other; between two of them all, some or none are written to, records are
    deleted up to the edge of an epoch, beside it or anywhere, and retention takes whole segments. A leader is killed
    once, where nothing was deleted since the last stop: what Apache Kafka has deleted it writes down now and then.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    logs = EpochLogs(wire, topic_of, rng)
    killed, retained = rng.randrange(1, 5), rng.randrange(2, 5)
    for turn in range(6):
        for log in logs.logs:
            logs.write(log, rng.choice((0, 0, 1, 2, 4)) if turn else rng.randint(2, 4))
        if turn != killed:
            for log in logs.logs:
                if rng.random() < 0.4:
                    logs.delete(log)
            if turn == retained:
                logs.retain()
        logs.must_be_returned()
        if turn < 5:
            act = nodes.crash if turn == killed else nodes.stop_and_start
            act(nodes.of(logs.topic, rng.randrange(3)))
            wire.await_topic(logs.topic)
            logs.must_be_returned()


@case(
    "offsets/epochs-told-whatever-comes-next",
    guarantees=["offs-007", "offs-001"],
    level="should",
    apis={"ListOffsets": 4, "DeleteRecords": 0, "Metadata": 7},
    needs=NEEDS,
    detects=["L05"],
)
def every_offset_comes_with_its_epoch(wire, topic_of, rng, nodes):
    """Whatever was written, deleted and restarted, each offset that ListOffsets returns SHOULD come with the leader
    epoch that wrote it, the end with the present one: a client that gets none does not notice when a log was truncated.

    Three partitions, four leaders in succession; records are deleted in between.
    """
    logs = EpochLogs(wire, topic_of, rng, always_reported=True)
    for turn in range(4):
        for log in logs.logs:
            logs.write(log, rng.choice((0, 1, 2)) if turn else rng.randint(2, 4))
            if rng.random() < 0.5:
                logs.delete(log)
            logs.must_be_named(log)
        if turn < 3:
            nodes.stop_and_start(nodes.of(logs.topic, rng.randrange(3)))
            wire.await_topic(logs.topic)
            for log in logs.logs:
                logs.must_be_named(log)
