"""Reads everything at the end of a trial, around the proxy, by a raw client: records, batches; once more committed."""

from __future__ import annotations

from collections.abc import Callable

from brokertrial.histories.clock import now_ns
from brokertrial.histories.payload import read_back
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Batch, Client, Operation, PartitionId, Record
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, ProtocolBroken, Unclear
from brokertrial.suites.probe.fetch import COMMITTED, UNCOMMITTED, Fetched, PositionReader
from brokertrial.suites.probe.wire import Wire

WAIT_MS = 500
FENCED_VERSION = 9
"""The first version of Fetch that names the leader's epoch: an answer without an error comes from that very epoch."""
LOG_APPEND_TIME = 1
METADATA_VERSION = 8
"""Late enough for leader epochs (from 7), early enough for every broker."""
AGREEMENT_NS = 30_000_000_000
"""For all nodes to name the same leaders, after everything was healed."""
AGREEMENT_AT_LEAST_NS = 10_000_000_000
"""The same, from the final read on, where the heal was long ago."""
READING_NS = 25_000_000_000
"""What the wait for open transactions leaves of the time, so that all can still be read."""

Leaders = dict[PartitionId, tuple[int, int]]
"""Leader and leader epoch of partitions."""


class FinalRead:
    """The last look at every partition. `complete` tells which were read to their end."""

    def __init__(self, wire: Wire, recorder: Recorder, gone: Callable[[], bool] = lambda: False) -> None:
        self._wire = wire
        self._gone = gone
        """Whether the target is dead, which is asked where an answer does not come: who is dead is not waited for."""
        self._recorder = recorder
        self._stream = 1 << 40
        self._unfenced: set[PartitionId] = set()
        """Partitions that are read without naming the leader's epoch, since a read that named it came to nothing."""
        self.ends: dict[PartitionId, int] = {}
        self.incomplete: dict[PartitionId, str] = {}
        self.malformed: dict[PartitionId, ProtocolBroken] = {}
        """Answers that no client could read."""
        self.hanging: dict[PartitionId, str] = {}
        """Partitions whose last stable offset stays below the end, long after every transaction must have ended."""

    def everything(self, places: list[PartitionId], within_s: float, transactions: bool, healed_ns: int = 0) -> None:
        """Reads each partition from log start to end; what cannot be read within the time is told, not raised."""
        deadline_ns, healed_ns = now_ns() + int(within_s * 1e9), healed_ns or now_ns()
        agreed_ns = max(healed_ns + AGREEMENT_NS, now_ns() + AGREEMENT_AT_LEAST_NS)
        places = self._await_agreement(places, min(deadline_ns - READING_NS, agreed_ns))
        passes = [("final", UNCOMMITTED)] + ([("final-committed", COMMITTED)] if transactions else [])
        for client, isolation in passes:
            self._recorder.add(Client(client=client, library="wire", isolation=f"read_{isolation}", mode="assign"))
            if isolation == COMMITTED:
                self._await_stability(places, deadline_ns - READING_NS)
            for place in places:
                self._insist(place, client, isolation, deadline_ns)

    def _await_agreement(self, places: list[PartitionId], deadline_ns: int) -> list[PartitionId]:
        """Waits until all nodes name the same leader, in the same epoch; the partitions of which none names another.

        A leader that was frozen takes itself for one until it hears otherwise, and serves a log that ends where it
        froze: all that was acknowledged since would look lost.
        """
        if self._wire.case_context.leaderless:
            return places
        topics = sorted({topic for topic, _ in places})
        while True:
            told = self._told(topics)
            named = {
                place: {leaders.get(place) for leaders in told.values() if leaders is not None} for place in places
            }
            apart = {place for place, leaders in named.items() if len(leaders) > 1}
            if (
                not (apart or None in told.values())
                or now_ns() > deadline_ns
                or (None in told.values() and self._gone())
            ):
                break
            self._wire.rest(0.1)
        for place in apart:
            words = (
                f"{(leaders or {}).get(place)} by node {node}" for node, leaders in told.items() if node is not None
            )
            self.incomplete[place] = f"nodes disagree on its leader and epoch: {', '.join(words)}"
        return [place for place in places if place not in apart]

    def _told(self, topics: list[str]) -> dict[int | None, Leaders | None]:
        """What every node says, and whichever our routes come from (None); None is said by one that does not answer."""
        told: dict[int | None, Leaders | None] = {}
        waiting: list[int | None] = [None]
        while waiting:
            node = waiting.pop()
            try:
                told[node] = self._leaders(node, topics)
                if node is None:
                    self._wire.refresh_metadata()
                    waiting += self._wire.nodes
            except (BrokerAtFault, NotApplicable, Unclear):
                told[node] = None
                self._wire.drop_lines(node)
        return told

    def _leaders(self, node: int | None, topics: list[str]) -> Leaders:
        """Leader and epoch of each partition, as a node tells them."""
        served = self._wire.versions("Metadata")
        version = max(min(served[-1], METADATA_VERSION), served[0])
        answer = self._wire.metadata(*topics, to=node, version=version)
        if answer.error:
            return {}
        return {
            (topic.name, part.partition_index): (part.leader_id, part.leader_epoch)
            for topic in answer.struct.topics
            for part in topic.partitions
        }

    def _await_stability(self, places: list[PartitionId], deadline_ns: int) -> None:
        """Waits until no transaction is open: all were ended, or their timeout has passed."""
        waiting = list(places)
        while waiting:
            self.hanging = {place: why for place in waiting if (why := self._unstable(place))}
            waiting = list(self.hanging)
            if now_ns() > deadline_ns or (waiting and self._gone()):
                return
            if waiting:
                self._wire.rest(0.5)

    def _unstable(self, place: PartitionId) -> str:
        try:
            end = self._wire.log_end(*place)
            stable = self._wire.log_end(*place, isolation=COMMITTED)
        except (BrokerAtFault, NotApplicable, Unclear) as problem:
            self._wire.drop_lines()
            return str(problem)
        return f"its last stable offset stays at {stable}, its end is {end}" if stable < end else ""

    def _insist(self, place: PartitionId, client: str, isolation: str, deadline_ns: int) -> None:
        while True:
            try:
                self._read(place, client, isolation, deadline_ns)
                self.incomplete.pop(place, None)
                return
            except (BrokerAtFault, NotApplicable, Unclear) as problem:
                self.incomplete[place] = str(problem)
                self._unfenced.add(place)
                if isinstance(problem, ProtocolBroken) and self.malformed.setdefault(place, problem) is not problem:
                    return  # read twice, and twice unreadable: a third look would be no other
            self._wire.drop_lines()
            if now_ns() > deadline_ns or self._gone():
                return
            self._wire.rest(0.2)

    def _read(self, place: PartitionId, client: str, isolation: str, deadline_ns: int) -> None:
        topic, partition = place
        position = self._wire.log_start(topic, partition)
        end = self._ask_end(place, client, isolation, position)
        self._stream += 1
        reading, prev, order = PositionReader(isolation), position - 1, 0
        epoch = -1 if place in self._unfenced else self._wire.leader_epoch(topic, partition)
        while position < end:
            if now_ns() > deadline_ns:
                raise Unclear("final-read-incomplete", f"{topic}-{partition} was read to {position} of {end} in time")
            op, call_ns = self._recorder.next_op(), now_ns()
            answer = self._wire.fetch(
                topic, partition, offset=position, isolation=isolation, max_wait_ms=WAIT_MS, min_bytes=1,
                leader_epoch=epoch,
            ).must_succeed()  # fmt: skip
            seen, batches = len(reading.records), len(reading.parts)
            position = reading.take(answer, position)
            self._tell_operation(op, place, client, answer, call_ns, epoch)
            for number in range(seen, len(reading.records)):
                record = reading.records[number]
                self._tell_record(op, place, client, record, order, prev)
                prev, order = record.offset, order + 1
            if isolation == UNCOMMITTED:
                for part in reading.parts[batches:]:
                    self._tell_batch(place, client, part, answer)
            reading.records.clear()
            reading.parts.clear()
            reading.answers.clear()
        self._recorder.event(
            "final-read" if isolation == UNCOMMITTED else "final-read-committed",
            topic=topic,
            partition=partition,
            offset=end,
            client=client,
        )
        self.ends[place] = end

    def _ask_end(self, place: PartitionId, client: str, isolation: str, start: int) -> int:
        call_ns = now_ns()
        end = self._wire.log_end(place[0], place[1], isolation=isolation)
        stable = isolation == COMMITTED
        self._recorder.add(
            Operation(
                op=self._recorder.next_op(),
                client=client,
                kind="list_offsets",
                topic=place[0],
                partition=place[1],
                call_ns=call_ns,
                return_ns=now_ns(),
                outcome="ok",
                high_watermark=None if stable else end,
                last_stable=end if stable else None,
                log_start=start,
            )
        )
        return end

    def _tell_operation(
        self, op: int, place: PartitionId, client: str, answer: Fetched, call_ns: int, epoch: int
    ) -> None:
        self._recorder.add(
            Operation(
                op=op,
                client=client,
                kind="fetch",
                topic=place[0],
                partition=place[1],
                call_ns=call_ns,
                return_ns=now_ns(),
                outcome="ok",
                high_watermark=answer.high_watermark,
                last_stable=answer.last_stable_offset,
                log_start=answer.log_start_offset if answer.log_start_offset >= 0 else None,
                leader_epoch=epoch if epoch >= 0 and answer.version >= FENCED_VERSION else None,
            )
        )

    def _tell_record(self, op: int, place: PartitionId, client: str, record: object, order: int, prev: int) -> None:
        seen = read_back(record.key, record.value, record.headers, record.timestamp)  # type: ignore[attr-defined]
        self._recorder.add(
            Record(
                op=op,
                client=client,
                topic=place[0],
                partition=place[1],
                offset=record.offset,  # type: ignore[attr-defined]
                value=seen.value,
                key=seen.key,
                tombstone=seen.tombstone,
                intact=seen.intact,
                digest=seen.digest,
                side="seen",
                stream=self._stream,
                position=order,
                prev_offset=prev,
                outcome="ok",
                timestamp=record.timestamp,  # type: ignore[attr-defined]
            )
        )

    def _tell_batch(self, place: PartitionId, client: str, part: object, answer: Fetched) -> None:
        header = part.header  # type: ignore[attr-defined]
        marker = answer.marker_of(part) if header.is_control else None  # type: ignore[arg-type]
        self._recorder.add(
            Batch(
                topic=place[0],
                partition=place[1],
                base_offset=header.base_offset,
                last_offset=header.last_offset,
                leader_epoch=header.leader_epoch,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                transactional=header.is_transactional,
                control=None if marker is None else marker.kind,
                coordinator_epoch=None if marker is None else marker.coordinator_epoch,
                client=client,
                seen_at="final",
            )
        )
