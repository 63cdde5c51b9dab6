"""A case whose nodes are disturbed once, at a drawn moment, and have come to rest before it goes on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import ClassVar

from brokertrial.suites.closing_look.picture import must_be_as_before, picture_of
from brokertrial.suites.probe.failures import Unclear
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.suites.situations.at_rest import AtRest
from brokertrial.suites.situations.moments import Moment, is_fair
from brokertrial.wire.messages import Struct

DONE = "done"


class Disturbed(ActingSituation):
    """`act` is what is done to all nodes."""

    act: ClassVar[str]
    forgets: ClassVar[tuple[str, ...]] = ()
    """APIs whose effect a broker may forget by this act: where one was asked, nothing is done."""

    def __init__(self, wire: Wire, number: int, rng: Random, disturb: Callable[[str], str]) -> None:
        super().__init__(wire, number, rng, disturb)
        self._moment = Moment(number, rng)

    def act_before(self, asked: Struct) -> None:
        if self._moment.has_come(self.wire, asked._api) and not self._may_forget:
            self._disturb()

    def at_the_end(self) -> None:
        fair = not self.wire.traffic.raw and is_fair(self.wire.traffic.exchanges or ())
        if self._moment.is_at_the_end and fair and not self._may_forget:
            with self.suspended():
                before = picture_of(self.wire)
                self._disturb()
                must_be_as_before(self.wire, before, f"a {self.act} of all nodes")

    @property
    def _may_forget(self) -> bool:
        return any(asked.request._api in self.forgets for asked in self.wire.traffic.exchanges or ())

    def _disturb(self) -> None:
        before = AtRest.now(self.wire)
        self.wire.drop_lines()
        outcome = self.wire.act(f"{self.act} nodes", lambda: self.disturb(self.act))
        if outcome != DONE:
            raise Unclear("suite", f"{self.act} of the nodes did not work: {outcome}")
        before.must_come_back(self.wire)
        self.effects += 1
