"""Topics that are compacted and deleted (`compact,delete`): both rules hold, and records may be deleted."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.retention.limits import CHECKS, HOUR_MS, SEGMENTS, WITHIN_S
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

BOTH = {**SEGMENTS, "cleanup.policy": "compact,delete"}
NOT_YET = {"min.compaction.lag.ms": str(48 * HOUR_MS)}
"""The cleaner would make one segment of all, which is as young as its newest record."""


@case(
    "retention/compact-and-delete",
    guarantees=["ret-001", "ret-004", "adm-011"],
    apis={"DeleteRecords": 0},
    needs=["topic-settings"],
    detects=["M35d"],
)
def a_topic_that_is_compacted_too_keeps_to_its_retention(wire, topic_of):
    """A topic that is compacted and deleted MUST lose what is older than retention.ms, though each record is the latest
    of its key, MUST keep what is younger, and MUST take DeleteRecords; one that is compacted alone MUST keep all.
    """
    wire.needs_setting(CHECKS, at_most=5_000)
    old = str(4 * HOUR_MS)
    both = topic_of(configs={**BOTH, **NOT_YET, "retention.ms": old})
    alone = topic_of(configs={**BOTH, **NOT_YET, "cleanup.policy": "compact", "retention.ms": old}, what="alone")
    now = wire.now_ms()
    for number, hours in enumerate((9, 8, 7, 6, 3, 2, 1)):
        for topic in (both, alone):
            made = batch(f"{number}", key=b"%d" % number, timestamp=now - hours * HOUR_MS)
            wire.produce(topic, made).must_be_at(number)
    wire.until(lambda: wire.log_start(both) >= 4, within=WITHIN_S, what="the log start passed the old records")
    wire.list_offsets(both, at="earliest").must_name(offset=4)
    wire.read_all(both).must_hold("4", "5", "6")
    wire.read_all(alone).must_hold("0", "1", "2", "3", "4", "5", "6")

    wire.delete_records(both, offset=6).must_succeed()
    wire.list_offsets(both, at="earliest").must_name(offset=6)
    wire.fetch(both, offset=5).must_be_refused(errors.OFFSET_OUT_OF_RANGE)
    wire.read_all(both).must_hold("6")
