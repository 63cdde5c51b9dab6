"""Where producers are remembered: by the next leader, and although their records are deleted."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, others_lead, replicated
from brokertrial.wire import errors

UNKNOWN = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.DUPLICATE_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID)


@case(
    "idempotence/known-to-the-next-leader",
    guarantees=["idem-008", "idem-002"],
    needs=["three-nodes", "leaders", "terminate", "restart", "topic-settings"],
    apis={"InitProducerId": 0},
    detects=["M11b"],
)
def the_next_leader_knows_a_retry(wire, nodes):
    """A batch that is sent again after the leader has changed MUST NOT be appended again, and the producer MUST be
    able to go on with its next sequence.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    producer = wire.producer()
    sent = [producer.batch(f"{number}", sequence=number) for number in range(4)]
    for number in range(3):
        wire.produce(topic, sent[number]).must_be_at(number)
    leader = nodes.of(topic)
    nodes.terminate(leader)
    others_lead(wire, topic, leader)

    wire.produce(topic, sent[2]).must_be_at(2)
    wire.produce(topic, sent[3]).must_be_at(3)
    nodes.start(leader)
    wire.read_all(topic).must_hold("0", "1", "2", "3")


@case(
    "idempotence/known-after-delete-records",
    guarantee="idem-012",
    apis={"InitProducerId": 0, "DeleteRecords": 0},
    detects=["M11c"],
)
def a_retry_of_what_was_deleted_is_known(wire, topic):
    """A batch that is sent again after DeleteRecords has removed it MUST NOT be appended again, nor one that leaves a
    gap; the next sequence MUST be accepted.
    """
    producer = wire.producer()
    sent = [producer.batch(f"{number}", sequence=number) for number in range(6)]
    for number in range(3):
        wire.produce(topic, sent[number]).must_be_at(number)
    wire.delete_records(topic, offset=3).must_succeed()

    again = wire.produce(topic, sent[2])
    if again.error:
        again.must_be_refused(*UNKNOWN)
    wire.list_offsets(topic, at="latest").must_name(offset=3)
    wire.produce(topic, sent[5]).must_be_refused(*UNKNOWN)
    wire.produce(topic, sent[3]).must_be_at(3)
    wire.read_all(topic).must_hold("3")
