"""What a target offers, and whether that is enough for a case or for a claim."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from brokertrial.suites.capabilities import CAPABILITIES, FORGETTING
from brokertrial.suites.case import Case
from brokertrial.suites.result import Reason
from brokertrial.suites.running.features import disclaimed
from brokertrial.wire.apis import by_name

#: A claimed feature is there when all of these APIs are offered; a finalized feature must be on where it is named.
CLAIMS: dict[str, tuple[str, ...]] = {
    "idempotence": ("InitProducerId",),
    "transactions": ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
    "groups": ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    "consumer-protocol": ("ConsumerGroupHeartbeat",),
    "share-groups": ("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge"),
    "commits": ("FindCoordinator", "OffsetCommit", "OffsetFetch"),
    "admin": ("CreateTopics", "DeleteTopics", "CreatePartitions"),
    "configs": ("DescribeConfigs", "IncrementalAlterConfigs"),
    "delete-records": ("DeleteRecords",),
    "timestamps": ("ListOffsets",),
    "retention": (),  # shown by behaviour alone
    "compaction": (),
}
CLAIMED_FEATURES = {"consumer-protocol": "group.version", "share-groups": "share.version"}


class TargetSupport(msgspec.Struct, frozen=True):
    """The served versions of each API by key, finalized features, capabilities, and what the target disclaims."""

    apis: dict[int, tuple[int, int]]
    features: dict[str, int]
    capabilities: frozenset[str]
    nodes: int
    leaderless: bool = False
    disclaimed: frozenset[str] = frozenset()  # features that the target says it has not
    withheld: Mapping[str, str] = {}  # API -> the setting of the cluster that keeps it from clients
    required: frozenset[str] = frozenset()  # areas that count although they are disclaimed
    chosen: frozenset[str] = frozenset()  # settings of the cluster that the user chose
    volatile: bool = False  # it forgets everything when its process ends, and says so
    release: tuple[int, ...] = ()  # of Apache Kafka, as far as it is known or said; empty: every rule binds

    def offers(self, api: str, at_least: int = 0) -> bool:
        """Whether an API is served in a version that we know and that is not below `at_least`."""
        if api in self.withheld:
            return False
        ours = by_name(api)
        low, high = self.apis.get(ours.key, (0, -1))
        return min(high, ours.newest) >= max(low, ours.min_version, at_least)


def unmet_need(case: Case, offer: TargetSupport) -> Reason | None:
    """Why a case is not applicable to what is offered; None when it is applicable."""
    if case.since is not None and offer.release and offer.release < case.since.release:
        return Reason("came-later", case.since.sentence(offer.release))
    if (reason := unsupported_apis(case.id, case.apis, offer)) is not None:
        return reason
    for feature, level in case.features.items():
        if offer.features.get(feature, 0) < level:
            found = offer.features.get(feature, 0)
            return Reason("not-offered", f"the feature {feature} is finalized at {found}; the case needs {level}")
    if offer.leaderless and "leaders" in case.needs:
        return Reason("disclaimed", "disclaimed: one leader a partition (leaderless)")
    for need in case.needs:
        if CAPABILITIES[need].by_request and not offer.offers("CreateTopics"):
            return Reason(
                "not-offered", f"the broker does not offer CreateTopics; the case needs {CAPABILITIES[need].need}"
            )
        if offer.volatile and need in FORGETTING:
            return Reason("disclaimed", "disclaimed: data that outlive the process (volatile)")
        if not _has(need, offer):
            return Reason("missing-capability", f"the target lacks what the case needs: {CAPABILITIES[need].need}")
    return None


def unsupported_apis(case_id: str, apis: Mapping[str, int], offer: TargetSupport) -> Reason | None:
    """Why a case cannot be judged that needs these APIs in these versions, or later ones."""
    if feature := disclaimed(case_id, apis, offer.disclaimed - offer.required):
        return Reason("disclaimed", f"disclaimed: {feature}")
    for api, version in apis.items():
        if api in offer.withheld:
            return Reason("cluster-setting", offer.withheld[api])
        if not offer.offers(api, version):
            return Reason("not-offered", f"the broker does not offer {api} v{version} or later")
    return None


def _has(need: str, offer: TargetSupport) -> bool:
    if need == "proxy":
        return True
    if need == "leaders":
        return not offer.leaderless
    if need == "three-nodes":
        return offer.nodes >= 3
    return CAPABILITIES[need].by_request or need in offer.capabilities


def broken_claims(claims: Mapping[str, bool], offer: TargetSupport) -> dict[str, str]:
    """Claimed features that are not offered, each with what is missing."""
    broken: dict[str, str] = {}
    for feature, claimed in claims.items():
        if not claimed:
            continue
        apis = CLAIMS.get(feature, ())
        missing = [api for api in apis if not offer.offers(api) and api not in offer.withheld]
        kept = [why for api in apis if (why := offer.withheld.get(api)) and not is_chosen(why, offer.chosen)]
        if missing:
            broken[feature] = f"claimed, but not in ApiVersions: {', '.join(missing)}"
        elif kept:
            broken[feature] = f"claimed, but disabled for clients: {kept[0]}"
        elif (level := level_missing(feature, offer)) is not None:
            broken[feature] = f"claimed, and the feature {level} is not finalized"
    return broken


def level_missing(feature: str, offer: TargetSupport) -> str | None:
    """The finalized feature of the cluster that this one needs and that is off; None where nothing is missing."""
    level = CLAIMED_FEATURES.get(feature)
    return level if level is not None and offer.features and offer.features.get(level, 0) < 1 else None


def is_chosen(why: str, chosen: Collection[str]) -> bool:
    """Whether a reason names a setting of the cluster that the user chose."""
    return any(setting in why for setting in chosen)
