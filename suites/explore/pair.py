"""An oracle and a target, both serving: plays sequences on them, several at a time, and cleans up after each."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from brokertrial.suites.explore.choices import Choices
from brokertrial.suites.explore.cleaning import clean
from brokertrial.suites.explore.families import RequestRule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.peer import ANSWER_WITHIN_S, Peer
from brokertrial.suites.explore.sequence import Ignored, Sequence, SequenceOutcome
from brokertrial.wire.apis import ALL
from brokertrial.wire.client import Connection

PATIENCE_S = 0.15
#: A difference that does not show with so much more patience was only slowness.
MORE_PATIENCE = 10
#: No time that a broker takes from its own clock falls among those that records have and that are asked for.
SLOW_BY_MS = 20 * 60_000
Ranges = Mapping[str, tuple[int, int]]
RestartBroker = Callable[[int, str], None]
"""Stops (`stop`) or kills (`crash`) all nodes of the oracle (0) or the target (1), and starts them again."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Where both are, and what both offer."""

    oracle: tuple[str, int]
    target: tuple[str, int]
    ranges: Ranges
    rules: frozenset[RequestRule]
    restart: RestartBroker | None = None
    """Restarts the oracle and the target where the sequences may do that: they are then alone on both."""

    def play(self, choices: Choices, patience_s: float, ignored: Ignored, outcome: SequenceOutcome) -> SequenceOutcome:
        """Puts a sequence to both, under names that nothing else has; raises ConnectionFailed where one is gone.

        `outcome` is filled and given back, so that it says how far a sequence came that was cut off.
        """
        prefix = f"explore-{uuid.uuid4().hex[:8]}"
        model = Model(prefix, choices, int(time.time() * 1000) - SLOW_BY_MS, self.ranges)
        with (
            Peer(self.oracle, prefix, patience_s, self.ranges, self._restarting(0)) as oracle,
            Peer(self.target, prefix, patience_s, self.ranges, self._restarting(1)) as target,
        ):
            try:
                return Sequence(choices, (oracle, target), model, self.rules, ignored, outcome).run()
            finally:
                for peer in (oracle, target):
                    clean(peer, model)

    def _restarting(self, number: int) -> Callable[[str], None] | None:
        return None if self.restart is None else partial(self.restart, number)


def common_ranges(*addresses: tuple[str, int]) -> dict[str, tuple[int, int]]:
    """The versions that all offer, by API; those that Kafka marks as unstable left out."""
    offers = []
    for host, port in addresses:
        with Connection(host, port, timeout_s=ANSWER_WITHIN_S) as connection:
            offers.append(connection.offered())
    found = {}
    for api in ALL:
        if all(api.key in offer for offer in offers):
            least = max(offer[api.key][0] for offer in offers)
            most = min(*(offer[api.key][1] for offer in offers), api.newest)
            if least <= most:
                found[api.name] = (least, most)
    return found
