"""Thousands of small random Jepsen histories: queries, oracle over rows, and oracle over the raw operations agree."""

import itertools
import json
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from brokertrial.checkers.jepsen import jepsen_checks
from brokertrial.histories.formats.jepsen import Jepsen
from brokertrial.histories.formats.settings import Settings
from brokertrial.histories.header import Header
from brokertrial.histories.rows import Event
from tests.checkers.agreement import relations
from tests.checkers.oracle.facts import Facts
from tests.checkers.oracle.jepsen import DEFINITIONS, JepsenHistory, JepsenOp, Rules, jepsen_history

BATCH = 60
KEYS = ("x", 7)


def random_ops(rng):
    """A handful of operations: a log with some truth in it, and some lies."""
    logs = {key: [] for key in KEYS}
    fresh = {key: itertools.count(1) for key in KEYS}
    ops, busy = [], {}
    subscribing = rng.random() < 0.3
    for _ in range(rng.randrange(6, 22)):
        process = rng.randrange(3)
        if process in busy:
            ops.append(complete(rng, busy.pop(process), logs))
            continue
        f = rng.choice(["send", "poll", "poll", "txn", "txn", "assign"])
        if f == "assign":
            value = rng.sample(KEYS, rng.randrange(3))
            f = "subscribe" if subscribing and rng.random() < 0.5 else "assign"
        else:
            kinds = [rng.choice(["send", "poll"]) if f == "txn" else f for _ in range(rng.randrange(1, 4))]
            value = [["poll"] if kind == "poll" else send(rng, fresh) for kind in kinds]
        op = {"process": process, "type": "invoke", "f": f, "value": value}
        if rng.random() < 0.85:
            ops.append(op)
        if rng.random() < 0.9:
            busy[process] = op
    ops += [complete(rng, op, logs) for op in busy.values() if rng.random() < 0.9]
    index = 0
    for op in ops:
        op["index"] = index = index + rng.choice([1, 1, 1, 3])
    return ops


def send(rng, fresh):
    key = rng.choice(KEYS)
    again = rng.random() < 0.04
    return ["send", key, 1 if again else next(fresh[key])]


def complete(rng, op, logs):
    kind = rng.choices(["ok", "fail", "info"], [7, 1, 2])[0]
    if op["f"] in ("assign", "subscribe"):
        return op | {"type": kind}
    moves = [done(rng, move, kind, logs) for move in op["value"]]
    log = [{"type": "revoked", "keys": [rng.choice(KEYS)]}] if rng.random() < 0.1 else None
    return op | {"type": kind, "value": moves, "rebalance-log": log}


def done(rng, move, kind, logs):
    if move[0] == "send":
        _, key, value = move
        offset = len(logs[key]) + rng.choice([0, 0, 0, 1]) if rng.random() < 0.8 else rng.randrange(6)
        if rng.random() < (0.3 if kind == "fail" else 0.93):
            logs[key] += [None] * (offset + 1 - len(logs[key]))
            logs[key][offset] = value
        return ["send", key, value if rng.random() < 0.1 else [offset if rng.random() < 0.85 else None, value]]
    read = {}
    for key in KEYS:
        if rng.random() < 0.6:
            start, stop = sorted((rng.randrange(7), rng.randrange(7))) if rng.random() < 0.6 else (0, 99)
            pairs = [[at, value] for at, value in enumerate(logs[key]) if start <= at < stop and value is not None]
            if rng.random() < 0.08:
                pairs.append([rng.choice([None, 0, 1, 5]), rng.randrange(1, 12)])
            if rng.random() < 0.08:
                rng.shuffle(pairs)
            read[str(key)] = pairs
    return ["poll", read]


def parse(ops):
    """The operations for the oracle, read as naively as can be, apart from the importer."""
    found, begun, latest = [], {}, -1
    for op in ops:
        before = begun.pop(op["process"], None)
        if before is not None and (op["type"] == "invoke" or before["f"] != op["f"]):
            found.append(naive(before | {"type": "info"}))
        if op["type"] == "invoke":
            begun[op["process"]] = op
        else:
            found.append(naive(op))
        latest = op["index"]
    return [*found, *(naive(op | {"type": "info"}) for op in begun.values())], latest


def naive(op):
    sends, reads, keys = {}, {}, frozenset()
    if op["f"] in ("assign", "subscribe"):
        keys = frozenset(str(key) for key in op["value"])
    else:
        for move in op["value"]:
            if move[0] == "send":
                pair = move[2] if isinstance(move[2], list) else [None, move[2]]
                sends.setdefault(str(move[1]), []).append(tuple(pair))
            elif len(move) > 1:
                for key, pairs in move[1].items():
                    reads.setdefault(key, []).extend(tuple(pair) for pair in pairs)
    reads = {key: pairs for key, pairs in reads.items() if pairs}
    moved = frozenset(str(key) for entry in op.get("rebalance-log") or () for key in entry["keys"])
    return JepsenOp(op["index"], str(op["process"]), op["type"], op["f"], sends, reads, keys, moved)


