"""A node's line made slow: bandwidth by tbf, latency and reordering by netem, at both ends of its veth pair."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from brokertrial.faults.packets import Shaping
from brokertrial.suites.targets.network.namespaces import Namespace

INNER = "eth0"


def line_of(node: int) -> str:
    """The device at the outer end of a node's line."""
    return f"node{node}"


def shape(outer: Namespace, inner: Namespace, line: Shaping) -> None:
    """Puts the discipline on both ends; NetworkFailed where the kernel has none of that kind."""
    for space, device in _ends(outer, inner, line):
        space.run("tc", "qdisc", "replace", "dev", device, "root", *_words(line))


def packets(outer: Namespace, inner: Namespace, line: Shaping) -> int:
    """How many packets have passed both ends."""
    return sum(_passed(space, device) for space, device in _ends(outer, inner, line))


def unshape(outer: Namespace, inner: Namespace, line: Shaping) -> int:
    """Takes the discipline away; how many packets had passed."""
    met = packets(outer, inner, line)
    for space, device in _ends(outer, inner, line):
        space.run("tc", "qdisc", "delete", "dev", device, "root")
    return met


def _words(line: Shaping) -> list[str]:
    if line.kbit_per_s:
        return ["tbf", "rate", f"{line.kbit_per_s}kbit", "burst", "32kbit", "latency", "500ms"]
    words = ["netem", "delay", f"{line.delay_ms:g}ms"]
    words += [f"{line.jitter_ms:g}ms"] if line.jitter_ms else []
    return [*words, *(["reorder", f"{line.reorder_percent:g}%"] if line.reorder_percent else [])]


def _ends(outer: Namespace, inner: Namespace, line: Shaping) -> Iterator[tuple[Namespace, str]]:
    yield outer, line_of(line.node)
    yield inner, INNER


def _passed(space: Namespace, device: str) -> int:
    told = msgspec.json.decode(space.run("tc", "-s", "-j", "qdisc", "show", "dev", device))
    return sum(int(each.get("packets", 0)) for each in told if each.get("kind") in ("tbf", "netem"))
