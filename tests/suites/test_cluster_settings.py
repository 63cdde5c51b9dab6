"""What a cluster's own settings keep from clients is said by the setting's name; no case and no claim fails for it."""

from __future__ import annotations

import msgspec
import pytest

from brokertrial.suites.case import Case
from brokertrial.suites.probe.cluster_settings import ClusterSettings, longest_transaction_ms, withheld_apis
from brokertrial.suites.probe.default_topics import DefaultTopicsProbe
from brokertrial.suites.running.support import TargetSupport, broken_claims, unmet_need
from brokertrial.wire.apis import ALL
from brokertrial.wire.messages import response
from tests.suites.scripted import SCENE, ScriptedExchanger, wire_to

SERVED = {api.key: (api.min_version, api.newest) for api in ALL}
CLASSIC = {"group.coordinator.rebalance.protocols": "classic"}


def brokers_tell(settings: dict[str, str]):
    def answer(asked):
        (resource,) = asked.resources
        rows = [{"name": name, "value": settings[name]} for name in resource.configuration_keys if name in settings]
        return response("DescribeConfigs", results=[{"resource_type": 4, "resource_name": "1", "configs": rows}])

    return answer


def probe(settings: dict[str, str]):
    wire, _ = wire_to(DescribeConfigs=brokers_tell(settings))
    return wire


@pytest.mark.parametrize(
    ("told", "withheld"),
    [
        ({}, set()),
        ({"group.coordinator.rebalance.protocols": "classic, consumer,streams"}, set()),
        (CLASSIC, {"ConsumerGroupHeartbeat"}),
    ],
)
def test_protocols_that_the_coordinator_may_not_use(told: dict[str, str], withheld: set[str]) -> None:
    assert withheld_apis(probe(told)).keys() == withheld


def test_a_case_that_needs_one_is_not_applicable_by_its_name_and_the_claim_fails_unless_the_user_chose_that() -> None:
    offer = TargetSupport(SERVED, {"group.version": 1}, frozenset(), 1, withheld=withheld_apis(probe(CLASSIC)))

    def joins(wire):
        """Joining MUST work."""

    case = Case("groups/joins", joins, ("g848-001",), (), {"ConsumerGroupHeartbeat": 0}, {}, False, None)
    reason = unmet_need(case, offer)
    assert reason is not None and reason.kind == "cluster-setting"
    assert "group.coordinator.rebalance.protocols is `classic`" in reason.sentence
    assert "protocols is `classic`" in broken_claims({"consumer-protocol": True}, offer)["consumer-protocol"]
    chosen = msgspec.structs.replace(offer, chosen=frozenset(CLASSIC))
    assert broken_claims({"consumer-protocol": True}, chosen) == {}
    assert broken_claims({"consumer-protocol": True}, TargetSupport({}, {}, frozenset(), 1)), (
        "but not for who never had it"
    )


@pytest.mark.parametrize(("told", "limit"), [({"transaction.max.timeout.ms": "20000"}, 20_000), ({}, None)])
def test_producers_keep_to_the_longest_transaction_that_is_allowed(told: dict[str, str], limit: int | None) -> None:
    assert longest_transaction_ms(probe(told)) == limit
    asked = []

    def init(request):
        asked.append(request.transaction_timeout_ms)
        return response("InitProducerId", producer_id=1, producer_epoch=0)

    def coordinator(request):
        place = {"key": "x", "node_id": 1, "host": "h", "port": 9}
        return response("FindCoordinator", coordinators=[place])

    exchanger = ScriptedExchanger(InitProducerId=init, FindCoordinator=coordinator)
    wire = DefaultTopicsProbe(exchanger, SCENE, [("h", 9)])
    wire.set_up = ClusterSettings(longest_transaction_ms=limit)
    wire.producer("x")
    wire.producer("x", timeout_ms=5_000)
    wire.producer("x", timeout_ms=300_000)
    assert asked == [min(30_000, limit or 30_000), 5_000, limit or 60_000]
