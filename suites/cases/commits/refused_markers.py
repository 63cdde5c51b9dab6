"""Markers that a partition of the offsets topic refuses, while a transaction has offsets staged in a group there."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition
from brokertrial.suites.probe.internal_topics import partitions_shown
from brokertrial.wire import errors
from brokertrial.wire.messages import request

PLACES, TURNS, WITHIN_S, UNKNOWN = 4, 6, 20, 5_000
CODE = "markers[0].topics[0].partitions[0].error_code"


@case(
    "commits/refused-markers-decide-nothing",
    guarantees=["txn-012", "txn-030", "cmt-010"],
    apis={"WriteTxnMarkers": 1, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 7},
    needs=["started", "partitions"],
    detects=["B53"],
)
def a_marker_that_is_refused_decides_over_no_offset(wire, topic_of, group, transactional_id, rng):
    """A marker that is refused MUST NOT decide over the offsets that a transaction has staged in a group: neither one
    of an older epoch of the producer (47), nor one of an older coordinator (52), nor one for a partition that does not
    exist (3). Until its coordinator ends it they MUST stay unstable (88), and the ones before in force.

    Six transactions of one producer in one group, whose markers a client writes in the place of a coordinator.
    """
    topic = topic_of(partitions=PLACES)
    in_force = dict.fromkeys(range(PLACES), -1)
    producer = wire.producer(transactional_id)
    for turn in range(TURNS):
        if turn == TURNS // 2:
            producer = wire.producer(transactional_id)  # another epoch, also where EndTxn does not raise it
        staged = {place: 10 * turn + place for place in rng.sample(range(PLACES), rng.randint(1, PLACES))}
        producer.send_offsets(group, {(topic, place): offset for place, offset in staged.items()}).must_succeed()
        for _ in range(3):
            _is_refused(wire, rng, producer, group, known=turn > 0)
            _must_be_in_force(wire, topic, group, in_force, staged)
        if rng.random() < 0.5:
            producer.commit().must_succeed()
            in_force.update(staged)
        else:
            producer.abort().must_succeed()
        wire.eventually(lambda: _must_be_in_force(wire, topic, group, in_force, {}), within=WITHIN_S)


def _is_refused(wire, rng, producer, group, *, known):
    """A drawn marker that must be refused; a coordinator is known to the partition once it has written one there."""
    partition = coordinator_partition(group, partitions_shown(wire, OFFSETS_TOPIC))
    epoch, coordinator, place, code = rng.choice(
        [
            (producer.epoch, UNKNOWN, UNKNOWN, errors.UNKNOWN_TOPIC_OR_PARTITION),
            *([(producer.epoch - 1, UNKNOWN, partition, errors.INVALID_PRODUCER_EPOCH)] * 2 if producer.epoch else []),
            *([(producer.epoch, -1, partition, errors.TRANSACTION_COORDINATOR_FENCED)] * 2 if known else []),
        ]
    )
    marker = {
        "producer_id": producer.id,
        "producer_epoch": epoch,
        "transaction_result": rng.random() < 0.7,
        "topics": [{"name": OFFSETS_TOPIC, "partition_indexes": [place]}],
        "coordinator_epoch": coordinator,
    }
    version = rng.choice([each for each in wire.versions("WriteTxnMarkers") if each >= 1])
    answer = wire.ask(request("WriteTxnMarkers", markers=[marker]), to=wire.coordinator(group), version=version)
    answer.must_have(CODE, code)


def _must_be_in_force(wire, topic, group, in_force, staged):
    for place, offset in in_force.items():
        wire.committed(group, topic, place).must_be(offset)
        if place in staged:
            wire.committed(group, topic, place, require_stable=True, retry=False).must_be_refused(
                errors.UNSTABLE_OFFSET_COMMIT
            )
        else:
            wire.committed(group, topic, place, require_stable=True).must_be(offset)
