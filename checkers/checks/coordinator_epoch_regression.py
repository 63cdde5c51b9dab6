"""coordinator-epoch-regression: a transaction marker of an older coordinator lies above one of a newer.

    markers of producer 7 along the log     COMMIT (coordinator epoch 2)   ABORT (coordinator epoch 1)    -> 1 after 2

The coordinator of a transactional id is the leader of one partition; its epoch is in every marker that it writes. A
leader that took a marker of epoch 2 refuses one of epoch 1 of the same producer: it comes from a coordinator that
does not know that it was replaced.
Source: KIP-98, "WriteTxnMarkers" (TRANSACTION_COORDINATOR_FENCED); catalogue txn-011, txn-021.
"""

NAME = "coordinator-epoch-regression"
GUARANTEE = "txn-021"
STRENGTH = "order"
OBSERVES = ("commit_txn", "abort_txn")
STANDS_ALONE = True
NEEDS = ("batches.base_offset", "batches.control", "batches.coordinator_epoch")
SUBJECT = "SELECT DISTINCT b.history FROM logged_batches b WHERE b.control IS NOT NULL AND b.coordinator_epoch >= 0"
OTHERWISE = "no transaction marker is known with the epoch of its coordinator"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.offset_a, w.offset_b, w.producer_id, w.before_epoch, w.coordinator_epoch
    FROM (
        SELECT b.history, b.topic, b.partition, b.producer_id, b.base_offset AS offset_b, b.coordinator_epoch,
            MAX(b.coordinator_epoch) OVER (PARTITION BY b.history, b.topic, b.partition, b.producer_id
                ORDER BY b.base_offset NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_epoch,
            LAG(b.base_offset) OVER (PARTITION BY b.history, b.topic, b.partition, b.producer_id
                ORDER BY b.base_offset NULLS LAST) AS offset_a
        FROM logged_batches b WHERE b.control IS NOT NULL AND b.coordinator_epoch >= 0
    ) w
    WHERE w.coordinator_epoch < w.before_epoch
    """
SENTENCE = (
    "The marker of producer {producer_id} at {topic}-{partition} offset {offset_b} has coordinator epoch "
    "{coordinator_epoch}, after one of epoch {before_epoch}."
)
