"""A producer of an earlier epoch, in every version: each has its own error code for it (KIP-588)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

FENCED_SINCE = 2
"""Below, clients know INVALID_PRODUCER_EPOCH alone."""
NEWEST = {"AddPartitionsToTxn": 3, "AddOffsetsToTxn": 4, "EndTxn": 4}
"""Later versions are between brokers, or of transactions that no request begins."""


@case(
    "transactions/fenced-in-every-version",
    guarantees=["txn-007", "txn-029", "txn-017"],
    apis=dict.fromkeys(NEWEST, 0),
    detects=["S08"],
)
def a_producer_of_before_is_fenced_in_every_version(wire, topic, group, transactional_id):
    """A request of a producer in an epoch that is over MUST be refused in every version: with INVALID_PRODUCER_EPOCH
    (47) where the version is older than PRODUCER_FENCED (90), and with that from then on. It has no effect: the
    transaction of the producer that has replaced it stays as it is.
    """
    old = wire.producer(transactional_id)
    new = wire.producer(transactional_id)
    new.send(topic, "a").must_be_at(0)
    stale = (transactional_id, old.id, old.epoch)
    for api, newest in NEWEST.items():
        for version in (each for each in wire.versions(api) if each <= newest):
            with wire.part(f"{api} v{version}"):
                if api == "AddPartitionsToTxn":
                    answer = wire.add_partitions(*stale, [(topic, 0)], version=version, retry=False)
                    row = answer.struct.results_by_topic_v3_and_below[0].results_by_partition[0]
                    code = row.partition_error_code
                else:
                    if api == "EndTxn":
                        answer = wire.end_txn(*stale, commit=True, version=version, retry=False)
                    else:
                        answer = wire.add_offsets(*stale, group, version=version, retry=False)
                    code = answer.struct.error_code
                wanted = errors.PRODUCER_FENCED if version >= FENCED_SINCE else errors.INVALID_PRODUCER_EPOCH
                answer.must(code == wanted, f"it is refused as {errors.name(code)}; it must be {errors.name(wanted)}")
    wire.list_offsets(topic).must_name(offset=1)
    new.send(topic, "b").must_be_at(1)
    new.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation="read_committed").must_hold("a", "b")
    wire.list_offsets(topic).must_name(offset=3)
