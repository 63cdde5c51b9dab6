"""leader-epoch-regression: leader epochs go back, along the log or in the answers of one node.

    leader epochs along the log     3   3   4   3       -> a batch of epoch 3 above one of epoch 4
    node 1 says epoch 4, then epoch 3                   -> it had known of 4

Along the log it holds in every fail-over, after unclean elections too: each new leader has a higher epoch, and stamps
what it appends with it. Answers count for one node at a time (another may not have heard yet), and only when they carry
the current epoch: of fetches, and of ListOffsets that asked for the end.
Source: KIP-101, KIP-320; catalogue repl-007, offs-007.
"""

NAME = "leader-epoch-regression"
GUARANTEE = "repl-007"
STRENGTH = "order"
OBSERVES = ("fetch", "list_offsets")
SHOWING = ("leader_epoch", "node")
STANDS_ALONE = True
NEEDS = ("operations.leader_epoch", "operations.node", "operations.call_ns", "operations.return_ns")
SUBJECT = """
    SELECT b.history FROM logged_batches b WHERE b.leader_epoch >= 0
    UNION SELECT o.history FROM rising o WHERE o.quantity = 'leader-epoch'
    """
OTHERWISE = "no leader epoch is known of any batch or node"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.offset_a, w.offset_b, s.op AS op_a, t.op AS op_b, w.before_epoch,
        w.leader_epoch, 'lies above one' AS how
    FROM (
        SELECT b.history, b.topic, b.partition, b.base_offset AS offset_b, b.leader_epoch,
            MAX(b.leader_epoch) OVER (PARTITION BY b.history, b.topic, b.partition ORDER BY b.base_offset NULLS LAST
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_epoch,
            LAG(b.base_offset) OVER (PARTITION BY b.history, b.topic, b.partition
                ORDER BY b.base_offset NULLS LAST) AS offset_a
        FROM logged_batches b WHERE b.leader_epoch >= 0
    ) w
    LEFT JOIN senders_at s ON s.history = w.history AND s.topic = w.topic AND s.partition = w.partition
        AND s.log_offset = w.offset_a
    LEFT JOIN senders_at t ON t.history = w.history AND t.topic = w.topic AND t.partition = w.partition
        AND t.log_offset = w.offset_b
    WHERE w.leader_epoch < w.before_epoch
    UNION ALL
    SELECT f.history, f.topic, f.partition, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), f.op_a, f.op_b, f.before_level,
        f.level, 'was reported by a node after that of a response'
    FROM regressions f WHERE f.quantity = 'leader-epoch'
    """
SENTENCE = "In {topic}-{partition}, leader epoch {leader_epoch} {how} of epoch {before_epoch}."
