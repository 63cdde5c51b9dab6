"""Leader epochs of which no record is left, on every replica that comes to lead (KIP-101, KIP-320, KAFKA-7415)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.offsets._epoch_logs import EpochLogs
from brokertrial.suites.cases.replication._led_in_turn import APIS, comes_to_lead
from brokertrial.suites.cases.replication._roles import all_in_sync, placed

ALONE = {"min.insync.replicas": "1"}
TERMS = 4


@case(
    "replication/epochs-older-than-what-is-left",
    guarantees=["repl-008", "fetch-011", "offs-007", "adm-011"],
    needs=["three-nodes", "leaders", "topic-settings"],
    apis={"CreateTopics": 5, "OffsetForLeaderEpoch": 2, "ListOffsets": 1, "DeleteRecords": 0, "Metadata": 7, **APIS},
    detects=["B86"],
)
def what_is_left_begins_where_the_older_epochs_end(wire, rng):
    """Where the records of older leader epochs were deleted, each replica that leads MUST name the begin of what is
    left as the end of such an epoch, and MUST serve a reader whose last record was of it from there: neither is
    unknown, nor out of range. A replica that was added later, and never had those records, MUST answer the same.

    Two replicas lead in turn and write; records are deleted to where an epoch begins, or a batch, or to the end.
    """
    here, there, third = rng.sample(wire.nodes, 3)
    logs = EpochLogs(wire, lambda configs, **_: placed(wire, "t", [here, there], **configs, **ALONE), rng, partitions=1)
    (log,) = logs.logs
    all_in_sync(wire, logs.topic)
    for term in range(TERMS):
        order = [here, there] if term % 2 == 0 else [there, here]
        comes_to_lead(wire, logs.topic, order, wire.controller)
        wire.refresh_metadata(logs.topic)
        logs.write(log, rng.randint(1, 3))
    begins = [one.base for one in log.batches]
    later = [now.base for before, now in zip(log.batches, log.batches[1:], strict=False) if before.epoch < now.epoch]
    starts = sorted({rng.choice(later), rng.choice((*begins[1:], *later, log.end))})
    for start in starts:
        _deleted_to(wire, log, start)
        logs.must_be_returned()
        comes_to_lead(wire, logs.topic, rng.choice(([here, there], [there, here])), wire.controller)
        wire.refresh_metadata(logs.topic)
        logs.must_be_returned()
    for order in ([third, here, there], [there, third, here]):
        comes_to_lead(wire, logs.topic, order, wire.controller)
        wire.refresh_metadata(logs.topic)
        logs.must_be_returned()
        logs.write(log, rng.randint(0, 2))
        logs.must_be_returned()


def _deleted_to(wire, log, start):
    wire.delete_records(*log.place, offset=start).must_succeed()
    log.start = start
