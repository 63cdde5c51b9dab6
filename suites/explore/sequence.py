"""One sequence of requests, put to the oracle and to the target, request by request, until they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from brokertrial.suites.explore.choices import Choices, Recorded
from brokertrial.suites.explore.comparison import NOT_SHOWN, AnswerDifference, DifferingField, compared
from brokertrial.suites.explore.families import RequestRule, rules
from brokertrial.suites.explore.model import CONNECTIONS, Model
from brokertrial.suites.explore.normalise import UnknownId
from brokertrial.suites.explore.peer import CLOSED, HELD, MALFORMED, SILENT, Peer, Reply
from brokertrial.suites.explore.step import RequestStep, Symbol, Visible
from brokertrial.suites.explore.visible import becomes_visible
from brokertrial.wire import errors

SLOWER_BY_S = 10.0
#: How long a change may take to be visible on the target: so many patiences, or so many times as on the oracle.
SHOWN_WITHIN_PATIENCES, MUCH_SLOWER = 15, 10
#: How Kafka refuses a batch whose transaction is not open, where it asks the coordinator for several producers at once.
NOT_OPEN = frozenset({errors.TRANSACTION_ABORTABLE, errors.INVALID_TXN_STATE})
ASKED_AGAIN = 5
#: The words for no answer after which a connection is made anew.
GONE = (CLOSED, SILENT, MALFORMED)
#: Topics and producers first, so that most of what follows has something to be about.
FIRST = ("CreateTopics", "CreateTopics", "InitProducerId", "InitProducerId")
Tuple = tuple[str, int, str, str]
"""API, version, error code, state of the model: what coverage counts."""


Ignored = Callable[[AnswerDifference], bool]
"""Differences after which a sequence goes on."""


def nothing(_: AnswerDifference) -> bool:
    """No difference is ignored."""
    return False


@dataclass(frozen=True, slots=True)
class ComparedExchange:
    """A request and what both brokers answered."""

    step: RequestStep
    oracle: Reply
    target: Reply


@dataclass(slots=True)
class SequenceOutcome:
    """What one sequence asked, reached, and where it ended early."""

    exchanges: list[ComparedExchange] = field(default_factory=list)
    tuples: list[frozenset[Tuple]] = field(default_factory=list)
    difference: AnswerDifference | None = None
    choices: Recorded = ()
    prefix: str = ""
    now_ms: int = 0
    ids: dict[Symbol, Any] = field(default_factory=dict)
    """What the target called the ids that the requests name by symbols."""
    asking: RequestStep | None = None
    """The last request that was made, whatever became of it."""

    @property
    def reached(self) -> Counter[Tuple]:
        """How many requests reached what."""
        return Counter(each for reached in self.tuples for each in reached)

    def last_new(self, new: Set[Tuple]) -> int:
        """After how many requests the last of these was reached."""
        numbers = [number for number, each in enumerate(self.tuples, 1) if each & new]
        return max(numbers, default=0)

    @property
    def requests(self) -> int:
        """How many were made."""
        return len(self.exchanges)

    @property
    def accepted(self) -> int:
        """How many requests were answered without an error."""
        answered = [each.oracle for each in self.exchanges if isinstance(each.oracle.answer, dict)]
        return sum(not any(reply.codes()) for reply in answered)


class Sequence:
    """Puts one sequence to both; ends at the first difference, for from there on the two are in different states.

    `peers` are the oracle and the target; `outcome` is filled while the sequence runs.
    """

    def __init__(
        self,
        choices: Choices,
        peers: tuple[Peer, Peer],
        model: Model,
        allowed: frozenset[RequestRule],
        ignored: Ignored,
        outcome: SequenceOutcome,
    ) -> None:
        oracle, target = peers
        self._choices, self._oracle, self._target, self._model = choices, oracle, target, model
        self._ignored = ignored
        self._rules, self._allowed = rules(), allowed
        self._preferred = {
            api: [number for number, rule in enumerate(self._rules) if rule.api == api] for api in set(FIRST)
        }
        self._weights = [rule.weight if rule in allowed else 0.0 for rule in self._rules]
        self.outcome = outcome

    def run(self) -> SequenceOutcome:
        """All requests that the choices make."""
        with suppress(UnknownId):  # of an answer that differed and was ignored
            while self.outcome.difference is None and (made := self._choices.request(self._next)) is not None:
                if made.step is None:
                    self._choices.discard()
                else:
                    self._put(made.step)
        self.outcome.choices = self._choices.recorded
        self.outcome.prefix, self.outcome.now_ms = self._model.prefix, self._model.now_ms
        self.outcome.ids = self._target.names.all()
        return self.outcome

    def _next(self) -> _Made:
        number = self.outcome.requests
        preferred = self._preferred[FIRST[number]] if number < len(FIRST) else []
        rule = self._rules[self._choices.rule(self._weights, preferred)]
        step = rule.make(self._model) if rule in self._allowed else None
        busy = step is not None and step.connection in self._model.busy and step.connection < CONNECTIONS
        return _Made(None if busy else step)

    def _put(self, step: RequestStep) -> None:
        state = self._model.state(step)
        self.outcome.asking = step
        oracle, target = self._replies(step)
        for _ in range(ASKED_AGAIN):
            if not refused_in_other_words(oracle, target):
                break
            again = self._replies(step)
            oracle, target = _joined(oracle, again[0]), _joined(target, again[1])
        self.outcome.exchanges.append(ComparedExchange(step, oracle, target))
        words = {oracle.answer} if isinstance(oracle.answer, str) else {errors.name(code) for code in oracle.codes()}
        self.outcome.tuples.append(frozenset((step.api, step.version, word, state) for word in words or {"NONE"}))
        difference = compared(step.api, step.version, oracle, target)
        if difference is None or self._ignored(difference):
            self._learn(step, oracle)
            self._wait(step)
        else:
            self.outcome.difference = difference

    def _replies(self, step: RequestStep) -> tuple[Reply, Reply]:
        oracle, target = self._oracle.put(step), self._target.put(step)
        _wait_for_the_slower(step.connection, self._oracle, oracle, target)
        _wait_for_the_slower(step.connection, self._target, target, oracle)
        return oracle, target

    def _wait(self, step: RequestStep) -> None:
        """Until both brokers show what the request changed."""
        for what in step.until:
            began = monotonic()
            shown = [becomes_visible(self._oracle, what)]
            within_s = self._target.patience_s * SHOWN_WITHIN_PATIENCES
            shown.append(becomes_visible(self._target, what, max(within_s, MUCH_SLOWER * (monotonic() - began))))
            if shown[0] != shown[1]:
                self.outcome.difference = _not_shown(step, what, *shown)
                return

    def _learn(self, step: RequestStep, reply: Reply) -> None:
        if reply.answer == HELD:
            self._model.busy.add(step.connection)
            self._model.waiting[step.connection] = step
        elif isinstance(reply.answer, dict) and step.learn is not None:
            step.learn(reply.answer)
        elif reply.answer in GONE:
            self._model.shares.disconnected(step.connection)
        for connection, answer in reply.late:
            self._model.busy.discard(connection)
            held = self._model.waiting.pop(connection)
            if isinstance(answer, dict) and held.learn is not None:
                held.learn(answer)


@dataclass(frozen=True, slots=True)
class _Made:
    """What a rule made: a request, or nothing."""

    step: RequestStep | None


def allowed_rules(ranges: Mapping[str, tuple[int, int]], only: frozenset[str] = frozenset()) -> frozenset[RequestRule]:
    """The rules of APIs that both brokers offer, of these families; topics and producers are made whatever they are."""
    offered = frozenset(rule for rule in rules() if rule.api in ranges)
    return frozenset(rule for rule in offered if not only or rule.family in only or rule.api in FIRST)


def refused_in_other_words(oracle: Reply, target: Reply) -> bool:
    """Whether both refuse for want of an open transaction, and only the code differs.

    Kafka asks the coordinator for all producers that want to know at a time, and answers all of them in the words that
    the first of their requests understands; a refusal leaves nothing behind, so that it can be asked again.
    """
    pairs = list(zip(oracle.codes(), target.codes(), strict=False))
    return len(oracle.codes()) == len(target.codes()) and any({one, other} == NOT_OPEN for one, other in pairs)


def _joined(before: Reply, now: Reply) -> Reply:
    return Reply(now.answer, [*before.late, *now.late], now.sent, now.received)


def _wait_for_the_slower(connection: int, peer: Peer, own: Reply, other: Reply) -> None:
    """What one broker has answered the other gets time for: only two that both wait are alike at once."""
    if own.answer == HELD and other.answer != HELD:
        own.answer = peer.hear(connection, SLOWER_BY_S)
    for late, _ in other.late:
        if peer.waits(late) and (answer := peer.hear(late, SLOWER_BY_S)) != HELD:
            own.late.append((late, answer))
    own.late.sort(key=lambda one: one[0])


def _not_shown(step: RequestStep, what: Visible, oracle: bool, target: bool) -> AnswerDifference:
    words = ["shown" if shown else NOT_SHOWN for shown in (oracle, target)]
    return AnswerDifference(step.api, step.version, (DifferingField(f"afterwards: {what.kind}", words[0], words[1]),))
