"""Every kind of target: what it states, and how many cases decide something there. Nothing is started for it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from brokertrial.ci.reference_pages import table
from brokertrial.suites.capabilities import CAPABILITIES
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.proving.proof_record import record
from brokertrial.suites.running.byte_faults import BYTES
from brokertrial.suites.running.support import TargetSupport, unmet_need
from brokertrial.suites.targets import Target, open_target
from brokertrial.suites.targets.apache.offered import LATER
from brokertrial.suites.targets.processes import ProcessTarget
from brokertrial.wire import apis

TITLE = "Targets"
INTRODUCTION = "What each kind of target states that it can do, and how many cases decide something there."

NETWORKS = frozenset({"network", "bandwidth", "latency", "netem"})
"""What a target gains where its nodes can live in network namespaces."""
RELEASES = ("4.4.0", "4.3.1", "3.9.2")
"""Those that the proof record knows."""
NEWEST = RELEASES[0]
EVERYTHING = f"kafka:{NEWEST}?nodes=3"
ZOOKEEPER = (f"kafka:{RELEASES[-1]}?mode=zk", f"kafka:{RELEASES[-1]}?mode=zk&nodes=3&ensemble=3")
CONTROLLERS = f"{EVERYTHING}&controllers=1"
LEVELS = {"group.version": (LATER["consumer-protocol"].on_since, 1), "transaction.version": ((4, 0), 2)}
"""Which finalized features a new cluster of a release has, and the level."""

ONE_NODE = ("reference", f"kafka:{NEWEST}", ZOOKEEPER[0], "image:", "file:", "bootstrap:")
THREE_NODES = (
    *("reference:3", EVERYTHING, ZOOKEEPER[1], "image: nodes=3", "file: nodes=3", "bootstrap: of three", "mock"),
)
OTHERS = (*(f"kafka:{release}{nodes}" for release in RELEASES[1:] for nodes in ("", "?nodes=3")), CONTROLLERS)
FILES = {"file:": 'start = ["broker", "{port}"]\n', "file: nodes=3": 'nodes = 3\nstart = ["broker", "{port}"]\n'}
ADDRESSES = {
    "image:": f"image:apache/kafka:{NEWEST}",
    "image: nodes=3": f"image:apache/kafka:{NEWEST}?nodes=3",
    "bootstrap:": "bootstrap:127.0.0.1:9092",
    "bootstrap: of three": "bootstrap:127.0.0.1:9092",
}
AT_MOST = frozenset({*FILES, "bootstrap:", "bootstrap: of three", "mock"})
"""What these offer is seen only by asking them."""

NOTES = f"""\
A case decides something on a target that has what the case needs and is of a release to which its rule applies.
*Proven there* is how many of these cases, as they are written now, have passed on that Apache Kafka
([what makes each case fail](../what-makes-each-case-fail.md) lists them). Every case is tried on `{EVERYTHING}`; of
the others, those of three nodes get the cases that need several, those of one node the rest, and those with ZooKeeper
the cases that read it.

Counted is a machine that lacks nothing. An asterisk marks what is there only where the machine can: `network` and
`netem` take [namespaces](../networks.md), `toxiproxy` a [Toxiproxy](../bad-lines.md), `bandwidth` and `latency` either.

