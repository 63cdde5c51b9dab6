"""G0, G1c: committed transactions that depend on each other in a circle.

    txn 1       reads b, which txn 2 wrote, and writes a
    txn 2       reads a, which txn 1 wrote, and writes b        -> each saw the other committed first: G1c
    txn 1, 2    write x and y; 1 lies before 2 in x, 2 before 1 in y    -> G0

A transaction has read what its polls showed, and what its records were derived from. G0 is reported only: Kafka lets
transactions interleave. G1c is judged over reads alone, the order of writes left out, and where every reader in the
circle reads at read_committed: then one of them was shown what was not committed yet.
Source: Adya's G0 and G1c; KIP-98, isolation.level; Jepsen's kafka workload.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.cycles import Edges, cycle, knots

NAME = "dependency-cycle"
GUARANTEE = "txn-004"
STRENGTH = "integrity"
OBSERVES = ("commit_txn",)
STANDS_ALONE = True
NEEDS = ("records.value", "records.txn", "operations.txn", "clients.isolation")
SUBJECT = "SELECT DISTINCT t.history FROM txns t WHERE t.state = 'committed'"
OTHERWISE = "no transaction was committed"
PROJECTIONS = {
    "ww": """
        SELECT w.history, w.before_txn AS from_txn, w.txn AS to_txn, MIN(w.topic) AS topic,
            MIN(w.partition) AS partition, MIN(w.log_offset) AS log_offset, MIN(w.value) AS value, MIN(w.op) AS op,
            0 AS binding
        FROM (
            SELECT s.history, s.topic, s.partition, s.log_offset, s.value, s.op, s.txn,
                LAG(s.txn) OVER (PARTITION BY s.history, s.topic, s.partition
                    ORDER BY s.log_offset NULLS LAST, s.op NULLS LAST, s.value NULLS LAST) AS before_txn
            FROM sent s
            JOIN txns t ON t.history = s.history AND t.txn = s.txn AND t.state = 'committed'
            WHERE s.log_offset IS NOT NULL AND s.outcome = 'ok'
        ) w
        WHERE w.before_txn <> w.txn
        GROUP BY w.history, w.before_txn, w.txn
        """,
    "wr": """
        SELECT w.history, w.from_txn, w.to_txn, MIN(w.topic) AS topic, MIN(w.partition) AS partition,
            MIN(w.log_offset) AS log_offset, MIN(w.value) AS value, MIN(w.op) AS op, MAX(w.binding) AS binding
        FROM (
            SELECT s.history, s.txn AS from_txn, r.txn AS to_txn, s.topic, s.partition, r.log_offset, s.value, r.op,
                CASE WHEN c.committed_only THEN 1 ELSE 0 END AS binding
            FROM sent s
            JOIN seen r ON r.history = s.history AND r.value = s.value AND r.txn IS NOT NULL
            JOIN readers c ON c.history = r.history AND c.client = r.client
            WHERE s.txn IS NOT NULL
            UNION ALL
            SELECT s.history, s.txn, d.txn, s.topic, s.partition, s.log_offset, s.value, d.op, p.binding
            FROM sent s
            JOIN sent d ON d.history = s.history AND d.derived_from = s.value AND d.txn IS NOT NULL
            JOIN (
                SELECT r.history, r.value, MIN(CASE WHEN c.committed_only THEN 1 ELSE 0 END) AS binding FROM seen r
                JOIN readers c ON c.history = r.history AND c.client = r.client
                GROUP BY r.history, r.value
            ) p ON p.history = s.history AND p.value = s.value
            WHERE s.txn IS NOT NULL
        ) w
        JOIN txns a ON a.history = w.history AND a.txn = w.from_txn AND a.state = 'committed'
        JOIN txns b ON b.history = w.history AND b.txn = w.to_txn AND b.state = 'committed'
        WHERE w.from_txn <> w.to_txn
        GROUP BY w.history, w.from_txn, w.to_txn
        """,
}
_WORDS = {"ww": "lies before", "wr": "was read by"}


def find(projections: Mapping[str, pa.Table]) -> Iterator[AnomalyRow]:
    """One row for each set of transactions that are tied to each other, by writes or by reads."""
    for kind, name in (("ww", "G0"), ("wr", "G1c")):
        table = projections[kind]
        for history in sorted(set(table.column("history").to_pylist())):
            mine = table.filter(pc.equal(table.column("history"), history))
            some = mine.filter(pc.equal(mine.column("binding"), 1))
            yield from _cycles(history, kind, name, mine, int(kind == "wr"), some)


def _cycles(
    history: int, kind: str, name: str, table: pa.Table, judged: int, binding: pa.Table
) -> Iterator[AnomalyRow]:
    """Judged are the circles of binding edges; another one is told where there is none of those."""
    found = list(_circles(binding)) if judged else []
    held = bool(found)
    for steps in found or _circles(table):
        ops = [*dict.fromkeys(step["op"] for step in steps), None, None, None]
        told = ", ".join(f"{step['from_txn']} {_WORDS[kind]} {step['to_txn']}" for step in steps[:8])
        first = min(steps, key=lambda step: (step["topic"], step["partition"], step["log_offset"] or -1))
        yield {
            "history": history,
            "name": name,
            "topic": first["topic"],
            "partition": first["partition"],
            "offset_a": first["log_offset"],
            "listed_values": [step["value"] for step in steps],
            "op_a": ops[0],
            "op_b": ops[1],
            "op_c": ops[2],
            "judged": int(held),
            "sentence": f"Transactions depend on each other in a circle: {told}.",
        }


def _circles(edges_of: pa.Table) -> Iterator[list[AnomalyRow]]:
    table = edges_of.sort_by([("from_txn", "ascending"), ("to_txn", "ascending")])  # no engine keeps an order
    ends = [table.column(side).to_numpy() for side in ("from_txn", "to_txn")]
    txns = np.unique(np.concatenate(ends))
    edges = Edges(*(np.searchsorted(txns, side).astype(np.int64) for side in ends))
    for knot in knots(len(txns), edges, len(txns)):
        places = np.full(len(txns), -1, dtype=np.int64)
        places[knot] = np.arange(len(knot))
        inside = edges.within(places)
        path = cycle(len(knot), inside, inside) or []
        around = [int(txns[knot[place]]) for place in path]
        pairs = set(zip(around, [*around[1:], around[0]], strict=True))
        rows: list[AnomalyRow] = table.filter(pc.is_in(table.column("from_txn"), pa.array(around))).to_pylist()
        yield [row for row in rows if (row["from_txn"], row["to_txn"]) in pairs]
