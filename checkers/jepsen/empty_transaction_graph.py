"""empty-transaction-graph: no operation polled what another had sent, and no two wrote one after the other.

Nothing can be learnt from such a history, whatever its operations are: no anomaly, and no pass either. (Elle calls it
unknown; Jepsen's kafka workload makes it invalid.)
Source: Elle, `empty-transaction-graph`.
"""

NAME = "empty-transaction-graph"
GUARANTEE = "txn-001"
STRENGTH = "integrity"
NEEDS = ("operations.kind",)
SUBJECT = "SELECT DISTINCT o.history FROM operations o WHERE o.kind IN ('send', 'poll', 'txn')"
OTHERWISE = "nothing was sent or polled"
GAPS = """
    SELECT h.history FROM histories h
    LEFT JOIN (SELECT DISTINCT w.history FROM write_write w) a ON a.history = h.history
    LEFT JOIN (SELECT DISTINCT r.history FROM write_read r) b ON b.history = h.history
    WHERE a.history IS NULL AND b.history IS NULL
    """
WITHHELD = "no operation depends on another, so that nothing can be learnt"
QUERY = "SELECT h.history FROM histories h WHERE h.history < 0"
