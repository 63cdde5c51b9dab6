"""Packet rules as nftables takes them, and its counters as it tells them. Pure text in and out.

A rule stands where its packets arrive, in the input hook of the receiver's namespace: there `reject` is possible in
every kernel, and no module for filtering on bridges is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from brokertrial.faults.packets import PacketRule, Service

TABLE = "faults"
CHAIN = "arriving"
PORTS: dict[Service, int] = {"clients": 9092, "brokers": 9093, "controllers": 9094}
"""Of the listeners, the same on every node: each has an address of its own."""
CREATE = f"add table ip {TABLE}\nadd chain ip {TABLE} {CHAIN} {{ type filter hook input priority 0 ; }}\n"
LIST = ("nft", "-j", "-a", "list", "table", "ip", TABLE)
_PARTS = 10_000
"""numgen draws among these: a hundredth of a percent is the finest share."""


class FoundRule(NamedTuple):
    """One rule as the kernel has it."""

    window: str
    handle: int
    packets: int


def additions(window: str, rule: PacketRule, addresses: Mapping[int, str]) -> list[str]:
    """The lines that add a rule; two where a service may be at either end of a connection."""
    where = f"add rule ip {TABLE} {CHAIN} ip saddr {addresses[rule.source]}"
    ends = [""] if rule.service == "any" else [f"tcp {end} {PORTS[rule.service]}" for end in ("dport", "sport")]
    share = f"numgen random mod {_PARTS} < {round(rule.percent * _PARTS / 100)}" if rule.percent < 100 else ""
    verdict, not_itself = "drop", ""
    if rule.action == "reset":  # the reset passes on its way back, though the other direction has a rule too
        verdict, not_itself = "reject with tcp reset", "tcp flags & rst != rst"
    then = (not_itself, share, "counter", verdict, f'comment "{window}"')
    return [" ".join(filter(None, (where, end, *then))) for end in ends]


def deletion(handle: int) -> str:
    """The line that deletes the rule of this handle."""
    return f"delete rule ip {TABLE} {CHAIN} handle {handle}"


def found(listed: str) -> list[FoundRule]:
    """The rules in the answer to LIST."""
    rules = [entry["rule"] for entry in msgspec.json.decode(listed)["nftables"] if "rule" in entry]
    return [FoundRule(str(rule.get("comment", "")), int(rule["handle"]), _packets(rule)) for rule in rules]


def _packets(rule: Mapping[str, Any]) -> int:
    counters = [part["counter"]["packets"] for part in rule["expr"] if "counter" in part]
    return int(sum(counters))
