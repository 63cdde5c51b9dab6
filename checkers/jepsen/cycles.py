"""G0, G1c and their kin: operations that depend on each other in a circle.

    send 1      a to x at 0, a to y at 1
    send 2      b to x at 1, b to y at 0        -> 1 before 2 in x, 2 before 1 in y: G0
    txn 1       send a to x, poll y: b
    txn 2       send b to y, poll x: a          -> each polled what the other sent: G1c

Edges: ww, from the writer of a value to that of the next one in the log (where the event `ww-edges` asks for them); wr,
from the writer of a value to everyone who polled it; process, from an ok operation to the next of its process;
realtime, from an ok operation to what was called after it returned.
    G0, G1c                     ww alone; ww and wr, with a wr
    -process, -realtime         with such an edge as well, only where the plain one does not exist (a cycle with
                                the needed ww or wr must then have one)
    PL-1-, PL-2-cycle-exists    Elle's coarse names: of ww there is a cycle; of ww and wr. strong-: with realtime
One of each for each set of operations that are tied to each other. G0 and PL-1 are never failures:
transactions interleave. G1c and PL-2 are when they rest on wr edges alone and the readers are at read_committed.
No search can time out here (checkers/linearizability/cycles.py), so that `cycle-search-timeout` never occurs.
Source: Adya's G0 and G1c; Jepsen's kafka workload and Elle, `cycles`.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokertrial.checkers.check import AnomalyRow
from brokertrial.checkers.linearizability.cycles import Edges, cycle, joined, knots, moments
from brokertrial.checkers.linearizability.precedence import Int64Array

NAME = "cycles"
GUARANTEE = "txn-001"
STRENGTH = "integrity"
NEEDS = ("records.value", "operations.call_ns", "operations.return_ns")
SUBJECT = "SELECT DISTINCT w.history FROM write_write w UNION SELECT DISTINCT r.history FROM write_read r"
OTHERWISE = "no operation depends on another"
PROJECTIONS = {
    "operations": """
        SELECT o.history, o.op, MIN(o.client) AS client, MIN(o.call_ns) AS call_ns, MIN(o.return_ns) AS return_ns,
            MIN(o.outcome) AS outcome
        FROM operations o WHERE o.kind IN ('send', 'poll', 'txn')
        GROUP BY o.history, o.op
        """,
    "asked": "SELECT DISTINCT e.history FROM events e WHERE e.kind = 'ww-edges'",
    "ww": """
        SELECT w.history, w.from_op, w.to_op, w.topic, w.partition, w.value, 0 AS binding FROM write_write w
        """,
    "wr": """
        SELECT r.history, r.from_op, r.to_op, r.topic, r.partition, r.value, r.binding FROM write_read r
        """,
}
_FAMILIES = (("G0", ("ww",), "ww"), ("G1c", ("ww", "wr"), "wr"))
CycleStep = tuple[str, int, int, AnomalyRow | None]
_WORDS = {"ww": "wrote before", "wr": "wrote what was polled by", "process": "was followed in its process by"}
_WORDS["realtime"] = "had returned before the call of"


def find(projections: Mapping[str, pa.Table]) -> Iterator[AnomalyRow]:
    """One row for each set of tied operations and each name that fits it."""
    for history in sorted(set(projections["operations"].column("history").to_pylist())):
        yield from _Graph(history, {name: _of(table, history) for name, table in projections.items()}).rows()


def _of(table: pa.Table, history: int) -> pa.Table:
    return table.filter(pc.equal(table.column("history"), history))


class _Graph:
    """The dependencies of one history."""

    def __init__(self, history: int, tables: Mapping[str, pa.Table]) -> None:
        self.history = history
        self.tables = tables
        operations = tables["operations"].sort_by("op")
        self.ops: Int64Array = operations.column("op").to_numpy()
        self.clients = operations.column("client")
        self.done = np.equal(operations.column("outcome").to_numpy(zero_copy_only=False), "ok")
        self.calls: Int64Array = operations.column("call_ns").to_numpy()
        returns = operations.column("return_ns").fill_null(np.iinfo(np.int64).max)
        self.returns: Int64Array = returns.to_numpy()
        self.data = {kind: self._edges(kind) for kind in ("ww", "wr")}
        self.weak = not tables["asked"].num_rows

    def _edges(self, kind: str) -> Edges:
        table = self.tables[kind]
        ends = [np.searchsorted(self.ops, table.column(name).to_numpy()) for name in ("from_op", "to_op")]
        return Edges(ends[0].astype(np.int64), ends[1].astype(np.int64))

    def rows(self) -> Iterator[AnomalyRow]:
        """Looks closely at each knot."""
        into, onward, count = moments(self.calls, self.returns, self.done)
        every = joined(self.data["ww"], self.data["wr"], into, onward)
        when = np.concatenate([self.calls, np.sort(self.returns[self.done])])
        for knot in knots(count, every, len(self.ops), when):
            yield from self._names(knot)

    def _names(self, knot: Int64Array) -> Iterator[AnomalyRow]:
        places = np.full(len(self.ops), -1, dtype=np.int64)
        places[knot] = np.arange(len(knot))
        kinds = {kind: edges.within(places) for kind, edges in self.data.items()}
        into, onward, count = moments(self.calls[knot], self.returns[knot], self.done[knot])
        extra = {"": None, "-process": self._process(knot), "-realtime": into}
        found: dict[str, AnomalyRow] = {}
        for family, names, needed in _FAMILIES:
            for suffix, order in extra.items():
                if suffix and family in found:
                    continue
                some = [kinds[name] for name in names]
                more = [order] if order is not None else []
                more += [onward] if suffix == "-realtime" else []
                path = cycle(count, joined(*some, *more), kinds[needed])
                if path is not None:
                    found[family + suffix] = self._row(family + suffix, list(self._steps(path, knot, names)))
        yield from found.values()
        yield from self._coarse(found)

    def _process(self, knot: Int64Array) -> Edges:
        """From each ok operation to the next one of its process."""
        last: dict[str, int] = {}
        pairs = []
        clients = self.clients.take(pa.array(knot)).to_pylist()
        for place, client in enumerate(clients):
            if self.done[knot[place]]:
                if client in last:
                    pairs.append((last[client], place))
                last[client] = place
        return Edges.of(pairs)

    def _coarse(self, found: Mapping[str, AnomalyRow]) -> Iterator[AnomalyRow]:
        """Elle's names for the weakest promises that any cycle breaks."""
        plain = "G0" if "G0" in found else "G1c" if "G1c" in found else None
        strong = next((name for name in ("G0-realtime", "G1c-realtime") if name in found), None)
        names = {"G0": "PL-1", "G1c": "PL-2", "G0-realtime": "strong-PL-1", "G1c-realtime": "strong-PL-2"}
        chosen = [plain] if plain else []
        if strong and plain != "G0" and not (plain == "G1c" and strong == "G1c-realtime"):
            chosen.append(strong)
        for name in chosen:
            yield {**found[name], "name": f"{names[name]}-cycle-exists"}

    def _steps(self, path: list[int], knot: Int64Array, kinds: Sequence[str]) -> Iterator[CycleStep]:
        """Each edge of a cycle between operations: its kind, its ends, and for data the row that tells of it."""
        ops = [int(self.ops[knot[place]]) if place < len(knot) else None for place in path]
        nodes = [op for op in ops if op is not None]
        around = list(zip(ops, [*ops[1:], ops[0]], strict=True))
        direct = {(a, b) for a, b in around if a is not None and b is not None}
        for a, b in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
            for kind in reversed(kinds) if (a, b) in direct else ():
                if (row := self._told(kind, a, b)) is not None:
                    yield kind, a, b, row
                    break
            else:
                yield "process" if (a, b) in direct else "realtime", a, b, None

    def _told(self, kind: str, a: int, b: int) -> AnomalyRow | None:
        table = self.tables[kind]
        mask = pc.and_(pc.equal(table.column("from_op"), a), pc.equal(table.column("to_op"), b))
        rows: list[AnomalyRow] = table.filter(mask).to_pylist()
        return rows[0] if rows else None

    def _row(self, name: str, steps: Sequence[CycleStep]) -> AnomalyRow:
        told = [row for *_, row in steps if row is not None]
        first, second, third, *_ = [*(a for _, a, _, _ in steps), None, None, None]
        binding = all(row["binding"] for row in told)
        return {
            "history": self.history,
            "name": name,
            "topic": told[0]["topic"],
            "partition": told[0]["partition"],
            "op_a": first,
            "op_b": second,
            "op_c": third,
            "listed_values": [row["value"] for row in told],
            "judged": int(name.startswith("G1c") and self.weak and binding),
            "sentence": "; ".join(_told(kind, a, b, row) for kind, a, b, row in steps[:8]) + ".",
        }


def _told(kind: str, a: int, b: int, row: AnomalyRow | None) -> str:
    where = f" (key {row['topic']})" if row is not None else ""
    return f"{a} {_WORDS[kind]} {b}{where}"
