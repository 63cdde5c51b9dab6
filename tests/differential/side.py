"""One broker in a differential run: its connections, its names for things, and requests made out of symbols."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

from brokertrial.suites.probe.fitting import fitted
from brokertrial.wire import errors
from brokertrial.wire.client import Connection, ConnectionClosed, ResponseTimeout
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, build_batch
from tests.differential.consumers import Consumers
from tests.differential.step import MEMBER, BatchOf, Kept, Step, Symbol
from tests.differential.telling import Names, codes, told

#: Said while something is under way inside; asked again until it is done or the deadline of a step passes.
PASSING = frozenset(
    {
        errors.COORDINATOR_LOAD_IN_PROGRESS,
        errors.COORDINATOR_NOT_AVAILABLE,
        errors.NOT_COORDINATOR,
        errors.CONCURRENT_TRANSACTIONS,
    }
)
ANSWER_WITHIN_S = 20.0
PASSING_WITHIN_S = 5.0
CLOSED, WAITING = "closed", "waiting"


@dataclass(slots=True)
class Heard:
    """What came of a step: the answer, `closed`, or `waiting`; and answers to earlier steps that came with it."""

    answer: dict[str, Any] | str
    late: list[tuple[int, dict[str, Any] | str]] = field(default_factory=list)

    def codes(self) -> list[int]:
        return codes(self.answer) if isinstance(self.answer, dict) else []


class Side:
    """A context manager: leaving it closes the connections. `patience_s`: how long a held request is given."""

    def __init__(self, bootstrap: str, ours: str, patience_s: float) -> None:
        host, port = bootstrap.split(",")[0].rsplit(":", 1)
        self._address = (host, int(port))
        self._ours, self._patience_s = ours, patience_s
        self._lines: dict[int, Connection] = {}
        self._waiting: dict[int, Step] = {}
        self.names = Names()
        self.consumers = Consumers()
        self.passing = Counter[tuple[str, int]]()

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._lines.values():
            line.close()

    def put(self, step: Step) -> Heard:
        """Sends a step and hears what comes of it, and of those that still wait."""
        answer = self._answer(step)
        late = self._late(apart=step.line)
        for _, received in [(step, answer), *late]:
            self._name_its_own(received)
        return Heard(self._told(step, answer), [(each.line, self._told(each, received)) for each, received in late])

    def ask(self, api: str, version: int, **fields: Any) -> Struct:
        """A question of the run's own, on a connection of its own."""
        return self._line(-1).call(fitted(request(api, **fields), version), version, ANSWER_WITHIN_S)

    def beat(self, group: str, member: Symbol | str, instance: str | None) -> Struct:
        """A heartbeat of the run's own for a member of a KIP-848 group, which owns what it was given."""
        name = self._resolved(member)
        answer = self.ask(
            "ConsumerGroupHeartbeat", 1, group_id=group, member_id=name, instance_id=instance,
            member_epoch=self.consumers.epoch(group, name), topic_partitions=self.consumers.owned(group, name),
        )  # fmt: skip
        self.consumers.hear(group, answer)
        return answer

    def waits(self, line: int) -> bool:
        return line in self._waiting

    def hear(self, line: int, within_s: float) -> dict[str, Any] | str:
        """What comes in time on a connection that a request is held on: an answer, `closed`, `waiting`."""
        return self._told(self._waiting[line], self._received(line, within_s))

    def _received(self, line: int, within_s: float) -> Struct | str:
        try:
            answer = self._lines[line].receive(within_s).struct
        except ResponseTimeout:
            return WAITING
        except ConnectionClosed:
            self._forget(line)
            return CLOSED
        del self._waiting[line]
        return answer

    def _told(self, step: Step, answer: Struct | str) -> dict[str, Any] | str:
        return answer if isinstance(answer, str) else told(answer, step.version, self.names, self._ours)

    def _name_its_own(self, answer: Struct | str) -> None:
        """Names a member by its own answer: a leader is told of several at once, in an order that means nothing."""
        if isinstance(answer, Struct) and answer._api == "JoinGroup" and answer.member_id:
            self.names.of(MEMBER, answer.member_id)

    def _answer(self, step: Step) -> Struct | str:
        message = fitted(request(step.api, **self._resolved(step.fields)), step.version)
        deadline = monotonic() + PASSING_WITHIN_S
        while True:
            line = self._line(step.line)
            try:
                line.send(message, step.version)
                answer = line.receive(self._patience_s if step.blocks else ANSWER_WITHIN_S).struct
            except ResponseTimeout:
                self._waiting[step.line] = step
                return WAITING
            except ConnectionClosed:
                self._forget(step.line)
                return CLOSED
            passing = PASSING & set(_raw_codes(answer))
            if not passing or monotonic() > deadline:
                if step.api == "ConsumerGroupHeartbeat":
                    self.consumers.hear(message.group_id, answer)
                return answer
            self.passing.update((step.api, code) for code in passing)
            sleep(0.01)  # paced polling up to the deadline above

    def _late(self, apart: int) -> list[tuple[Step, Struct | str]]:
        held = [self._waiting[line] for line in sorted(self._waiting.keys() - {apart})]
        received = [(step, self._received(step.line, self._patience_s)) for step in held]
        return [(step, answer) for step, answer in received if answer != WAITING]

    def _line(self, number: int) -> Connection:
        if number not in self._lines:
            self._lines[number] = Connection(*self._address, client_id=f"line-{number}", timeout_s=ANSWER_WITHIN_S)
        return self._lines[number]

    def _forget(self, number: int) -> None:
        self._lines.pop(number).close()
        self._waiting.pop(number, None)

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, Symbol):
            return self.names.actual(value)
        if isinstance(value, BatchOf):
            return self._batch(value)
        if isinstance(value, Kept):
            return self.consumers.said(value, self._resolved(value.member))
        if isinstance(value, dict):
            return {key: self._resolved(inner) for key, inner in value.items()}
        return [self._resolved(each) for each in value] if isinstance(value, (list, tuple)) else value

    def _batch(self, batch: BatchOf) -> memoryview:
        records = [
            Record(key=batch.key, value=bytes(batch.size), timestamp=batch.timestamp + number)
            for number in range(batch.count)
        ]
        made = build_batch(
            records,
            producer_id=self._resolved(batch.producer),
            producer_epoch=batch.epoch,
            base_sequence=batch.sequence,
            transactional=batch.transactional,
            compression=batch.compression,
            **dict(batch.wrong),
        )
        return memoryview(made)


def _raw_codes(value: Any) -> list[int]:
    if isinstance(value, Struct):
        found = []
        for name in value._names:
            inner = getattr(value, name)
            found += [inner] if name.endswith("error_code") else _raw_codes(inner)
        return found
    return [code for each in value for code in _raw_codes(each)] if isinstance(value, (list, tuple)) else []
