"""What a target says that it has not is said once, for every feature; what is required outranks it."""

from __future__ import annotations

import pytest

from brokertrial.suites.capabilities import STATED
from brokertrial.suites.case import all_cases
from brokertrial.suites.running.features import FEATURES
from brokertrial.suites.running.support import TargetSupport, unmet_need, unsupported_apis
from brokertrial.suites.targets import FEATURES as CLAIMED
from brokertrial.wire.apis import ALL

EVERYTHING = {api.key: (0, api.max_version) for api in ALL}


def offer(*disclaimed: str, required: tuple[str, ...] = (), leaderless: bool = False) -> TargetSupport:
    levels = {"group.version": 1, "transaction.version": 2, "share.version": 1, "metadata.version": 7}
    able = frozenset(STATED)
    return TargetSupport(EVERYTHING, levels, able, 3, leaderless, frozenset(disclaimed), required=frozenset(required))


def gone(offered: TargetSupport) -> dict[str, str]:
    found = {case.id: unmet_need(case, offered) for case in all_cases()}
    return {case: reason.sentence for case, reason in found.items() if reason is not None}


def test_every_feature_that_can_be_claimed_has_its_cases() -> None:
    assert FEATURES.keys() == CLAIMED.keys()
    assert gone(offer()) == {}


@pytest.mark.parametrize("feature", [name for name in FEATURES if name != "share-groups"])
def test_its_cases_are_not_applicable_by_its_name_and_no_others(feature: str) -> None:
    found = gone(offer(feature))
    assert set(found.values()) == {f"disclaimed: {feature}"}
    assert 2 <= len(found) < len(all_cases()) / 3
    assert gone(offer(feature, required=(feature,))) == {}


def test_trials_are_about_what_their_workload_asks_for() -> None:
    reason = unsupported_apis("groups/churn", {"JoinGroup": 0}, offer("groups"))
    assert reason is not None and (reason.kind, reason.sentence) == ("disclaimed", "disclaimed: groups")
    assert unsupported_apis("produce/x", {"Produce": 3}, offer("groups")) is None


def test_who_has_no_idempotence_has_no_transactions() -> None:
    found = gone(offer("idempotence"))
    assert "transactions/markers" in found and "idempotence/gap-is-refused" in found
    assert "idempotence/gap-is-refused" not in gone(offer("transactions"))


def test_leaderless_is_a_disclaimer_too() -> None:
    assert set(gone(offer(leaderless=True)).values()) == {"disclaimed: one leader a partition (leaderless)"}
