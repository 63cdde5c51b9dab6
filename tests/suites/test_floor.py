"""What must be offered whatever a target claims: `--require`."""

from __future__ import annotations

import pytest

from brokertrial.suites.running import requirements
from brokertrial.suites.running.support import TargetSupport
from brokertrial.wire.apis import ALL, by_name

EVERYTHING = {api.key: (0, api.max_version) for api in ALL}
MADE = frozenset({"create_topics"})


def offer(*without: str, capabilities: frozenset[str] = MADE, **versions: tuple[int, int]) -> TargetSupport:
    """Everything but some APIs, and some in the versions given."""
    apis = {key: served for key, served in EVERYTHING.items() if key not in {by_name(name).key for name in without}}
    return TargetSupport(apis | {by_name(name).key: served for name, served in versions.items()}, {}, capabilities, 1)


def missed(require: str, offered: TargetSupport, claims: dict[str, bool] | None = None) -> dict[str, str]:
    return requirements.missing_apis(requirements.required(requirements.parse(require), offered, claims or {}), offered)


def test_who_offers_everything_is_above_the_floor() -> None:
    assert missed("core", offer()) == {}
    assert missed(",".join(requirements.AREAS), offer()) == {}


@pytest.mark.parametrize(
    ("api", "areas"),
    [
        ("Produce", ["data"]),
        ("ListOffsets", ["data"]),
        ("CreateTopics", ["topics"]),
        ("JoinGroup", ["groups"]),
        ("OffsetFetch", ["commits"]),
        ("FindCoordinator", ["groups", "commits", "transactions"]),
        ("EndTxn", ["transactions"]),
        ("InitProducerId", ["transactions"]),  # the other half of it is offered
        ("DeleteTopics", []),
        ("DescribeConfigs", []),
    ],
)
def test_an_api_that_is_hidden_is_missed_by_its_area(api: str, areas: list[str]) -> None:
    found = missed("core", offer(api))
    assert list(found) == areas
    assert all(api in sentence for sentence in found.values())


def test_versions_that_no_client_sends_any_more_are_not_offered() -> None:
    assert list(missed("core", offer(Produce=(0, 2)))) == ["data"]
    assert missed("core", offer(Produce=(0, 3))) == {}


def test_who_never_had_transactions_is_not_asked_for_them() -> None:
    transactional = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit")
    assert missed("core", offer(*transactional)) == {}
    assert list(missed("core", offer(*transactional), {"transactions": True})) == ["transactions"]
    assert list(missed("core,transactions", offer(*transactional))) == ["transactions"]


def test_what_is_required_by_name_outranks_what_the_target_says_of_itself() -> None:
    assert list(missed("core", offer("JoinGroup"), {"groups": False})) == ["groups"]
    assert missed("core", offer("EndTxn"), {"transactions": False}) == {}
    assert list(missed("core,transactions", offer("EndTxn"), {"transactions": False})) == ["transactions"]


def test_topics_that_appear_on_use_are_the_test_doubles_own_word() -> None:
    assert missed("core", offer("CreateTopics", capabilities=frozenset())) == {}
    assert list(missed("topics", offer("CreateTopics", capabilities=frozenset()))) == ["topics"]


def test_none_asks_for_nothing() -> None:
    assert missed("none", TargetSupport({}, {}, MADE, 1)) == {}
    assert list(missed("core", TargetSupport({}, {}, MADE, 1))) == ["data", "topics", "groups", "commits"]


@pytest.mark.parametrize("text", ["", ",", "core,none", "none,core", "telepathy", "core,,telepathy"])
def test_what_is_not_understood_is_named(text: str) -> None:
    with pytest.raises(requirements.UnknownArea, match="none alone"):
        requirements.parse(text)