*At most*: what such a target offers is seen when it is asked. Here every API is taken to be there, in its newest
version; each that is missing takes cases away, and the [mock cluster](../mock.md) lacks many. `image:` stands for
Apache Kafka's image of release {NEWEST}; `file:` for a broker that a command starts, one process a node. A file may
state less (`volatile`, `leaderless`, `[claims]`, `process = "all"`)."""

STATED = (
    "The number of cases that need the word and decide something there. `+`: it is there, and no case needs it; "
    "empty: it is not there. [Capabilities](capabilities.md) says what each word means."
)


@dataclass(frozen=True)
class TargetKind:
    """One kind of target on a machine that lacks nothing."""

    name: str
    states: frozenset[str]
    machine: frozenset[str]
    """What it has only where the machine can."""
    decided: tuple[Case, ...]
    proven: int | None
    """None: the proof record is not about such a target."""


def page() -> str:
    """A row a target; then what each states, and its areas, for one node and for three."""
    ones, threes = [_kind(name, 1) for name in ONE_NODE], [_kind(name, 3) for name in THREE_NODES]
    others = [_kind(name, 3 if "nodes=3" in name else 1) for name in OTHERS]
    kafkas = [ones[1], threes[1], *others, ones[2], threes[2]]
    rest = [kind for pair in zip(ones[3:], threes[3:-1], strict=True) for kind in pair]
    parts = [
        f"## All\n\n{_summary([ones[0], threes[0], *kafkas, *rest, threes[-1]])}\n\n{NOTES}",
        f"## What each states\n\n{STATED}",
        f"### One node\n\n{_capabilities(ones)}",
        f"### Three nodes\n\n{_capabilities(threes)}",
        f"## By area\n\n### Cases on one node\n\n{_areas(ones)}",
        f"### Cases on three nodes\n\n{_areas(threes)}",
    ]
    return "\n\n".join(parts)


def _summary(kinds: Iterable[TargetKind]) -> str:
    rows = []
    for kind in kinds:
        most = "at most " if kind.name in AT_MOST else ""
        proven = "-" if kind.proven is None else str(kind.proven)
        rows.append((f"`{kind.name}`", f"{most}{len(kind.decided)} of {len(own_cases())}", proven))
    return table(("target", "cases that decide something", "proven there"), rows)


def _capabilities(kinds: Sequence[TargetKind]) -> str:
    rows = [(f"`{word}`", *(_needing(kind, word) for kind in kinds)) for word in CAPABILITIES]
    return table(("word", *(f"`{kind.name}`" for kind in kinds)), rows)


def _needing(kind: TargetKind, word: str) -> str:
    """How many of its cases need this; a word that no target states is there when a case that needs it applies."""
    number = sum(word in case.needs for case in kind.decided)
    shown = str(number) if number else "+" if word in kind.states | kind.machine else ""
    return f"{shown}*" if word in kind.machine else shown


def _areas(kinds: Sequence[TargetKind]) -> str:
    counts = [Counter(case.area for case in kind.decided) for kind in kinds]
    areas = sorted({case.area for case in own_cases()})
    rows = [(area, *(str(count[area] or "") for count in counts)) for area in areas]
    rows.append(("**all**", *(f"**{count.total()}**" for count in counts)))
    return table(("area", *(f"`{kind.name}`" for kind in kinds)), rows)


def _kind(name: str, nodes: int) -> TargetKind:
    with tempfile.TemporaryDirectory(prefix="brokertrial-") as folder:
        if name in FILES:
            file = Path(folder, "broker.toml")
            file.write_text(FILES[name], encoding="utf-8")
            target = open_target(f"file:{file}", Path(folder, "work"))
        else:
            target = open_target(ADDRESSES.get(name, name), Path(folder, "work"))
    states = target.capabilities | ({"nodes"} if nodes > 1 else set())
    networked = isinstance(target, ProcessTarget) and target.members is not None
    machine = BYTES | (NETWORKS if networked else frozenset())
    offer = _offer(name, target, states | machine, nodes)
    decided = tuple(case for case in own_cases() if unmet_need(case, offer) is None)
    return TargetKind(name, states, machine, decided, _proven(name, nodes, decided))


def _offer(name: str, target: Target, capabilities: frozenset[str], nodes: int) -> TargetSupport:
    """What a run would learn of it: every API in the newest version, and the levels of a new cluster."""
    served = {api.key: (api.min_version, api.newest) for api in apis.ALL}
    if "create_topics" not in target.capabilities:
        del served[apis.by_name("CreateTopics").key]
    release = target.release_number
    levels = {feature: level for feature, (since, level) in LEVELS.items() if not release or release >= since}
    if name not in ZOOKEEPER:
        levels["metadata.version"] = 1
    return TargetSupport(
        served,
        levels,
        capabilities,
        nodes,
        target.leaderless,
        frozenset(feature for feature, claimed in target.claims.items() if not claimed),
        volatile=target.volatile,
        release=release,
    )


def _proven(name: str, nodes: int, decided: Iterable[Case]) -> int | None:
    if not name.startswith("kafka:"):
        return None
    wanted = (name.partition("?")[0].removeprefix("kafka:"), nodes, name in ZOOKEEPER, name == CONTROLLERS)
    entries = [entry for case in decided if (entry := record().entry(case))]
    seen = [{(one.release, one.nodes, one.zookeeper, one.controllers) for one in entry.passes} for entry in entries]
    return sum(wanted in passes for passes in seen)
