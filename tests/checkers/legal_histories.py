"""Random histories of a broker that keeps its promises: groups, transactions, pipelines, cleaning, retention."""

from functools import cached_property
from random import Random

from brokertrial.histories.header import Header
from brokertrial.histories.rows import Batch, Client, Event, Membership, Operation, Record, Row

STEP = 4_000
"""Nanoseconds from one call to the next, on average."""
SLOW = 50_000_000
"""How long after the last send everything is read for the last time."""

Log = list[tuple[int, str]]
"""One partition: the value at each offset and what it is: plain, committed, aborted, marker."""


class Legal:
    """One history of about `operations` calls. `logs` is what the broker stores."""

    def __init__(self, seed: int, operations: int) -> None:
        self.rng = Random(seed)
        self.header = Header(case="tests/legal", target="nobody", nodes=3)
        self.rows: list[Row] = []
        self.logs: dict[tuple[str, int], Log] = {}
        self.cleaned: set[tuple[str, int, int]] = set()
        self.op = self.value = self.now = self.commit_id = self.stream = self.txn = 0
        self.places: dict[tuple[str, str, int], int] = {}
        self.sequences: dict[tuple[str, str, int], int] = {}
        self._committed: dict[int, int] = {}
        self._began = self.cut = 0
        self.latest: set[tuple[str, int, int]] = set()
        self._those: dict[tuple[type, tuple[tuple[str, object], ...]], list[Row]] = {}
        self._clients()
        self._busy(max(1, operations // 15))
        self.now += SLOW
        self._read_all()

    def operation(self, kind: str, client: str, **fields: object) -> Operation:
        """One call, which returns before the next begins or while the next few run."""
        self.op += 1
        self.now += self.rng.randrange(1, 2 * STEP)
        ret = self.now + self.rng.choice([1, 1, STEP, 3 * STEP])
        fields = {"outcome": "ok", **fields}
        row = Operation(op=self.op, client=client, kind=kind, call_ns=self.now, return_ns=ret, **fields)
        self.rows.append(row)
        if fields["outcome"] == "ok" and kind != "send":
            self.now = ret  # questions are asked one at a time
        return row

    def _clients(self) -> None:
        for name in ("p1", "p2"):
            self.rows.append(Client(client=name, library="librdkafka", acks=-1, idempotence=True))
        for name in ("x1", "x2"):
            self.rows.append(
                Client(client=name, library="librdkafka", acks=-1, idempotence=True, transactional_id=f"tx-{name}")
            )
        for name, isolation in (("r", "read_uncommitted"), ("c", "read_committed"), ("asker", "read_uncommitted")):
            self.rows.append(Client(client=name, library="wire", isolation=isolation, mode="assign"))
        for name in ("m1", "m2"):
            self.rows.append(
                Client(client=name, library="librdkafka", isolation="read_uncommitted", mode="subscribe", group="g",
                       protocol="classic", auto_commit=False)
            )  # fmt: skip
        self.rows.append(Event(kind="topic", at_ns=0, topic="k",
                               fields='{"cleanup_policy":"compact","min_compaction_lag_ms":1}'))  # fmt: skip
        self.rows.append(Event(kind="topic", at_ns=0, topic="d",
                               fields='{"cleanup_policy":"delete","retention_ms":2,"retention_bytes":-1}'))  # fmt: skip

    def _busy(self, rounds: int) -> None:
        rng = self.rng
        for turn in range(rounds):
            for _ in range(6):
                self.send(rng.choice(["p1", "p2"]), "t", rng.randrange(4), lost=rng.random() < 0.02)
            self.send("p1", rng.choice("kd"), 0, key=rng.randrange(40))
            self.send("p2", "g", rng.randrange(2))
            if turn % 3 == 0:
                self._transaction(aborts=rng.random() < 0.2)
            elif turn % 3 == 1:
                self._copy(inside=turn % 2 == 0)
            self._register()
            self._ask()
            if turn == rounds // 2:
                self._group("m1", 1, 0)
        self._group("m2", 2, 3)

    def send(self, client: str, topic: str, partition: int, *, lost: bool = False, key: int | None = None,
             txn: int | None = None, source: int | None = None) -> Operation:  # fmt: skip
        """One record: stored, and acknowledged unless the answer is lost."""
        log = self.logs.setdefault((topic, partition), [])
        self.value += 1
        offset, outcome = len(log), "info" if lost else "ok"
        if topic != "k" and topic != "d" and txn is None and not lost and self.rng.random() < 0.01:
            self.now += 10 * STEP
        row = self.operation("send", client, topic=topic, partition=partition, outcome=outcome, count=1, txn=txn,
                             base_offset=None if lost else offset)  # fmt: skip
        lane = (client, topic, partition)
        self.places[lane] = self.places.get(lane, -1) + 1
        self.rows.append(Record(
            op=row.op, client=client, topic=topic, partition=partition, offset=None if lost else offset, key=key,
            value=self.value, side="sent", position=self.places[lane], outcome=outcome, txn=txn, derived_from=source,
            timestamp=1_000 + row.call_ns // 1_000_000,
        ))  # fmt: skip
        log.append((self.value, "plain"))
        self._store(client, topic, partition, offset, transactional=txn is not None, told=not lost)
        return row

    def _store(self, client: str, topic: str, partition: int, offset: int, *, transactional: bool, told: bool) -> None:
        lane = (client, topic, partition)
        sequence = self.sequences.get(lane, 0)
        self.sequences[lane] = sequence + 1
        batch = {"topic": topic, "partition": partition, "base_offset": offset, "last_offset": offset,
                 "producer_id": ["p1", "p2", "x1", "x2"].index(client) + 10, "producer_epoch": 0,
                 "base_sequence": sequence, "transactional": transactional}  # fmt: skip
        self.rows.append(Batch(**batch, seen_at="final", client="r", leader_epoch=1))
        for _ in range(2 if self.rng.random() < 0.05 else 1):
            self.rows.append(Batch(**batch, seen_at="produce", client=client, error=0 if told else None))

    def end(self, client: str, txn: int, places: list[tuple[str, int]], *, aborts: bool) -> Operation:
        """Ends a transaction: its call, and a marker in each partition."""
        row = self.operation("abort_txn" if aborts else "commit_txn", client, txn=txn)
        for topic, partition in places:
            log = self.logs[topic, partition]
            for offset in range(len(log) - 1, -1, -1):
                if log[offset][1] != "plain" or log[offset][0] < self._began:
                    break
                log[offset] = (log[offset][0], "aborted" if aborts else "committed")
            self.rows.append(Batch(
                topic=topic, partition=partition, base_offset=len(log), last_offset=len(log), leader_epoch=1,
                producer_id=["p1", "p2", "x1", "x2"].index(client) + 10, producer_epoch=0, base_sequence=-1,
                transactional=True, control="ABORT" if aborts else "COMMIT", coordinator_epoch=2, seen_at="final",
                client="r",
            ))  # fmt: skip
            log.append((-1, "marker"))
        return row

    def _transaction(self, *, aborts: bool) -> None:
        self.txn, self._began = self.txn + 1, self.value + 1
        partitions = self.rng.sample(range(4), 2)
        for partition in partitions:
            self.send("x1", "t", partition, txn=self.txn)
        self.end("x1", self.txn, [("t", partition) for partition in partitions], aborts=aborts)

    def _copy(self, *, inside: bool) -> None:
        """One input and its copy; the input's offset is committed with it, or after it."""
        source, target = ("in", "out") if inside else ("from", "to")
        group, client = f"copy-{source}", "x2" if inside else "p2"
        self.send("p1", source, 0)
        value, end = self.value, len(self.logs[source, 0])
        self.txn, self._began = self.txn + inside, self.value + 1
        txn = self.txn if inside else None
        copied = self.send(client, target, 0, txn=txn, source=value)
        self.now = max(self.now, copied.return_ns or 0)
        self.operation("commit", client, topic=source, partition=0, group=group, committed_offset=end, txn=txn)
        if inside:
            self.end(client, self.txn, [(target, 0)], aborts=False)

    def _register(self) -> None:
        self.commit_id += 1
        offset = self.rng.randrange(10_000)
        for kind in ("commit", "committed"):
            self.operation(kind, "asker", topic="t", partition=0, group="q", committed_offset=offset,
                           commit_id=self.commit_id)  # fmt: skip

    def _ask(self) -> None:
        partition = self.rng.randrange(4)
        end = len(self.logs.get(("t", partition), []))
        self.now += 4 * STEP
        self.operation("fetch", "asker", topic="t", partition=partition, node=1, leader_epoch=1, high_watermark=end,
                       last_stable=end, log_start=0)  # fmt: skip
        self.operation("list_offsets", "asker", topic="t", partition=partition, node=1, leader_epoch=1,
                       high_watermark=end)  # fmt: skip

    def _group(self, member: str, generation: int, repeated: int) -> None:
        """A member takes over, reads all of the group's topic in two polls, and commits but for the last few."""
        self.now += 4 * STEP
        for partition in (0, 1):
            for row in self.rows:
                if isinstance(row, Membership) and row.partition == partition:
                    row.until_ns, row.ended_by = self.now, "revoked"
            self.rows.append(Membership(group="g", member=member, client=member, generation=generation, topic="g",
                                        partition=partition, from_ns=self.now + 1))  # fmt: skip
        self.now += STEP
        for partition in (0, 1):
            log = self.logs.get(("g", partition), [])
            start = self._committed.get(partition, 0) if repeated else 0
            self.poll(member, "g", partition, range(start, len(log)), first=None)
            self._committed[partition] = max(0, len(log) - 3)
            self.operation("commit", member, topic="g", partition=partition, group="g", generation=generation,
                           committed_offset=max(0, len(log) - 3))  # fmt: skip

    def poll(self, client: str, topic: str, partition: int, offsets: range | list[int], first: int | None = -1,
             slices: int = 200) -> None:  # fmt: skip
        """Reads these offsets as one stream, without markers, and without what a committed reader may not see."""
        log = self.logs.get((topic, partition), [])
        hidden = {"marker", "aborted"} if client == "c" else {"marker"}
        shown = [offset for offset in offsets if log[offset][1] not in hidden]
        shown = [offset for offset in shown if (topic, partition, offset) not in self.cleaned]
        self.stream, before = self.stream + 1, first
        for place, offset in enumerate(shown):
            if place % slices == 0:
                row = self.operation("fetch" if client in "rc" else "poll", client, topic=topic, partition=partition)
                if client in "rc":
                    row.high_watermark = row.last_stable = len(log)
            self.rows.append(Record(
                op=row.op, client=client, topic=topic, partition=partition, offset=offset, value=log[offset][0],
                side="seen", stream=self.stream, position=place, prev_offset=before, outcome="ok",
            ))  # fmt: skip
            before = offset

    def _read_all(self) -> None:
        self._clean()
        for (topic, partition), log in sorted(self.logs.items()):
            for client, event in (("r", "final-read"), ("c", "final-read-committed")):
                self.poll(client, topic, partition, range(len(log)))
                self.rows.append(Event(kind=event, at_ns=self.now, topic=topic, partition=partition, client=client,
                                       offset=len(log)))  # fmt: skip

    def _clean(self) -> None:
        """Cleaning leaves the last of each key; retention took a prefix, which all ask for afterwards."""
        last: dict[int | None, int] = {}
        for row in self.rows:
            if isinstance(row, Record) and row.side == "sent" and row.topic == "k" and row.offset is not None:
                if (before := last.get(row.key)) is not None and self.rng.random() < 0.8:
                    self.cleaned.add(("k", 0, before))
                last[row.key] = row.offset
        self.latest = {("k", 0, offset) for offset in last.values()}
        self.cut = cut = len(self.logs.get(("d", 0), [])) // 3
        self.cleaned |= {("d", 0, offset) for offset in range(cut)}
        self.operation("list_offsets", "asker", topic="d", partition=0, log_start=cut)

    # What those look up who put an anomaly into it.

    @cached_property
    def kinds(self) -> dict[type, list[Row]]:
        """The rows by kind."""
        kinds: dict[type, list[Row]] = {}
        for row in self.rows:
            kinds.setdefault(type(row), []).append(row)
        return kinds

    def of(self, kind: type) -> list[Row]:
        """The rows of a kind."""
        return self.kinds[kind]

    def those(self, kind: type, fields: tuple[tuple[str, object], ...]) -> list[Row]:
        """The rows of a kind with these fields; looked for once."""
        if (kind, fields) not in self._those:
            rows = self.of(kind)
            for name, value in fields:
                rows = [row for row in rows if getattr(row, name) == value]
            self._those[kind, fields] = rows
        return self._those[kind, fields]

    @cached_property
    def operations(self) -> dict[int, Operation]:
        """Calls by number."""
        return {row.op: row for row in self.rows if isinstance(row, Operation)}

    @cached_property
    def batches(self) -> dict[tuple[str, int, int], Batch]:
        """What lies in the log, by place."""
        final = (row for row in self.rows if isinstance(row, Batch) and row.seen_at == "final")
        return {(row.topic, row.partition, row.base_offset): row for row in final}

    @cached_property
    def _sightings(self) -> dict[int | None, list[Record]]:
        sightings: dict[int | None, list[Record]] = {}
        for row in self.rows:
            if isinstance(row, Record) and row.side == "seen":
                sightings.setdefault(row.value, []).append(row)
        return sightings

    @cached_property
    def _streams(self) -> dict[tuple[int | None, int | None], Record]:
        return {(row.stream, row.position): row for rows in self._sightings.values() for row in rows}

    def shown(self, value: int | None) -> list[Record]:
        """Who was given a value."""
        return self._sightings.get(value, [])

    def next_shown(self, row: Record) -> Record | None:
        """What the same stream was given next."""
        return self.at(row.stream, (row.position or 0) + 1)

    def at(self, stream: int | None, position: int) -> Record | None:
        """What a stream was given at a position."""
        return self._streams.get((stream, position))
