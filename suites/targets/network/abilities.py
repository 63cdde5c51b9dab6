"""Which network faults this machine can do, each tried for real in namespaces that are gone afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from brokertrial.faults.packets import CLIENTS, NetworkFailed, PacketRule, Shaping
from brokertrial.suites.targets.network import packet_rules, shaping
from brokertrial.suites.targets.network.namespaces import Namespace

_NOWHERE = {CLIENTS: "192.0.2.1", 1: "192.0.2.2"}


@dataclass(frozen=True, slots=True)
class NetworkAbility:
    """One thing tried. `capability` is what a target gains by it; `problem` is empty where it works."""

    name: str
    capability: str
    problem: str
    needs: str
    """What it takes where it does not work."""


@cache
def tried() -> tuple[NetworkAbility, ...]:
    """Every ability, tried once in this process: about 0.1 s."""
    try:
        outer = Namespace.outer()
    except NetworkFailed as problem:
        return tuple(NetworkAbility(*words, str(problem), _NAMESPACES) for words in _NAMES)
    inner: list[Namespace] = []
    try:
        problems = [_problem(attempt, outer, inner) for attempt in _ATTEMPTS]
    finally:
        for space in (*inner, outer):
            space.close()
    found = zip(_NAMES, problems, _NEEDS, strict=True)
    return tuple(NetworkAbility(*words, problem, needs) for words, problem, needs in found)


def offered_here() -> frozenset[str]:
    """The capabilities that a target of several nodes has on this machine."""
    failed = {ability.capability for ability in tried() if ability.problem}
    if "network" in failed:
        return frozenset()
    able = {ability.capability for ability in tried()} - failed
    return frozenset(able | ({"latency"} if "netem" in able else set()))


def _problem(attempt: Callable[[Namespace, list[Namespace]], None], outer: Namespace, inner: list[Namespace]) -> str:
    try:
        attempt(outer, inner)
    except NetworkFailed as problem:
        return str(problem)
    except IndexError:
        return "there is no namespace to try it in"
    return ""


def _lines(outer: Namespace, inner: list[Namespace]) -> None:
    inner.append(outer.inner())
    outer.run("ip", "link", "add", "br0", "type", "bridge")
    pair = ("type", "veth", "peer", "name", shaping.INNER, "netns", str(inner[0].pid))
    outer.run("ip", "link", "add", shaping.line_of(1), *pair)


def _rules(outer: Namespace, inner: list[Namespace]) -> None:
    rules = [PacketRule(CLIENTS, 1, "brokers", action) for action in ("drop", "reset")]
    rules.append(PacketRule(CLIENTS, 1, percent=5))
    lines = [line for rule in rules for line in packet_rules.additions("tried", rule, _NOWHERE)]
    inner[0].run("nft", "-f", "-", text=packet_rules.CREATE + "\n".join(lines) + "\n")
    if len(packet_rules.found(inner[0].run(*packet_rules.LIST))) != len(lines):
        raise NetworkFailed("the kernel does not list the rules that were made")


def _bandwidth(outer: Namespace, inner: list[Namespace]) -> None:
    shaping.shape(outer, inner[0], Shaping(1, kbit_per_s=1_000))
    shaping.unshape(outer, inner[0], Shaping(1, kbit_per_s=1_000))


def _late(outer: Namespace, inner: list[Namespace]) -> None:
    shaping.shape(outer, inner[0], Shaping(1, delay_ms=10, reorder_percent=5))
    shaping.unshape(outer, inner[0], Shaping(1, delay_ms=10))


_NAMESPACES = (
    "Linux with unshare and nsenter (util-linux), and user namespaces for ordinary users "
    "(kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), or root with CAP_SYS_ADMIN"
)
_NAMES = (
    ("network namespaces", "network"),
    ("packet rules", "network"),
    ("bandwidth", "bandwidth"),
    ("latency and reordering of packets", "netem"),
)
_ATTEMPTS = (_lines, _rules, _bandwidth, _late)
_NEEDS = (
    "`ip` (iproute2) and a kernel with bridge and veth",
    "`nft` (nftables) and a kernel with nf_tables, nft_reject and nft_numgen",
    "`tc` (iproute2) and a kernel with sch_tbf",
    "`tc` (iproute2) and a kernel with sch_netem",
)
