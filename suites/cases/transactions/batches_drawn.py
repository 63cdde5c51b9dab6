"""Batches of transactional producers in every order, by both transaction protocols (KIP-98, KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions._drawn_batches import PARTITIONS, DrawnBatches
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.failures import breaks

VERIFICATION = "transaction.partition.verification.enable"


@case(
    "transactions/batches-in-every-order",
    guarantees=["idem-002", "idem-003", "idem-005", "idem-009", "idem-011", "txn-016", "txn-018", "txn-020", "txn-026"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeTransactions": 0, "DescribeProducers": 0},
    needs=["partitions"],
    since="4.1 (KAFKA-18202)",
    detects=["M10", "Y32", "Y33"],
)
def each_batch_is_judged_by_its_epoch_and_sequence(wire, topic_of, rng):
    """Whatever batch a transactional producer sends, a partition MUST append it where it is the next of its epoch, and
    answer with its offset where it is one of the five newest; it MUST refuse gaps, epochs that are over, partitions
    that were not added to the transaction, and a batch before a lower sequence that has asked to begin. A producer that
    the partition does not know begins with any sequence, and with 0 where each end raises the epoch.

    Aborted or committed. Three transactional ids, three partitions that hold a record of no producer (one that was
    never written to may want sequence 0, KAFKA-15591), 240 drawn steps; each transaction goes by one of
    the two protocols.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    topic = topic_of(partitions=PARTITIONS)
    drawn = DrawnBatches(wire, topic, rng)
    for _ in range(240):
        drawn.step()
    drawn.end_all()
    for partition, found in enumerate(drawn.committed):
        values = [value for _, value in found]
        read = wire.read_all(topic, partition, isolation=COMMITTED)
        with breaks("txn-001", "txn-002"):
            read.must(sorted(read.values) == sorted(values), f"{read.values} are read; {values} were committed")
