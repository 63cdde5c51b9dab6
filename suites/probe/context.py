"""What a case has besides requests: the scene, the clock, waiting, statements, names of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn, TypeVar

import msgspec

from brokertrial.suites.draw import Draw
from brokertrial.suites.probe import naming, promptness
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.failures import BrokerAtFault, NoResponse, NotApplicable, StatementFalse, Unclear, breaks
from brokertrial.suites.probe.known import KnownSteps
from brokertrial.suites.probe.permission import Permissions
from brokertrial.suites.probe.target_condition import CROWDED
from brokertrial.suites.result import Evidence

T = TypeVar("T")
AUTHORIZER = "authorizer.class.name"
LONG_S, MOST_LONG_PARTS = 5.0, 2
"""How long a part may take to fail, and how many parts of a case may take longer."""
SHOWN = 2
"""Exchanges that are shown of a statement about all that came before."""


class CaseContext(msgspec.Struct, frozen=True):
    """All that a case knows beforehand; stored with its history, so that `check` sets the same scene."""

    prefix: str  # begins every name that the run makes
    case: str
    attempt: int = 1
    seed: int = 0
    latency_ms: float = 1.0  # of an acknowledgement, measured before this case, without a cap
    client_id: str = "client"
    salt: str = ""  # decides with the rest of the scene which names the run makes (suites/probe/naming.py)
    time_ms: int = -1  # when the case began: of records that are given no time
    metadata_version: int = 12  # that the probe asks in for its own use; lower where the broker cannot do that
    target: str = ""
    target_version: str = ""
    leaderless: bool = False
    capabilities: tuple[str, ...] = ()
    our_timers: bool = False  # the brokers were started with short timers, and must tell them
    chosen: tuple[str, ...] = ()  # broker settings that the user chose
    topic_policy: bool = False  # the cluster states a policy that may refuse topics
    required: tuple[str, ...] = ()  # areas (suites/running/requirements.py) in which a refusal is never excused
    permitted: tuple[str, ...] = ()  # what this client was permitted before in this run (suites/probe/permission.py)
    went_away: bool = False  # an earlier attempt at this case found the target gone, and somebody else runs it
    crowded: bool = False  # other cases are under way: what comes too late is asked for again, alone
    closing_look: bool = False  # everything about what the case made is asked afterwards (suites/closing_look)
    look_failures: tuple[str, ...] = ()  # signatures that closing looks of several cases have failed by in this run
    waits_once: bool = False  # its closing look waits once for the same failure; those stored before wait each time
    names_alike: bool = False  # every other name begins with another; none did in what was stored before
    situation: Draw | None = None  # how the case meets the target, where that is not as it is written
    known: KnownSteps = (
        KnownSteps()
    )  # what is known of the steps that lead to its subject (suites/probe/prerequisites.py)

    @property
    def has_zookeeper(self) -> bool:
        """Whether the cluster keeps its state in a ZooKeeper: what only KRaft promises does not bind there."""
        return "zookeeper" in self.capabilities


class CaseConditions:
    """The part of a probe that asks nothing by itself."""

    def __init__(self, exchanger: Exchanger, case_context: CaseContext) -> None:
        self.case_context = case_context
        self._exchanger = exchanger
        self._open_answers: list[Response] = []
        self._latest: deque[Response] = deque(maxlen=SHOWN)
        no_authorizer = case_context.our_timers and AUTHORIZER not in case_context.chosen
        self.permissions = Permissions(case_context.permitted, case_context.required, no_authorizer=no_authorizer)
        self._long_parts = 0
        self.noted: list[str] = []
        """What a report is to say beside the verdict."""
        self.kept: list[BrokerAtFault] = []
        """What was false in parts that are over."""
        self._named = 0
        self.at_most_s: float | None = None
        """What its owner waits for one answer, where that is not the patience that the target's latency asks for."""
        self.until_at_most_s: float | None = None
        """What its owner waits for something to come about, where that is less than the step itself would."""
        self.named: dict[str, str] = {}
        """Every name of our own, and the short name that reports show for it."""

    @property
    def about_the_protocol(self) -> bool:
        """Whether the case is there to decide how the broker takes requests of every version and form."""
        return self.case_context.case.startswith("protocol/")

    # parts, and steps on the way

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """A part of the case that stands by itself: when something in it is false, that is kept and the case goes on.

        What comes after must not rest on what is done in it. `what` says which it is, where its sentence does not.
        Silence ends the case all the same, and so does the third part that failed after a long wait.
        """
        self.settle()
        before, began_ns = list(self._open_answers), self._exchanger.clock()[0]
        try:
            yield
            self.settle()
        except NoResponse:
            raise
        except BrokerAtFault as error:
            if self.permissions.excuse(error.ops):
                raise
            error.part = what
            self.kept.append(error)
            if (self._exchanger.clock()[0] - began_ns) / 1e9 > LONG_S:
                self._long_parts += 1
                if self._long_parts > MOST_LONG_PARTS:
                    raise
            self._open_answers = before

    @contextmanager
    def on_the_way(self, step: str) -> Iterator[None]:
        """What goes wrong inside is a failure of this step (suites/probe/prerequisites.py), and no statement of the
        case."""
        try:
            yield
        except BrokerAtFault as error:
            error.step = error.step or step
            raise

    @contextmanager
    def the_subject(self) -> Iterator[None]:
        """What goes wrong inside is what the case is about, though it looks like a step on the way."""
        try:
            yield
        except BrokerAtFault as error:
            error.step = ""
            raise

    def settle(self) -> None:
        """Ends the case (or the part) if an answer carries an error that the case did not look at."""
        still_open = []
        for answer in self._open_answers:
            answer.settle()
            if not answer.examined and answer.asked.answer is None:
                still_open.append(answer)
        self._open_answers = still_open

    def _answered(self, answer: Response) -> None:
        """It must be looked at before the case ends."""
        self._open_answers.append(answer)
        self._latest.append(answer)

    # time

    def now_ms(self) -> int:
        """The wall clock, in milliseconds: the only clock that a case may read."""
        return self._exchanger.clock()[1]

    def rest(self, seconds: float) -> None:
        """Lets time pass between two looks at something; cases use `until` and `eventually`."""
        self._exchanger.pause(seconds)

    def together(self) -> AbstractContextManager[None]:
        """What is asked inside with `wait=False` leaves at its end, all at once."""
        return self._exchanger.together()

    def act(self, what: str, do: Callable[[], str]) -> str:
        """Does something to the target that is no request; what came of it is in the history."""
        return self._exchanger.act(what, do)

    @property
    def slack_s(self) -> float:
        """What to add to an upper bound on time: a busy machine and a slow target are not a fault."""
        return promptness.slack_s(self.case_context.latency_ms)

    @property
    def patience_s(self) -> float:
        """How long an answer may take, besides what the request itself may wait for."""
        return self.at_most_s or promptness.patience_s(self.case_context.latency_ms)

    def at_once(
        self, answer: Response, *, hidden_s: float | None = None, asked_s: float = 0.0, after: Response | None = None
    ) -> None:
        """The answer must have come at once: after its request (or that of `after`) and the `asked_s` that it named.

        `hidden_s` is the wait that would hide a failure, such as the max_wait of a Fetch that has its records.
        """
        answer.asked.wait()
        took_s = (answer.asked.received_ns - (after or answer).asked.sent_ns) / 1e9
        limit_s = promptness.promptness_s(self.case_context.latency_ms, asked_s, hidden_s)
        answer.examined = True
        if took_s >= limit_s:
            sentence = f"{answer.asked.request._api} v{answer.version}: it took {took_s:.1f} s"
            self.too_late(
                f"{sentence}; it must come within {limit_s:.1f} s",
                answer.asked.evidence(note=f"{took_s:.3f} s"),
                (answer.asked.number,),
            )

    def too_late(
        self, sentence: str, evidence: tuple[Evidence, ...] = (), ops: tuple[int, ...] = (), about: str = ""
    ) -> NoReturn:
        """Ends the case: a demand on time was not met. On a target that is slow in everything that proves nothing."""
        if self.case_context.crowded:
            raise Unclear(CROWDED, f"{sentence}; other cases were under way")
        if promptness.is_slow(self.case_context.latency_ms):
            raise Unclear(promptness.SLOW, f"{sentence}; {promptness.said_of(self.case_context.latency_ms)}")
        raise StatementFalse(sentence, evidence, ops, about)

    def until(self, holds: Callable[[], T], *, within: float, what: str) -> T:
        """Asks again and again until `holds()` is true, and returns what it gave; past the limit the case fails.

        The limit grows with the latency of the target. `what` names what was waited for.
        """
        limit_s = self._limit(within)
        began, _ = self._exchanger.clock()
        wait_s = 0.02
        while not (result := holds()):
            now, _ = self._exchanger.clock()
            if now - began > limit_s * 1e9:
                last = self._open_answers[-1].asked.evidence(note=what) if self._open_answers else ()
                self.too_late(f"not within {limit_s:.1f} s: {what}", last)
            self._exchanger.pause(wait_s)
            wait_s = min(wait_s * 1.5, 0.5)
        return result

    def eventually(self, holds: Callable[[], T], *, within: float) -> T:
        """The demands in `holds` must all be met within the limit; past it, the one that was not is the failure."""
        limit_s = self._limit(within)
        began, _ = self._exchanger.clock()
        wait_s = 0.02
        while True:
            try:
                return holds()
            except StatementFalse as error:
                now, _ = self._exchanger.clock()
                if now - began > limit_s * 1e9:
                    sentence = f"{error.sentence} (still so after {limit_s:.1f} s)"
                    with breaks(*error.guarantees):
                        self.too_late(sentence, error.evidence, error.ops, error.about)
            self._exchanger.pause(wait_s)
            wait_s = min(wait_s * 1.5, 0.5)

    def _limit(self, within: float) -> float:
        """Seconds for something to come about; on a slow target as many more as one answer may take."""
        slow = promptness.is_slow(self.case_context.latency_ms)
        within = min(within, self.until_at_most_s or within)
        return within + (self.patience_s if slow else self.slack_s)

    # statements that are about more than one answer

    def must(self, holds: bool, statement: str, *answers: Response) -> None:
        """A statement of the case; the answers that it is about are the proof, or else the last that there were."""
        if not holds:
            proof = tuple(line for answer in answers or tuple(self._latest) for line in answer.asked.evidence())
            raise StatementFalse(
                statement,
                proof or (Evidence("statement", statement),),
                tuple(answer.asked.number for answer in answers),
            )

    def not_applicable(self, reason: str, kind: str = "not-offered") -> None:
        """Ends the case: it cannot be decided on this target. Kinds: see Reason."""
        raise NotApplicable(kind, reason)

    def unclear(self, reason: str, kind: str = "no-hit") -> None:
        """Ends the case: what it wanted to provoke did not come about, and that proves nothing."""
        raise Unclear(kind, reason)

    # names

    def name(self, what: str = "t") -> str:
        """A name of our own, not used before: for groups, transactional ids and topics that the case makes itself."""
        self._named += 1
        found = naming.name_in_case(self.case_context, what, self._named)
        self.named[found] = f"{what}{self._named}"
        return found
