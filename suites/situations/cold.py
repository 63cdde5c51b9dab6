"""Each request comes on a new connection, and what any node may answer is asked of another node each time."""

from __future__ import annotations

from brokertrial.suites.situations.acting import ActingSituation
from brokertrial.wire.messages import Struct


class Cold(ActingSituation):
    """Nothing that a broker promises is bound to a connection, as long as no answer is under way on it."""

    def act_before(self, asked: Struct) -> None:
        if not self.wire.awaits_answers and not self.wire.traffic.raw:
            self.wire.drop_lines()
            self.effects += 1


SITUATION = Cold
