"""`bootstrap:HOST:PORT,...`: a cluster that somebody else runs, plaintext, without authentication."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.base import Target, TargetNotReady, UnknownTarget
from brokertrial.suites.targets.protocol_sniffer import LOGIN, identify_listener
from brokertrial.wire.addresses import all_written, parsed

_LOOK_FOR_S = 5.0
_BACK_WITHIN_S = 60.0
"""Whoever runs it may bring it back."""


class Bootstrap(Target):
    """Nothing of it can be stopped or hurt; it is only asked, and all that is made on it carries the run's prefix."""

    scheme = "bootstrap"
    summary = "a running cluster of which an address is known (plaintext, no authentication)"
    examples = ("bootstrap:127.0.0.1:9092", "bootstrap:kafka-1:9092,kafka-2:9092")
    capabilities = frozenset({"create_topics"})

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self._places = [_place(address, part) for part in address.where.split(",")]
        self._version = "not stated"

    @property
    def bootstrap(self) -> str:
        return all_written(self._places)

    def version(self) -> str:
        return self._version

    def start(self) -> None:
        """One of its addresses must answer; what answers otherwise than Kafka is named at once."""
        readiness.wait_until(f"{self.name} did not answer", self._ask, _LOOK_FOR_S, lambda: None)

    def stop(self) -> None:
        pass

    def alive(self) -> bool:
        try:
            self._ask(readiness.PATIENT_S)
        except (readiness.NotYet, TargetNotReady):
            return False
        return True

    def recover(self) -> None:
        readiness.wait_until(f"{self.name} did not answer again", self._ask, _BACK_WITHIN_S, lambda: None)

    def _ask(self, timeout_s: float = 2.0) -> None:
        """All addresses at once: several that are silent take no longer than one."""
        asked = partial(_one, timeout_s=timeout_s)
        if len(self._places) == 1:
            answers = [asked(self._places[0])]  # on the caller's own thread, which Ctrl-C ends
        else:
            with ThreadPoolExecutor(len(self._places)) as pool:
                answers = list(pool.map(asked, self._places))
        for seen in answers:
            if isinstance(seen, readiness.NodeReport):
                self._version = seen.version
                if len(seen.brokers) > 1:
                    self.capabilities = self.capabilities | {"nodes"}
                return
        if strangers := [answer for answer in answers if isinstance(answer, str)]:
            raise TargetNotReady(f"{self.name}: {'; '.join(strangers)}.")
        raise readiness.NotYet("; ".join(str(answer) for answer in answers))


def _one(place: tuple[str, int], timeout_s: float) -> readiness.NodeReport | readiness.NotYet | str:
    """What a broker there says; a sentence where something else listens; NotYet where nothing does."""
    try:
        return readiness.ask(place, timeout_s)
    except readiness.NotYet as reason:
        login = LOGIN if reason.asked == "Metadata" and reason.closed else None
        stranger = login or identify_listener(place)
        return f"{place[0]}:{place[1]} {stranger}" if stranger else reason


def _place(address: Address, text: str) -> tuple[str, int]:
    try:
        return parsed(text)
    except ValueError:
        raise UnknownTarget(
            f"{address.text}: `{text}` is not HOST:PORT.", hint="For example bootstrap:127.0.0.1:9092,127.0.0.1:9093."
        ) from None
