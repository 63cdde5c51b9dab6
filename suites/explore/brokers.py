"""The oracle and the target of an exploration, started, and started again where one dies under a sequence."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from brokertrial.suites.explore.choices import Choices
from brokertrial.suites.explore.comparison import AnswerDifference, DifferingField
from brokertrial.suites.explore.oracles import opened
from brokertrial.suites.explore.pair import PATIENCE_S, Pair, common_ranges
from brokertrial.suites.explore.peer import CLOSED, SILENT, Reply
from brokertrial.suites.explore.sequence import ComparedExchange, Ignored, SequenceOutcome, allowed_rules, nothing
from brokertrial.suites.explore.step import RESTART
from brokertrial.suites.targets.base import Target
from brokertrial.wire.addresses import all_parsed
from brokertrial.wire.conversation import ConnectionFailed

DIED = "ended"


class SequenceDisturbed(Exception):
    """A sequence came to nothing, for a broker was being started again under it."""


class Brokers:
    """A context manager: entering starts both, leaving ends both. Several threads may play at once.

    With `restarts` sequences restart both where that can be done: then one thread alone may play.
    """

    def __init__(
        self, oracle: str, target: str, workdir: Path, only: frozenset[str] = frozenset(), *, restarts: bool = False
    ) -> None:
        self._restarts = restarts
        self._texts, self._workdir, self._only = (oracle, target), workdir, only
        self._ends = ExitStack()
        self._repairing = threading.Lock()
        self._incarnation = 0

    def __enter__(self) -> Self:
        with self._ends:
            self.oracle, self.target = (
                self._ends.enter_context(opened(text, self._workdir / name, restarts=self._restarts))
                for text, name in zip(self._texts, ("oracle", "target"), strict=True)
            )
            ranges = common_ranges(_first(self.oracle), _first(self.target))
            restart = None
            if self._restarts and can_restart(self.oracle) and can_restart(self.target):
                ranges[RESTART], restart = (0, 0), self._restart
            rules = allowed_rules(ranges, self._only)
            self.pair = Pair(_first(self.oracle), _first(self.target), ranges, rules, restart)
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @property
    def restarts(self) -> bool:
        """Whether sequences restart these brokers."""
        return self.pair.restart is not None

    def play(self, choices: Choices, patience_s: float = PATIENCE_S, ignored: Ignored = nothing) -> SequenceOutcome:
        """Puts a sequence to both. Raises Disturbed where a broker went away, and not of this sequence.

        A target that dies of a sequence is a difference, and is started again with its data.
        """
        before = self._incarnation
        outcome = SequenceOutcome()
        try:
            outcome = self.pair.play(choices, patience_s, ignored, outcome)
        except (ConnectionFailed, OSError) as error:
            self._repair(before)
            if outcome.asking is None:
                raise SequenceDisturbed(str(error)) from error
            self._died(outcome, choices)
        else:
            if _unanswered(outcome) and not self.target.alive():
                self._repair(before)
                self._died(outcome, choices)
        return outcome

    def _died(self, outcome: SequenceOutcome, choices: Choices) -> None:
        step = outcome.asking
        assert step is not None
        if not outcome.exchanges or outcome.exchanges[-1].step is not step:
            outcome.exchanges.append(ComparedExchange(step, Reply("not compared"), Reply(CLOSED)))
        outcome.choices = choices.recorded
        outcome.difference = AnswerDifference(step.api, step.version, (DifferingField("process", "runs", DIED),))

    def _restart(self, number: int, how: str) -> None:
        """All nodes down together, then all up."""
        nodes = (self.oracle, self.target)[number].nodes.values()
        for node in nodes:
            node.kill() if how == "crash" else node.terminate()
        for node in nodes:
            node.restart()

    def _repair(self, before: int) -> None:
        """Starts again what has died; Disturbed where nothing has, or another thread has seen to it."""
        with self._repairing:
            if self._incarnation != before or self.target.alive():
                if not self.oracle.alive():
                    self.oracle.restart()
                raise SequenceDisturbed("a connection failed")
            self._incarnation += 1
            self.target.restart()


def can_restart(target: Target) -> bool:
    """Whether its nodes can be stopped, killed and started again."""
    return {"terminate", "kill", "restart"} <= target.capabilities


def _unanswered(outcome: SequenceOutcome) -> bool:
    return outcome.difference is not None and any(
        place.target in (CLOSED, SILENT) for place in outcome.difference.places
    )


def _first(target: Target) -> tuple[str, int]:
    return all_parsed(target.bootstrap)[0]
