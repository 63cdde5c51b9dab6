"""Fresh raw clients around the proxy: when clients of the library are stuck, they show whether the broker is.

A fresh client does the very thing that was stuck: joins the same group and is assigned, fetches from where the reader
stands and receives, commits, begins and ends a transaction with the same transactional id. It says that it is the
client that was stuck, in case the broker goes by that.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator

from brokertrial.histories.clock import now_ns
from brokertrial.histories.payload import record_for
from brokertrial.histories.rows import Client, PartitionId, Record
from brokertrial.suites.probe.classic_member import Member
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.fetch import COMMITTED, UNCOMMITTED, PositionReader
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.producer import Producer
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.subscription import assign_all, subscription
from brokertrial.wire import errors
from brokertrial.wire.records import Record as WireRecord

CLIENT = "fresh"
SEND_MS = 5_000
READ_S = 15.0
JOIN_S = 20.0
AGAIN = (errors.REBALANCE_IN_PROGRESS, errors.ILLEGAL_GENERATION, errors.UNKNOWN_MEMBER_ID)
"""What a member is told while others come and go: it joins again."""
_numbers = itertools.count(1)


class NoFreshProgress(Exception):
    """What a fresh client tried, and what it met."""


class Fresh:
    """What a workload asks of fresh clients. `wire_as` makes a probe around the proxy with a client id."""

    def __init__(self, wire_as: Callable[[str], Wire], context: WorkloadContext) -> None:
        self._wire_as = wire_as
        self._context = context

    @contextlib.contextmanager
    def _trying(self, what: str, client: str = "") -> Iterator[Wire]:
        wire = self._wire_as(client)
        try:
            yield wire
        except (BrokerAtFault, Unclear) as problem:
            raise NoFreshProgress(f"a fresh client that {what} met: {problem}") from problem
        except NotApplicable:
            pass  # what is not offered at all is no stuckness, and said elsewhere
        finally:
            wire.drop_lines()

    def send(self, places: Iterable[PartitionId]) -> None:
        """One record to each partition, each with its rows in the history."""
        client, values = self._client(), self._context.value_range()
        for place in places:
            with self._trying(f"sent to {place[0]}-{place[1]}") as wire:
                self._send_one(wire, client, place, next(values))

    def read(self, lags: Iterable[Lagging], committed: Iterable[str] = ()) -> None:
        """Fetches from where each reader stands until it has received what that reader must."""
        for lag in lags:
            what = f"fetched {lag.place[0]}-{lag.place[1]} from offset {lag.position}, where {lag.reader} stands,"
            with self._trying(what, lag.reader if lag.is_client else "") as wire:
                self._read_one(wire, lag, COMMITTED if lag.reader in committed else UNCOMMITTED)

    def join(self, group: str, topics: list[str], commits: bool = True) -> None:
        """Joins the group, is assigned, commits where the group stands already, and leaves."""
        with self._trying(f"joined group {group}") as wire:
            wire.forget_coordinator(group)
            member = wire.member(
                group,
                f"{CLIENT}-{next(_numbers)}",
                protocols=[(name, subscription(topics)) for name in ("range", "roundrobin")],
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
            )
            try:
                self._be_assigned(wire, member, topics)
                if commits:
                    self._commit_as(wire, member, (topics[0], 0))
            finally:
                if member.id:
                    with contextlib.suppress(BrokerAtFault, NotApplicable, Unclear):
                        member.leave()

    def beat(self, group: str, topics: list[str]) -> None:
        """Joins a group of the consumer protocol (KIP-848), and leaves."""
        with self._trying(f"joined group {group}") as wire:
            wire.forget_coordinator(group)
            member = ConsumerGroupMember(wire, group, *topics)
            try:
                member.beat().must_succeed()
            finally:
                if member.epoch > 0:
                    with contextlib.suppress(BrokerAtFault, NotApplicable, Unclear):
                        member.leave()

    def commit(self, group: str, places: Iterable[PartitionId]) -> None:
        """Commits in the same group and partition, under a name of its own, and asks for it."""
        client = self._client(group=group)
        for topic, partition in places:
            with self._trying(f"committed {topic}-{partition} in group {group}") as wire:
                wire.forget_coordinator(group)
                commit_id = self._context.next_commit()
                with self._context.call("commit", client, (topic, partition), group=group, committed_offset=1,
                                        commit_id=commit_id):  # fmt: skip
                    wire.commit_all(group, {(topic, partition): 1}, metadata=str(commit_id)).must_succeed()
                wire.committed(group, topic, partition).must_succeed()

    def transact(
        self, transactional_id: str, place: PartitionId, group: str = "", inputs: Iterable[PartitionId] = ()
    ) -> None:
        """Takes over the id, which ends what it left open; commits one transaction and aborts another."""
        client = self._client(transactional_id=transactional_id)
        values = self._context.value_range()
        with self._holding(transactional_id), self._trying(f"ran a transaction of {transactional_id}") as wire:
            producer = wire.producer(transactional_id)
            for commit in (True, False):
                txn = self._context.next_txn()
                with self._context.call("begin", client, transactional_id=transactional_id, txn=txn):
                    pass
                self._send_one(wire, client, place, next(values), producer, txn)
                if group:
                    self._send_offsets(wire, client, producer, txn, group, list(inputs))
                kind = "commit_txn" if commit else "abort_txn"
                with self._context.call(kind, client, transactional_id=transactional_id, txn=txn):
                    (producer.commit() if commit else producer.abort()).must_succeed()

    @contextlib.contextmanager
    def _holding(self, transactional_id: str) -> Iterator[None]:
        """No client of ours takes the id back meanwhile."""
        self._context.taken_over.add(transactional_id)
        try:
            yield
        finally:
            self._context.taken_over.discard(transactional_id)

    # the steps

    def _be_assigned(self, wire: Wire, member: Member, topics: list[str]) -> None:
        began = now_ns()
        while True:
            joined = member.join()
            if joined.error == errors.NONE:
                brings = None
                if member.leads:
                    brings = assign_all(member.id, list(joined.members), wire, topics)
                synced = member.sync(brings)
                if synced.error == errors.NONE:
                    return
                joined = synced  # type: ignore[assignment]
            if joined.error not in AGAIN or now_ns() - began > JOIN_S * 1e9:
                joined.must_succeed()
            if joined.error == errors.UNKNOWN_MEMBER_ID:
                member.id = ""
            wire.rest(0.1)

    def _commit_as(self, wire: Wire, member: Member, place: PartitionId) -> None:
        """What is committed already, once more: the group stands where it stood."""
        stands = max(wire.committed(member.group, *place).must_succeed().offset, 0)
        answer = member.commit(*place, offset=stands)
        if answer.error not in AGAIN:  # the group may go on to its next generation at any time
            answer.must_succeed()

    def _read_one(self, wire: Wire, lag: Lagging, isolation: str) -> None:
        topic, partition = lag.place
        position, began, reading = lag.position, now_ns(), PositionReader(isolation)
        while position <= lag.goal:
            answer = wire.fetch(
                topic, partition, offset=position, isolation=isolation, max_wait_ms=500, min_bytes=1
            ).must_succeed()
            position = reading.take(answer, position)
            if position <= lag.goal and now_ns() - began > READ_S * 1e9 + wire.slack_s * 1e9:
                raise NoFreshProgress(
                    f"a fresh client that fetched {topic}-{partition} from offset {lag.position}, where {lag.reader} "
                    f"stands, came to {position} within {READ_S + wire.slack_s:.0f} s; {lag.goal} was acknowledged"
                )

    def _send_one(
        self, wire: Wire, client: str, place: PartitionId, number: int, producer: Producer | None = None,
        txn: int | None = None,
    ) -> None:  # fmt: skip
        key, body, headers, timestamp = record_for(number, 64)
        value = int.from_bytes(body[4:12], "big") if body else None
        record = WireRecord(key, body, headers, timestamp)
        topic, partition = place
        sent = Record(op=0, client=client, topic=topic, partition=partition, value=value, side="sent", position=0,
                      timestamp=timestamp, outcome="info", txn=txn)  # fmt: skip
        try:
            with self._context.call("send", client, place, count=1, txn=txn) as call:
                sent.op = call.row.op
                if producer is None:
                    answer = wire.produce(topic, batch(records=[record]), partition, timeout_ms=SEND_MS)
                else:
                    answer = producer.send(topic, partition=partition, records=[record], timestamp=timestamp)
                call.row.base_offset = sent.offset = answer.offset
                sent.outcome = "ok"
        finally:
            self._context.recorder.add(sent)

    def _send_offsets(
        self, wire: Wire, client: str, producer: Producer, txn: int, group: str, inputs: list[PartitionId]
    ) -> None:
        """Where the group stands already: nothing is copied twice, and nothing is passed by."""
        wire.forget_coordinator(group)
        for place in inputs[:1]:
            stands = max(wire.committed(group, *place).must_succeed().offset, 0)
            with self._context.call("commit", client, place, group=group, committed_offset=stands, txn=txn,
                                    transactional_id=producer.transactional_id):  # fmt: skip
                producer.send_offsets(group, {place: stands}).must_succeed()

    def _client(self, group: str | None = None, transactional_id: str | None = None) -> str:
        client = f"{CLIENT}{next(_numbers)}"
        self._context.recorder.add(
            Client(client=client, library="wire", acks=-1, idempotence=transactional_id is not None, retries=0,
                   group=group, transactional_id=transactional_id, mode="none" if group else None)
        )  # fmt: skip
        return client
