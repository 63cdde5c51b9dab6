"""One of the two brokers that a sequence is put to: its connections, its ids, and requests made out of symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any, Self

from brokertrial.suites.explore.members import MemberAnswers
from brokertrial.suites.explore.normalise import Names, codes, normalised
from brokertrial.suites.explore.step import (
    MEMBER,
    RESTART,
    RequestStep,
    StepBatch,
    StepMemberState,
    StepPatience,
    StepReplicas,
    Symbol,
)
from brokertrial.suites.probe.fitting import fitted
from brokertrial.wire import errors
from brokertrial.wire.client import Connection, ConnectionClosed, ResponseTimeout
from brokertrial.wire.codec import Malformed
from brokertrial.wire.conversation import ConnectionFailed
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, build_batch

#: Said while something is under way inside; asked again until it is done or the deadline of a step passes.
TRANSIENT = frozenset(
    {
        errors.COORDINATOR_LOAD_IN_PROGRESS,
        errors.COORDINATOR_NOT_AVAILABLE,
        errors.NOT_COORDINATOR,
        errors.CONCURRENT_TRANSACTIONS,
    }
)
ANSWER_WITHIN_S = 15.0
TRANSIENT_WITHIN_S = 10.0
#: What one broker answers later than the other is waited for (sequence.py).
LATE_WITHIN_S = 0.01
UNANSWERED = "none is due"
CLOSED, HELD, SILENT = "connection closed", "held back", "no answer"
MALFORMED = "answer not understood"
OWN_CONNECTION = -1
COMMON_HEARTBEAT, SHARE_HEARTBEAT = 0, 1
HEARTBEATS = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})


@dataclass(slots=True)
class Reply:
    """What came of a step: the answer, or a word for none; and answers to earlier steps that came with it.

    `late` is by connection. `sent` and `received` are the messages as this broker saw them, where there are any.
    """

    answer: dict[str, Any] | str
    late: list[tuple[int, dict[str, Any] | str]] = field(default_factory=list)
    sent: Struct | None = field(default=None, compare=False)
    received: Struct | None = field(default=None, compare=False)

    def codes(self) -> list[int]:
        return codes(self.answer) if isinstance(self.answer, dict) else []


class Peer:
    """A context manager: leaving it closes the connections. `patience_s`: how long a held request is given.

    `prefix` is in the names of everything that the sequence makes; `ranges` are the versions that both brokers offer.
    """

    def __init__(
        self,
        address: tuple[str, int],
        prefix: str,
        patience_s: float,
        ranges: Mapping[str, tuple[int, int]],
        restart: Callable[[str], None] | None = None,
    ) -> None:
        self._restart = restart
        self._address, self._prefix, self.patience_s, self._ranges = address, prefix, patience_s, ranges
        self._connections: dict[int, Connection] = {}
        self._waiting: dict[int, RequestStep] = {}
        self.names = Names()
        self.members = MemberAnswers()
        self.transient = Counter[tuple[str, int]]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Closes every connection; what was held back on them is forgotten."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._waiting.clear()

    def put(self, step: RequestStep) -> Reply:
        """Sends a step and takes what comes of it, and of those that still wait."""
        if step.api == RESTART:
            return self._restarted(step.fields["how"])
        sent = fitted(request(step.api, **self._resolved(step.fields)), step.version)
        received = self._answer(step, sent)
        late = self._late(apart=step.connection)
        for _, answer in [(step, received), *late]:
            self._name_its_own(answer)
        return Reply(
            self._normalised(step, received),
            [(each.connection, self._normalised(each, answer)) for each, answer in late],
            sent,
            received if isinstance(received, Struct) else None,
        )

    def offers(self, *apis: str) -> bool:
        """Whether both brokers offer these APIs."""
        return all(api in self._ranges for api in apis)

    def _restarted(self, how: str) -> Reply:
        self.disconnect()
        assert self._restart is not None
        self._restart(how)
        return Reply({"restarted": how})

    def ask(self, api: str, version: int, **fields: Any) -> Struct:
        """A question of the run's own, on a connection of its own, in this version or the nearest that is offered."""
        least, most = self._ranges[api]
        version = max(least, min(version, most))
        own = self._connection(OWN_CONNECTION)
        return own.call(fitted(request(api, **fields), version), version, ANSWER_WITHIN_S)

    def heartbeat(self, group: str, member: Symbol | str, instance: str | None) -> Struct:
        """A heartbeat of the run's own for a member of a KIP-848 group, which owns what it was given."""
        name = self._resolved(member)
        answer = self.ask(
            "ConsumerGroupHeartbeat", COMMON_HEARTBEAT, group_id=group, member_id=name, instance_id=instance,
            member_epoch=self.members.epoch(group, name), topic_partitions=self.members.owned(group, name),
        )  # fmt: skip
        self.members.take(group, answer)
        return answer

    def share_heartbeat(self, group: str, member: str) -> Struct:
        """A heartbeat of the run's own for a member of a share group."""
        epoch = self.members.epoch(group, member)
        answer = self.ask("ShareGroupHeartbeat", SHARE_HEARTBEAT, group_id=group, member_id=member, member_epoch=epoch)
        self.members.take(group, answer)
        return answer

    def streams_heartbeat(self, group: str, member: str) -> Struct:
        """A heartbeat of the run's own for a member of a streams group, which runs the active tasks it was given."""
        answer = self.ask(
            "StreamsGroupHeartbeat", COMMON_HEARTBEAT, group_id=group, member_id=member,
            member_epoch=self.members.epoch(group, member), active_tasks=self.members.owned(group, member),
            standby_tasks=[], warmup_tasks=[],
        )  # fmt: skip
        self.members.take(group, answer)
        return answer

    def waits(self, connection: int) -> bool:
        """Whether a request is held back on a connection."""
        return connection in self._waiting

    def hear(self, connection: int, within_s: float) -> dict[str, Any] | str:
        """What comes in time on a connection that a request is held on."""
        step = self._waiting[connection]
        return self._normalised(step, self._received(connection, within_s))

    def _received(self, number: int, within_s: float) -> Struct | str:
        try:
            answer = self._connections[number].receive(within_s).struct
        except ResponseTimeout:
            return HELD
        except ConnectionClosed:
            self._forget(number)
            return CLOSED
        except (ConnectionFailed, Malformed):
            self._forget(number)
            return MALFORMED
        del self._waiting[number]
        return answer

    def _normalised(self, step: RequestStep, answer: Struct | str) -> dict[str, Any] | str:
        return answer if isinstance(answer, str) else normalised(answer, step.version, self.names, self._prefix)

    def _name_its_own(self, answer: Struct | str) -> None:
        """Names a member by its own answer: a leader hears of several at once, in an order that means nothing."""
        if isinstance(answer, Struct) and answer._api == "JoinGroup" and answer.member_id:
            self.names.of(MEMBER, answer.member_id)

    def _answer(self, step: RequestStep, message: Struct) -> Struct | str:
        deadline = monotonic() + TRANSIENT_WITHIN_S
        while True:
            answer = self._once(step, message)
            if isinstance(answer, str):
                return answer
            transient = TRANSIENT & set(_raw_codes(answer))
            if not transient or monotonic() > deadline:
                if step.api in HEARTBEATS:
                    self.members.take(message.group_id, answer)
                return answer
            self.transient.update((step.api, code) for code in transient)
            sleep(0.01)  # paced polling up to the deadline above

    def _once(self, step: RequestStep, message: Struct) -> Struct | str:
        connection = self._connection(step.connection)
        try:
            connection.send(message, step.version)
            if step.unanswered:  # what is asked behind it is answered once it is done
                connection.call(request("ApiVersions"), 0, ANSWER_WITHIN_S)
                return UNANSWERED
            return connection.receive(self.patience_s if step.blocks else ANSWER_WITHIN_S).struct
        except ResponseTimeout:
            if not step.blocks:
                self._forget(step.connection)
                return SILENT
            self._waiting[step.connection] = step
            return HELD
        except ConnectionClosed:
            self._forget(step.connection)
            return CLOSED
        except (ConnectionFailed, Malformed):
            self._forget(step.connection)
            return MALFORMED

    def _late(self, apart: int) -> list[tuple[RequestStep, Struct | str]]:
        held = [self._waiting[number] for number in sorted(self._waiting.keys() - {apart})]
        received = [(step, self._received(step.connection, LATE_WITHIN_S)) for step in held]
        return [(step, answer) for step, answer in received if answer != HELD]

    def _connection(self, number: int) -> Connection:
        if number not in self._connections:
            name = f"connection-{number}"
            self._connections[number] = Connection(*self._address, client_id=name, timeout_s=ANSWER_WITHIN_S)
        return self._connections[number]

    def _forget(self, number: int) -> None:
        self._connections.pop(number).close()
        self._waiting.pop(number, None)

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, Symbol):
            return self.names.actual(value)
        if isinstance(value, StepBatch):
            return self._batch(value)
        if isinstance(value, StepMemberState):
            return self.members.value(value, self._resolved(value.member))
        if isinstance(value, StepPatience):
            return round(2_000 * self.patience_s)
        if isinstance(value, StepReplicas):
            return [*self._replicas(value.topic, value.index) * value.times, *value.more]
        if isinstance(value, dict):
            return {key: self._resolved(inner) for key, inner in value.items()}
        return [self._resolved(each) for each in value] if isinstance(value, (list, tuple)) else value

    def _replicas(self, topic: str, index: int) -> list[int]:
        answer = self.ask("Metadata", 8, topics=[{"name": topic}], allow_auto_topic_creation=False)
        found = [each.replica_nodes for of in answer.topics for each in of.partitions if each.partition_index == index]
        return list(found[0]) if found else [min(broker.node_id for broker in answer.brokers)]

    def _batch(self, batch: StepBatch) -> memoryview:
        headers = (("first", b"1"), ("second", None)) if batch.shape == "headers" else ()
        records = [
            Record(
                key=batch.key,
                value=None if batch.shape == "null" else b"%d.%d" % (batch.tag, number) + bytes(batch.size),
                headers=headers,
                timestamp=batch.timestamp + number,
            )
            for number in range(batch.count)
        ]
        made = build_batch(
            records,
            producer_id=self._resolved(batch.producer),
            producer_epoch=batch.epoch,
            base_sequence=batch.sequence,
            transactional=batch.transactional,
            compression=batch.compression,
            **dict[str, Any](batch.wrong),
        )
        return memoryview(made)


def _raw_codes(value: Any) -> list[int]:
    if isinstance(value, Struct):
        found: list[int] = []
        for name in value._names:
            inner = getattr(value, name)
            found += [inner] if name.endswith("error_code") else _raw_codes(inner)
        return found
    return [code for each in value for code in _raw_codes(each)] if isinstance(value, (list, tuple)) else []
