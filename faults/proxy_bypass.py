"""Finds clients that talk to a broker past the proxy: then no fault reaches them, and no verdict is worth anything."""

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class Bypass:
    """One client and the address that it used although it is none of the proxy's."""

    client: str
    address: str
    requests: int

    def __str__(self) -> str:
        return f"client {self.client!r} sent {self.requests} requests to {self.address}, past the proxy."


class _Broker(msgspec.Struct):
    name: str = ""
    nodename: str = ""
    source: str = ""
    tx: int = 0
    state: str = ""


class _Statistics(msgspec.Struct):
    brokers: dict[str, _Broker] = {}


_DECODER = msgspec.json.Decoder(_Statistics)
"""Made by one thread: two that are the first to decode a type with msgspec 0.22 end the process (SIGSEGV)."""


class BypassDetector:
    """Collects where clients say that they sent requests to, and compares it with the proxy's own addresses."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], int] = {}

    def saw(self, client: str, address: str, requests: int) -> None:
        """An address that a client used; an address without requests is only a name that it once heard."""
        known = self._used.get((client, address), 0)
        self._used[client, address] = max(known, requests)

    def saw_librdkafka(self, client: str, statistics: str) -> None:
        """What librdkafka's statistics say; its logical brokers (group coordinator) count under the address they stand
        for."""
        for broker in _DECODER.decode(statistics).brokers.values():
            if ":" in broker.nodename and broker.tx:
                self.saw(client, broker.nodename, broker.tx)

    def leaks(self, own: set[str]) -> list[Bypass]:
        """Every use of an address that is none of `own`."""
        return [
            Bypass(client, address, requests)
            for (client, address), requests in sorted(self._used.items())
            if requests > 0 and address not in own
        ]
