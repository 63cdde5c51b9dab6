"""Random small histories: well formed, as a recorder writes them, but of brokers that do whatever the dice say."""

from random import Random

from msgspec import structs

from brokertrial.histories.header import Header
from brokertrial.histories.rows import Batch, Client, Event, Membership, Operation, Record, Row

OUTCOMES = ["ok", "ok", "ok", "info", "fail"]


class Dice:
    """Rolls one history. `mischief`: how often the broker lies."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.rows: list[Row] = []
        self.op = 0
        self.now = 0
        self.mischief = rng.choice([0.0, 0.1, 0.3, 1.0])
        self.logs: dict[tuple[str, int], list[int]] = {}

    def lies(self) -> bool:
        return self.rng.random() < self.mischief

    def roll(self) -> tuple[Header, list[Row]]:
        header = Header(case="tests/random", target="dice", nodes=self.rng.choice([None, 1, 3]),
                        unclean_election=self.rng.random() < 0.15)  # fmt: skip
        self._clients()
        for _ in range(self.rng.randrange(3, 25)):
            self.rng.choice([self._send, self._send, self._send, self._read, self._read, self._commit, self._end])()
        for extra in (self._cut, self._compact, self._delete, self._window, self._final, self._batches, self._forget):
            if self.rng.random() < 0.25:
                extra()
        for extra in (self._group, self._derive, self._final_committed, self._owners):
            if self.rng.random() < 0.8:
                extra()
        for extra in (self._ask, self._log, self._resume, self._limits, self._stall, self._pipe):
            if self.rng.random() < 0.5:
                extra()
        return header, self.rows

    # What only some checks look at, each kind of it in half of the histories.

    def _ask(self) -> None:
        """Answers about ends and starts, with epochs that are few enough to meet again."""
        rng = self.rng
        for _ in range(rng.randrange(2, 9)):
            end, kind = rng.randrange(0, 9), rng.choice(["fetch", "list_offsets", "list_offsets", "delete_records"])
            self._operation(
                kind=kind, client="u", topic="t", partition=rng.choice([0, 0, 1]), node=rng.choice([None, 1, 1, 2]),
                outcome=rng.choice(OUTCOMES), high_watermark=rng.choice([None, end, end]),
                last_stable=rng.choice([None, end, max(0, end - 1), end + 1 if self.lies() else end]),
                log_start=rng.choice([None, 0, 0, rng.randrange(0, 3)]), leader_epoch=rng.choice([None, 1, 1, 2]),
                base_offset=0 if kind == "delete_records" else None,
            )  # fmt: skip
        if rng.random() < 0.2:
            at = rng.randrange(0, self.now + 1)
            self.rows.append(Event(kind="hit", at_ns=at, window="w2", fields='{"decision":"kill"}'))

    def _log(self) -> None:
        """A log of batches: producers, epochs, sequences, markers, now and then as no broker may write them."""
        rng, offset, epoch = self.rng, 0, 1
        sequences: dict[tuple[int, int], int] = {}
        for _ in range(rng.randrange(2, 9)):
            producer, age, size = rng.choice([7, 7, 8]), rng.choice([0, 0, 1]), rng.choice([1, 1, 2])
            control = rng.choice([None, None, None, "COMMIT", "ABORT"])
            sequence = sequences.get((producer, age), 0)
            sequences[producer, age] = sequence + size
            epoch += rng.random() < 0.1
            shift = rng.choice([-1, 1, 2]) if self.lies() else 0
            batch = Batch(
                topic="t", partition=0, base_offset=offset, last_offset=offset + size - 1,
                leader_epoch=None if rng.random() < 0.1 else epoch + rng.choice([0, 0, shift]), producer_id=producer,
                producer_epoch=age, base_sequence=-1 if control else max(0, sequence + rng.choice([0, shift])),
                transactional=rng.random() < 0.8, control=control, seen_at=rng.choice(["final", "final", "fetch"]),
                coordinator_epoch=rng.choice([None, 2, 2, 1]) if control else None, client="u",
            )  # fmt: skip
            self.rows.append(batch)
            if rng.random() < 0.3:
                again = structs.replace(batch, last_offset=batch.last_offset + (1 if self.lies() else 0), node=2)
                self.rows.append(again)
            if control is None and rng.random() < 0.6:
                self.rows.append(structs.replace(
                    batch, base_offset=offset if not self.lies() else offset + 1, seen_at="produce", client="p",
                    last_offset=offset + size - 1 if not self.lies() else offset + size, error=rng.choice([0, 0, None]),
                ))  # fmt: skip
                self.rows.append(structs.replace(self.rows[-1], base_offset=offset, last_offset=offset + size - 1))
            offset += size + (rng.random() < 0.1)

    def _resume(self) -> None:
        """Members of a group take over partitions: commits before, streams after."""
        rng, log = self.rng, self.logs.get(("t", 0), [])
        for name in ("n1", "n2"):
            self.rows.append(Client(client=name, library="librdkafka", mode="subscribe", group="j",
                                    protocol=rng.choice([None, "classic", "classic", "consumer"])))  # fmt: skip
        for number in range(rng.randrange(2, 6)):
            member = rng.choice(["n1", "n2"])
            if rng.random() < 0.6:
                self._operation(kind="commit", client=member, topic="t", partition=0, group="j",
                                generation=rng.choice([None, 1, 2, 3]), outcome=rng.choice(["ok", "ok", "ok", "info"]),
                                committed_offset=rng.randrange(0, len(log) + 2))  # fmt: skip
            self.rows.append(Membership(group="j", member=member, client=member, generation=rng.choice([-1, 1, 2, 3]),
                                        topic="t", partition=0, from_ns=self.now + rng.choice([-9, 1])))  # fmt: skip
            self.now += rng.randrange(0, 9)
            start = rng.randrange(0, len(log) + 1)
            row = self._operation(kind="poll", client=member, topic="t", partition=0, outcome="ok", count=1)
            for place, offset in enumerate(range(start, min(start + 2, len(log)))):
                self.rows.append(Record(op=row.op, client=member, topic="t", partition=0, offset=offset,
                                        value=log[offset], side="seen", stream=70 + number, position=place,
                                        outcome="ok"))  # fmt: skip
        if rng.random() < 0.05:
            self._operation(kind="seek", client="n1", topic="t", partition=0, outcome="ok")

    def _limits(self) -> None:
        """The topic's limits are known, its records have keys and times, and some are gone."""
        rng = self.rng
        limits = rng.choice([
            '"cleanup_policy":"compact"', *['"cleanup_policy":"compact","min_compaction_lag_ms":1000'] * 2,
            '"cleanup_policy":"delete","retention_ms":1000,"retention_bytes":-1',
            '"cleanup_policy":"delete","retention_ms":-1,"retention_bytes":-1', '"cleanup_policy":"compact,delete"',
        ])  # fmt: skip
        self.rows.append(Event(kind="topic", at_ns=0, topic="t", fields="{" + limits + "}"))
        for row in self.rows:
            if isinstance(row, Record) and row.side == "sent" and rng.random() < 0.9:
                row.key, row.tombstone = rng.choice([0, 1, 2]), rng.random() < 0.1
                row.timestamp = 5_000 if rng.random() < 0.9 else 1_000
        for partition in (0, 1):
            end = len(self.logs.get(("t", partition), []))
            self.rows.append(Event(kind="final-read", at_ns=self.now, topic="t", partition=partition, offset=end,
                                   client=rng.choice("uc")))  # fmt: skip
        if log := self.logs.get(("t", 0)):
            row = self._operation(kind="poll", client="u", topic="t", partition=0, outcome="ok", count=1)
            self.rows.append(Record(op=row.op, client="u", topic="t", partition=0, offset=len(log) - 1, value=log[-1],
                                    side="seen", stream=95, position=0, prev_offset=-1, outcome="ok"))  # fmt: skip
        if rng.random() < 0.7:
            late = rng.choice([0, 0, 2_000_000_000])
            self._operation(kind="list_offsets", client="u", topic="t", partition=0, outcome="ok",
                            log_start=rng.randrange(0, 4)).return_ns = self.now + late  # fmt: skip

    def _stall(self) -> None:
        """Faults that were taken back, and calls that wait long for their answers afterwards."""
        rng = self.rng
        self.rows.append(Event(kind="window-begin", at_ns=self.now, window="w10"))
        if rng.random() < 0.9:
            self.rows.append(Event(kind="window-healed", at_ns=self.now + 1, window="w10"))
        self.rows += [Event(kind="window-healed", at_ns=self.now, window="w2")]
        self.now += rng.choice([0, 1, 2])
        for _ in range(rng.randrange(1, 4)):
            row = self._operation(kind=rng.choice(["send", "send", "commit"]), client=rng.choice("pq"), topic="t",
                                  partition=rng.choice([0, 1]), group="x", outcome=rng.choice(["ok", "info", "info"]),
                                  committed_offset=0)  # fmt: skip
            row.return_ns = rng.choice([row.return_ns, row.call_ns + 70_000_000_000, None])

    def _pipe(self) -> None:
        """Copies of what lies in t-0 go to t-1 without transactions; the group commits as it goes."""
        rng = self.rng
        inputs = [row for row in self.rows if isinstance(row, Record) and row.side == "sent" and row.partition == 0]
        made = []
        for source in inputs:
            if rng.random() < 0.6:
                self.values += 1
                outcome = rng.choice(["ok", "ok", "info"])
                row = self._operation(kind="send", client="p", topic="t", partition=1, outcome=outcome, count=1)
                self.rows.append(Record(op=row.op, client="p", topic="t", partition=1, value=self.values, side="sent",
                                        outcome=outcome, derived_from=source.value))  # fmt: skip
                made.append(self.values)
        self._operation(kind="commit", client="m", topic="t", partition=0, group="y", outcome=rng.choice(OUTCOMES),
                        committed_offset=rng.randrange(0, 9))  # fmt: skip
        row = self._operation(kind="poll", client="u", topic="t", partition=1, outcome="ok")
        for number, value in enumerate(made):
            if rng.random() < 0.7:
                self.rows.append(Record(op=row.op, client="u", topic="t", partition=1, offset=20 + number, value=value,
                                        side="seen", stream=80, position=number, outcome="ok"))  # fmt: skip
        for topic, partition in [("t", 0), ("t", 1), ("s", 0)]:
            if rng.random() < 0.9:
                self.rows.append(Event(kind="final-read", at_ns=self.now, topic=topic, partition=partition, offset=30))

    def _clients(self) -> None:
        rng = self.rng
        for name in ("p", "q"):
            self.rows.append(Client(
                client=name, library=rng.choice(["wire", "librdkafka"]), acks=rng.choice([-1, -1, -1, 1, 0, None]),
                idempotence=rng.choice([True, True, False, None]), retries=rng.choice([None, 0, 5]),
                transactional_id=rng.choice([None, None, "tx"]), isolation=None,
            ))  # fmt: skip
        for name in ("u", "c"):
            self.rows.append(Client(
                client=name, library="wire",
                isolation="read_committed" if name == "c" else rng.choice([None, "read_uncommitted"]),
                mode=rng.choice(["assign", "subscribe", "subscribe", None]),
                protocol=rng.choice([None, "classic", "classic", "consumer"]),
                group=rng.choice([None, "g", "h"]), auto_commit=rng.choice([None, None, False, True]),
            ))  # fmt: skip
        self.streams = dict.fromkeys(("u", "c"), 0)
        self.last: dict[tuple[str, int, str, int], int] = {}
        self.places: dict[tuple[str, str, int], int] = {}
        self.values = 0
        self.commits = 0

    def _operation(self, **fields: object) -> Operation:
        self.op += 1
        self.now += self.rng.randrange(0, 6)
        long = self.rng.random() < 0.2
        back = None if self.rng.random() < 0.05 else self.now + self.rng.randrange(0, 40 if long else 6)
        row = Operation(op=self.op, call_ns=self.now, return_ns=back, **fields)  # type: ignore[arg-type]
        if not long and back is not None:
            self.now = back
        self.rows.append(row)
        return row

    def _place(self) -> tuple[str, int]:
        return self.rng.choice([("t", 0), ("t", 0), ("t", 0), ("t", 1), ("s", 0)])

    def _send(self) -> None:
        rng = self.rng
        client, (topic, partition) = rng.choice("pq"), self._place()
        outcome, txn = rng.choice(OUTCOMES), rng.choice([None, None, 1, 2, 3])
        log = self.logs.setdefault((topic, partition), [])
        size = rng.choice([1, 1, 1, 2])
        values = [self._value() for _ in range(size)]
        base = len(log)
        if outcome != "fail" or self.lies():
            log += values
        if self.lies():
            base = rng.randrange(0, 6)
        told = base if outcome == "ok" and rng.random() < 0.9 else rng.choice([None, None, base])
        row = self._operation(kind="send", client=client, topic=topic, partition=partition, outcome=outcome, txn=txn,
                              base_offset=told, count=size)  # fmt: skip
        epoch = rng.choice([None, 1, 2])
        for number, value in enumerate(values):
            key = (client, topic, partition)
            self.places[key] = self.places.get(key, -1) + 1
            self.rows.append(Record(
                op=row.op, client=client, topic=topic,
                partition=-1 if outcome != "ok" and rng.random() < 0.1 else partition,
                offset=None if told is None else told + number, value=value, side="sent", position=self.places[key],
                outcome=outcome, txn=txn, leader_epoch=epoch,
            ))  # fmt: skip
        if self.lies() and log:
            rng.choice([lambda: log.pop(), lambda: log.append(rng.choice(log)), lambda: log.reverse()])()

    def _value(self) -> int:
        if self.rng.random() < 0.03 and self.values:
            return self.rng.randrange(self.values)
        self.values += 1
        return self.values

    def _read(self) -> None:
        rng = self.rng
        client, (topic, partition) = rng.choice("uc"), self._place()
        if rng.random() < 0.3:
            self.streams[client] += 1
        stream = self.streams[client]
        key = (client, stream, topic, partition)
        log = self.logs.get((topic, partition), [])
        if key not in self.last:
            start = rng.choice([0, 0, rng.randrange(0, 4)])
            self.last[key] = start - 1
            known = rng.random() < 0.8
        else:
            known = True
        offsets = list(range(self.last[key] + 1, len(log)))[: rng.randrange(0, 6)]
        if self.lies():
            offsets = [rng.randrange(0, 7) for _ in range(rng.randrange(0, 4))]
        elif rng.random() < 0.2:
            offsets = [offset for offset in offsets if rng.random() < 0.7]
        row = self._operation(kind=rng.choice(["poll", "fetch"]), client=client, topic=topic, partition=partition,
                              outcome=rng.choice(OUTCOMES), count=len(offsets),
                              high_watermark=rng.choice([None, None, len(log)]))  # fmt: skip
        for offset in offsets:
            place = ("seen " + client, f"{stream} {topic}", partition)
            self.places[place] = self.places.get(place, -1) + 1
            value: int | None = log[offset] if offset < len(log) else rng.randrange(0, 9)
            if self.lies():
                value = rng.choice([None, rng.randrange(0, 9)])
            self.rows.append(Record(
                op=row.op, client=client, topic=topic, partition=partition, offset=offset, value=value, side="seen",
                intact=rng.random() > 0.05 * self.mischief, stream=stream, position=self.places[place],
                prev_offset=self.last[key] if known else None, outcome=row.outcome,
                leader_epoch=rng.choice([None, 1, 2]),
            ))  # fmt: skip
            self.last[key], known = offset, True

    def _end(self) -> None:
        kind = self.rng.choice(["commit_txn", "commit_txn", "abort_txn"])
        self._operation(kind=kind, client="p", outcome=self.rng.choice(OUTCOMES), txn=self.rng.choice([1, 2, 3]))

    def _commit(self) -> None:
        rng = self.rng
        kind, group = rng.choice(["commit", "committed"]), rng.choice(["g", "g", "h"])
        offset, known = rng.randrange(-1 if kind == "committed" else 0, 4), None
        if kind == "commit":
            self.commits += 1
            known = self.commits
        elif rng.random() < 0.8 and self.commits:
            known = rng.randrange(1, self.commits + 1)
            commits = [row for row in self.rows if isinstance(row, Operation) and row.kind == "commit"]
            offset = next(row.committed_offset or 0 for row in commits if row.commit_id == known)
        if offset < 0:
            known = None
        if rng.random() < 0.1:
            known = None if kind == "committed" else known
        self._operation(kind=kind, client=rng.choice("uc"), topic="t", partition=0, group=group,
                        committed_offset=offset, commit_id=known, outcome=rng.choice(OUTCOMES),
                        txn=rng.choice([None, None, None, 1, 2]) if kind == "commit" else None)  # fmt: skip

    def _cut(self) -> None:
        asked = self.rng.randrange(0, 4)
        self._operation(kind="delete_records", client="u", topic="t", partition=0, outcome=self.rng.choice(OUTCOMES),
                        base_offset=asked, log_start=self.rng.choice([None, -1, asked]))  # fmt: skip

    def _compact(self) -> None:
        policy = self.rng.choice(["compact", "delete"])
        self.rows.append(
            Event(kind="topic", at_ns=0, topic=self.rng.choice("ts"), fields=f'{{"cleanup_policy":"{policy}"}}')
        )

    def _delete(self) -> None:
        if self.rng.random() < 0.3:
            kind, topic, group = self.rng.choice([("delete_topic", "s", None), ("delete_group", None, "h")])
            self._operation(kind=kind, client="u", topic=topic, group=group, outcome=self.rng.choice(OUTCOMES))

    def _window(self) -> None:
        self.rows.append(Event(kind="window-begin", at_ns=0, window="w2"))

    def _final(self) -> None:
        for topic, partition in [("t", 0), ("t", 1)]:
            end = len(self.logs.get((topic, partition), [])) + (self.rng.randrange(0, 3) if self.lies() else 0)
            self.rows.append(Event(kind="final-read", at_ns=self.now, topic=topic, partition=partition, offset=end))

    def _group(self) -> None:
        """A member of a group that is given some of a partition, and commits somewhere."""
        rng, log = self.rng, self.logs.get(("t", 0), [])
        self.rows.append(Client(client="m", library="librdkafka", mode="subscribe", group="k", auto_commit=False))
        given = [offset for offset in range(len(log)) if rng.random() < 0.5]
        row = self._operation(kind="poll", client="m", topic="t", partition=0, outcome="ok", count=len(given))
        for offset in given:
            self.rows.append(Record(op=row.op, client="m", topic="t", partition=0, offset=offset, value=log[offset],
                                    side="seen", stream=90, position=offset, outcome="ok"))  # fmt: skip
        self._operation(kind="commit", client="m", topic="t", partition=0, group="k", outcome=rng.choice(OUTCOMES),
                        committed_offset=max(0, len(log) - rng.choice([0, 0, 1])),
                        txn=rng.choice([None, 1]))  # fmt: skip

    def _final_committed(self) -> None:
        for txn in (1, 2, 3):
            if self.rng.random() < 0.5:
                self._operation(kind="commit_txn", client="p", outcome="ok", txn=txn)
        for topic, partition in [("t", 0), ("t", 1), ("s", 0)]:
            if self.rng.random() < 0.9:
                end = max(0, len(self.logs.get((topic, partition), [])) - self.rng.choice([0, 0, 1]))
                kind = "final-read-committed"
                self.rows.append(Event(kind=kind, at_ns=self.now, topic=topic, partition=partition, offset=end))

    def _derive(self) -> None:
        """Some of the records sent were copies of others."""
        sent = [row for row in self.rows if isinstance(row, Record) and row.side == "sent"]
        for row in sent[2:]:
            if self.rng.random() < 0.8:
                row.derived_from = self.rng.choice(sent[:2]).value

    def _owners(self) -> None:
        rng, now, pace = self.rng, 0, self.rng.choice([1, 1, 40_000_000_000])
        for _ in range(rng.randrange(2, 9)):
            now += rng.randrange(0, 4) * pace
            self.rows.append(Membership(
                group=rng.choice(["g", "g", "h"]), member=rng.choice(["m1", "m2", "m3"]), client=rng.choice("uc"),
                generation=rng.choice([-1, 1, 2, 2, 3]), topic="t", partition=rng.choice([0, 0, 1]), from_ns=now,
                until_ns=rng.choice([None, now + 2 * pace, now + 9 * pace]),
            ))  # fmt: skip

    def _batches(self) -> None:
        rng = self.rng
        for offset in range(rng.randrange(1, 7)):
            self.rows.append(Batch(
                topic="t", partition=0, base_offset=offset, last_offset=offset + rng.choice([0, 0, 1]),
                producer_id=rng.choice([-1, 7, 7]), producer_epoch=rng.choice([0, 0, 1]),
                base_sequence=rng.randrange(-1, 3),
                seen_at=rng.choice(["final", "final", "fetch", "produce"]), control=rng.choice([None, None, "COMMIT"]),
                client=rng.choice("pq"), node=rng.choice([1, 1, 2]), request_ns=rng.choice([1, 2, 3]),
            ))  # fmt: skip

    def _forget(self) -> None:
        """A history of others that does not know how its streams went on."""
        for row in self.rows:
            if isinstance(row, Record) and row.side == "seen" and self.rng.random() < 0.3:
                row.prev_offset = None


def random_history(seed: int) -> tuple[Header, list[Row]]:
    """The history of this seed."""
    return Dice(Random(seed)).roll()