class Tale:
    """One random history, in all forms."""

    def __init__(self, seed, folder):
        rng = Random(seed)
        self.ops = random_ops(rng)
        file = folder / f"{seed}.jsonl"
        file.write_text("".join(json.dumps(op) + "\n" for op in self.ops))
        self.reader = Jepsen(file)
        rows = list(self.reader.rows())
        rows += self.reader.clients(Settings())
        rows.append(Event(kind="ww-edges", at_ns=1))
        self.facts = Facts(Header(case="jepsen", target="random"), rows)
        self.header = self.facts.header
        ops, _ = parse(self.ops)
        self.story = JepsenHistory(ops, Rules(subscribes=any(op["f"] == "subscribe" for op in self.ops)))

    def rows(self, table):
        return self.facts.rows(table)

    def shown(self, name, rows, known=False):
        """Rows as what the command line prints of them; raw values are shown as they are."""
        check = jepsen_checks()[name]
        anomalies = [(check.anomaly({"sentence": "-", **row}), bool(row.get("judged", 1))) for row in rows]
        value_of = (lambda value: value) if known else self.reader.legend.value_of
        return sorted(
            (a.name, a.topic, a.offsets, tuple(map(value_of, a.values)), a.operations, judged)
            for a, judged in anomalies
        )


def compare(tales):
    counts = dict.fromkeys(DEFINITIONS, 0)
    with DuckDBEngine.over_tables(relations(tales)) as duck:
        for name, definition in DEFINITIONS.items():
            asked = duck.ask(jepsen_checks()[name].query)
            for number, tale in enumerate(tales):
                query = tale.shown(name, [row for row in asked if row["history"] == number])
                raw = tale.shown(name, definition(tale.story), known=True)
                rows = tale.shown(name, definition(jepsen_history(tale.facts)))
                assert query == raw, (name, tale.ops)
                assert rows == raw, (name, tale.ops)
                counts[name] += bool(raw)
        cycles(tales, duck)
    return counts


def cycles(tales, duck):
    """G0, G1c and their realtime kin against the closure of all paths."""
    check = jepsen_checks()["cycles"]
    found = list(check.find({name: duck.table(query) for name, query in check.projections.items()}))
    for number, tale in enumerate(tales):
        names = {row["name"] for row in found if row["history"] == number}
        ww, wr, realtime = dependencies(tale)
        for name, edges, needed in (("G0", ww, ww), ("G1c", ww | wr, wr)):
            plain, timed = circular(edges, needed), circular(edges | realtime, needed)
            assert (name in names) == plain, tale.ops
            assert f"{name}-realtime" not in names or timed, tale.ops
            if timed and not plain and name == "G0":
                assert "G0-realtime" in names or "G1c" in names, tale.ops


def dependencies(tale):
    story = tale.story
    writers = {(key, value): op.op for op in story.ops for key, pairs in op.sends.items() for _, value in pairs}
    ww, wr = set(), set()
    for key in story.keys:
        for value in {value for values in story.logs[key].values() for value in values}:
            place = story.index(key, value)
            if place:
                one = story.order[key][place - 1]
                ww |= {(a.op, b.op) for a in story.senders(key, one) for b in story.senders(key, value)}
    for (key, value), _ in writers.items():
        wr |= {(a.op, b.op) for a in story.senders(key, value) for b in story.readers(key, value)}
    calls = {op.op: op for op in tale.facts.operations}
    realtime = {
        (a, b)
        for a, b in itertools.permutations(calls, 2)
        if calls[a].outcome == "ok" and calls[a].return_ns < calls[b].call_ns
    }
    return ({(a, b) for a, b in edges if a != b} for edges in (ww, wr, realtime))


def circular(edges, needed):
    reach = set(edges)
    while True:
        more = {(a, d) for a, b in reach for c, d in edges if b == c} - reach
        if not more:
            return any((b, a) in reach for a, b in needed)
        reach |= more


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("random")


def test_all_three_agree_and_every_definition_is_tried(folder):
    counts = compare([Tale(seed, folder) for seed in range(4 * BATCH)])
    assert min(counts.values()) > 1, counts


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(min_value=10_000, max_value=2**40))
def test_they_agree_on_histories_that_nobody_chose(folder, seed):
    compare([Tale(seed + number, folder) for number in range(BATCH)])
