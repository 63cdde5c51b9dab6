"""Transactional requests at a node that does not coordinate what they are about."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.suites.cases.transactions.refused_in_every_version import APIS
from brokertrial.wire.messages import ZERO_UUID, request

WITH_PARTITIONS = ("AddPartitionsToTxn", "TxnOffsetCommit")
PARTITIONS, OF_CLIENTS = 3, range(4)
"""Versions of AddPartitionsToTxn; later ones are between brokers."""


@case(
    "transactions/asked-of-another-node",
    guarantees=["prot-019", "txn-029"],
    apis=APIS,
    needs=["three-nodes", "partitions"],
    detects=["B353"],
)
def who_does_not_coordinate_refuses_everything(wire, topic_of, group, transactional_id, rng):
    """A node that does not coordinate a transactional id, or a group, MUST refuse each partition of each topic that
    a transactional request names, in every version, with an error that sends the client to the coordinator (16, 15,
    14), and MUST change nothing: the transaction that is open holds what it held, and its producer goes on.

    Three topics of three partitions, in drawn order, at both other nodes.
    """
    topics = [topic_of(what=what, partitions=PARTITIONS) for what in ("one", "two", "three")]
    producer = wire.producer(transactional_id)
    producer.send(topics[0], "open").must_be_at(0)
    asked = _Asked(wire, rng, (transactional_id, producer.id, producer.epoch), group, topics)
    for api in (api for api in APIS if wire.versions(api)):
        of = wire.coordinator(group) if api == "TxnOffsetCommit" else wire.coordinator(transactional_id, 1)
        for node in (node for node in wire.nodes if node != of):
            for version in _versions(wire, api):
                with wire.part(f"{api} v{version} at node {node}"):
                    asked.must_be_refused(api, version, node)
    state = wire.describe_transaction(transactional_id).must_have("transaction_states[0].transaction_state", "Ongoing")
    held = {row.topic: sorted(row.partitions) for row in state.struct.transaction_states[0].topics}
    state.must(held == {topics[0]: [0]}, f"the transaction holds {held}; it must hold {topics[0]}-0 alone")
    producer.commit().must_succeed()
    wire.await_settled(topics[0])
    wire.read_all(topics[0], isolation=1).must_hold("open")
    wire.committed(group, topics[0]).must_be(-1)


class _Asked:
    """Each request of an open transaction, about all partitions of the topics."""

    def __init__(self, wire, rng, said, group, topics):
        self.wire, self.rng, self.said, self.group, self.topics = wire, rng, said, group, topics

    def must_be_refused(self, api, version, node):
        places = self._places()
        answer = self.wire.ask(getattr(self, f"_{api.lower()}")(version, places), to=node, version=version)
        answer.examined = True
        found, named = _codes(api, answer.struct), len(self.topics) * PARTITIONS if api in WITH_PARTITIONS else 1
        right = len(found) == named and set(found) <= set(ELSEWHERE)
        answer.must(right, f"the error codes are {found}; there must be {named}, each of {ELSEWHERE}")

    def _initproducerid(self, *_):
        return request("InitProducerId", transactional_id=self.said[0], transaction_timeout_ms=30_000)

    def _addpartitionstotxn(self, _, places):
        rows = [{"name": topic, "partitions": partitions} for topic, partitions in places]
        fields = ("transactional_id", "producer_id", "producer_epoch", "topics")
        values = zip(fields, (*self.said, rows), strict=True)
        return request("AddPartitionsToTxn", **{f"v3_and_below_{field}": value for field, value in values})

    def _addoffsetstotxn(self, *_):
        return self._of_producer("AddOffsetsToTxn", group_id=self.group)

    def _txnoffsetcommit(self, version, places):
        rows = [
            {
                "name": topic,
                "topic_id": self.wire.topic_id(topic) if version >= 6 else ZERO_UUID,
                "partitions": [{"partition_index": number, "committed_offset": 7} for number in partitions],
            }
            for topic, partitions in places
        ]
        return self._of_producer("TxnOffsetCommit", group_id=self.group, topics=rows)

    def _endtxn(self, *_):
        return self._of_producer("EndTxn", committed=self.rng.random() < 0.5)

    def _describetransactions(self, *_):
        return request("DescribeTransactions", transactional_ids=[self.said[0]])

    def _of_producer(self, api, **fields):
        name, number, epoch = self.said
        return request(api, transactional_id=name, producer_id=number, producer_epoch=epoch, **fields)

    def _places(self):
        topics = self.rng.sample(self.topics, len(self.topics))
        return [(topic, self.rng.sample(range(PARTITIONS), PARTITIONS)) for topic in topics]


def _versions(wire, api):
    return [each for each in wire.versions(api) if api != "AddPartitionsToTxn" or each in OF_CLIENTS]


def _codes(api, answer):
    """The error code of the answer, of its transaction, or of each partition."""
    if api == "AddPartitionsToTxn":
        rows = answer.results_by_topic_v3_and_below
        return [part.partition_error_code for row in rows for part in row.results_by_partition]
    if api == "TxnOffsetCommit":
        return [part.error_code for row in answer.topics for part in row.partitions]
    if api == "DescribeTransactions":
        return [row.error_code for row in answer.transaction_states]
    return [answer.error_code]
