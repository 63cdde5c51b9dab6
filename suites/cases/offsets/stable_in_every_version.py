"""The end of a log for a reader of committed records, in each version of ListOffsets and Fetch (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch

SINCE = {"ListOffsets": 2, "Fetch": 4}
PATIENT_MS = 60_000


@case(
    "offsets/stable-in-every-version",
    guarantees=["offs-001", "txn-004"],
    apis={"ListOffsets": 2, "Fetch": 4, "InitProducerId": 0},
    detects=["Z36"],
)
def the_end_for_committed_readers_is_the_last_stable_offset(wire, topic, transactional_id):
    """In each version of ListOffsets the latest offset MUST be the last stable one for a reader of committed records,
    and the high watermark for one of uncommitted ones; in each version of Fetch the first MUST be given what is behind
    the last stable offset and nothing else, the second all.

    One record, then a transaction that is open; then it is committed.
    """
    wire.produce(topic, batch("before")).must_be_at(0)
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    producer.send(topic, "open").must_be_at(1)
    _must_be(wire, topic, {UNCOMMITTED: (2, ["before", "open"]), COMMITTED: (1, ["before"])})
    producer.commit().must_succeed()
    wire.await_settled(topic)
    _must_be(wire, topic, {UNCOMMITTED: (3, ["before", "open"]), COMMITTED: (3, ["before", "open"])})


def _must_be(wire, topic, wanted):
    for isolation, (end, values) in wanted.items():
        for version in [one for one in wire.versions("ListOffsets") if one >= SINCE["ListOffsets"]]:
            with wire.part(f"ListOffsets v{version} {isolation}"):
                wire.list_offsets(topic, isolation=isolation, version=version).must_name(offset=end)
        for version in [one for one in wire.versions("Fetch") if one >= SINCE["Fetch"]]:
            with wire.part(f"Fetch v{version} {isolation}"):
                wire.fetch(topic, isolation=isolation, version=version).must_hold(*values)
