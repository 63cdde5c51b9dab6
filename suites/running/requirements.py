"""The floor: what a target must offer before "all clear" can be said of it, whatever it claims.

An API that is left out of ApiVersions makes its cases not applicable, and alone that would cost nothing. So `--require`
names areas, `core` unless told otherwise; one that is required and not offered is a failure, `requires/<area>`. Only
the command line says what is required: a file of the broker's vendor must not lower what its broker is measured by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from brokertrial.suites.running.support import CLAIMS, TargetSupport, level_missing

NONE, CORE = "none", "core"


class UnknownArea(ValueError):
    """`--require` names what there is not."""


class ApiArea(msgspec.Struct, frozen=True):
    """APIs that belong together, each with the oldest version that today's clients still send (KIP-896)."""

    what: str
    apis: Mapping[str, int]
    core: bool = False
    where_offered: bool = False
    """As a part of the core it is required only where one of its own APIs is offered, or where it is claimed."""
    own: tuple[str, ...] = ()
    """Those of its APIs that show that it is offered."""


AREAS: dict[str, ApiArea] = {
    "data": ApiArea(
        "writing, reading and finding records",
        {"ApiVersions": 0, "Metadata": 0, "Produce": 3, "Fetch": 4, "ListOffsets": 1},
        core=True,
    ),
    "topics": ApiArea("making topics by request", {"CreateTopics": 2}, core=True),
    "groups": ApiArea(
        "classic consumer groups",
        {"FindCoordinator": 0, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0, "LeaveGroup": 0},
        core=True,
    ),
    "commits": ApiArea("committed offsets", {"FindCoordinator": 0, "OffsetCommit": 2, "OffsetFetch": 1}, core=True),
    "idempotence": ApiArea(
        "idempotent producers", {"InitProducerId": 0}, core=True, where_offered=True, own=("InitProducerId",)
    ),
    "transactions": ApiArea(
        "transactions",
        dict.fromkeys(("FindCoordinator", *CLAIMS["transactions"]), 0),
        core=True,
        where_offered=True,
        own=("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
    ),
    **{
        feature: ApiArea(f"the feature {feature}", dict.fromkeys(apis, 0))
        for feature, apis in CLAIMS.items()
        if feature not in ("groups", "commits", "idempotence", "transactions")
    },
}


def required(words: Sequence[str], offer: TargetSupport, claims: Mapping[str, bool]) -> list[str]:
    """The areas that `--require` names, in the order of the table; `core` stands for several.

    An area that is named outranks what the target says of itself. As a part of the core, idempotence and transactions
    are required where they are offered or claimed, and not where the target says that it has them not.
    """
    named = {word for word in words if word in AREAS}
    if CORE in words:
        named |= {name for name, area in AREAS.items() if area.core and _in_core(name, area, offer, claims)}
    return [name for name in AREAS if name in named]


def _in_core(name: str, area: ApiArea, offer: TargetSupport, claims: Mapping[str, bool]) -> bool:
    if name == "topics":
        return "create_topics" in offer.capabilities  # a test double whose topics appear on use says so itself
    if not area.where_offered:
        return True
    return claims.get(name, any(offer.offers(api) for api in area.own))


def missing_apis(areas: Iterable[str], offer: TargetSupport) -> dict[str, str]:
    """The required areas that are not offered, each with what is missing."""
    found: dict[str, str] = {}
    for name in areas:
        missing = [_named(api, version) for api, version in AREAS[name].apis.items() if not offer.offers(api, version)]
        if missing:
            found[name] = f"required, but not in ApiVersions: {', '.join(missing)}"
        elif (level := level_missing(name, offer)) is not None:
            found[name] = f"required, but the feature {level} is not finalized"
    return found


def statement(area: str) -> str:
    """The promise behind `requires/<area>`."""
    return f"A Kafka broker MUST support {AREAS[area].what}."


def parse(text: str) -> tuple[str, ...]:
    """`core,transactions` as a tuple; `none`, which must stand alone, is empty."""
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if words == (NONE,):
        return ()
    if not words or NONE in words:
        raise UnknownArea(f"`{text}`: name {CORE}, areas, or {NONE} alone")
    for word in words:
        if word not in (CORE, *AREAS):
            raise UnknownArea(f"`{word}` is no area; known: {CORE}, {', '.join(AREAS)}, or {NONE} alone")
    return words


def _named(api: str, version: int) -> str:
    return f"{api} v{version} or later" if version else api
