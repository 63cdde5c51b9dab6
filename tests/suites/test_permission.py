"""A refusal for want of permission is held against nobody, but for what is required and what was permitted before."""

from __future__ import annotations

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.probe.permission import wants, what
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Outcome
from brokertrial.wire import errors
from brokertrial.wire.messages import request, response
from tests.suites.scripted import SCENE, ScriptedExchanger

TOPIC, GROUP, CLUSTER = (
    errors.TOPIC_AUTHORIZATION_FAILED,
    errors.GROUP_AUTHORIZATION_FAILED,
    errors.CLUSTER_AUTHORIZATION_FAILED,
)


def refused(code: int):
    return lambda asked: response("DescribeCluster", error_code=code, brokers=[])


def case(function) -> Case:
    function.__doc__ = "It MUST work."
    return Case("tests/case", function, ("prod-001",), (), {}, {}, False, None)


def tried(function, case_context=SCENE, **answers) -> tuple[Outcome, Wire]:
    exchanger = ScriptedExchanger(**answers)
    wire = Wire(exchanger, case_context, [("h", 9)])
    return attempt(case(function), wire, exchanger, {}, lambda: True), wire


def describes(wire) -> None:
    wire.describe_cluster().must_succeed()


@pytest.mark.parametrize("code", [TOPIC, GROUP, CLUSTER, 53, 58, 65])
def test_a_refusal_is_not_applicable_by_the_permission_that_is_missing(code: int) -> None:
    outcome, wire = tried(describes, DescribeCluster=refused(code))
    assert (outcome.verdict, outcome.reason.kind) == (Verdict.NOT_APPLICABLE, "no-permission")
    assert "Describe (DescribeCluster, " in outcome.reason.sentence
    assert list(wire.permissions.denied) == ["DescribeCluster"]


def test_brokers_without_an_authorizer_refuse_nobody() -> None:
    ours = msgspec.structs.replace(SCENE, our_timers=True)
    assert tried(describes, ours, DescribeCluster=refused(CLUSTER))[0].verdict is Verdict.FAIL
    chosen = msgspec.structs.replace(ours, chosen=("authorizer.class.name",))
    assert tried(describes, chosen, DescribeCluster=refused(CLUSTER))[0].verdict is Verdict.NOT_APPLICABLE


def test_another_error_is_a_failure() -> None:
    assert tried(describes, DescribeCluster=refused(errors.POLICY_VIOLATION))[0].verdict is Verdict.FAIL


def test_what_is_required_must_be_permitted() -> None:
    def creates(wire) -> None:
        wire.create_topic("t").must_succeed()

    def answer(asked):
        return response("CreateTopics", topics=[{"name": "t", "error_code": TOPIC}])

    required = msgspec.structs.replace(SCENE, required=("data", "topics"))
    assert tried(creates, required, CreateTopics=answer)[0].verdict is Verdict.FAIL
    assert tried(creates, CreateTopics=answer)[0].verdict is Verdict.NOT_APPLICABLE


def test_what_was_permitted_once_is_permitted() -> None:
    before = msgspec.structs.replace(SCENE, permitted=("DescribeCluster",))
    assert tried(describes, before, DescribeCluster=refused(CLUSTER))[0].verdict is Verdict.FAIL
    codes = iter([0, CLUSTER])

    def twice(wire) -> None:
        describes(wire)
        describes(wire)

    outcome, wire = tried(twice, DescribeCluster=lambda asked: refused(next(codes))(asked))
    assert outcome.verdict is Verdict.FAIL and "DescribeCluster" in wire.permissions.permitted


def test_permissions_differ_by_the_kind_of_resource() -> None:
    broker = request("DescribeConfigs", resources=[{"resource_type": 4, "resource_name": "1"}])
    assert what(broker) == "DescribeConfigs of a broker"
    assert what(request("FindCoordinator", key_type=1)) == "FindCoordinator of a transactional id"
    assert what(request("InitProducerId", transactional_id="x")) == "InitProducerId with a transactional id"
    assert what(request("InitProducerId", transactional_id=None)) == "InitProducerId"


def test_a_trial_is_spared_what_its_clients_would_be_refused() -> None:
    denied = ["InitProducerId with a transactional id", "DescribeConfigs of a broker"]
    assert wants(denied, {"Produce", "InitProducerId", "EndTxn"}) == denied[0]
    assert wants(denied, {"Produce", "InitProducerId"}) == ""
    assert wants(["JoinGroup"], {"JoinGroup"}) == "JoinGroup"
