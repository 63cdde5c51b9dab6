"""When a broker may refuse to make a topic: only where a setting, a policy or a permission that is stated allows it."""

from __future__ import annotations

import msgspec
import pytest

from brokertrial.suites.probe.cluster_settings import ClusterSettings
from brokertrial.suites.probe.default_topics import DefaultTopicsProbe
from brokertrial.suites.probe.failures import NotApplicable, StatementFalse
from brokertrial.wire import errors
from brokertrial.wire.messages import response
from tests.suites.scripted import SCENE, ScriptedExchanger

REQUIRED = msgspec.structs.replace(SCENE, required=("data", "topics"))
POLICY = msgspec.structs.replace(REQUIRED, topic_policy=True)


def refusing(code: int, case_context=REQUIRED) -> DefaultTopicsProbe:
    def answer(asked):
        (row,) = asked.topics
        return response("CreateTopics", topics=[{"name": row.name, "error_code": code}])

    return DefaultTopicsProbe(ScriptedExchanger(CreateTopics=answer), case_context, [("h", 9)])


@pytest.mark.parametrize(
    "code",
    [
        errors.INVALID_CONFIG,
        errors.INVALID_REPLICATION_FACTOR,
        errors.POLICY_VIOLATION,
        errors.TOPIC_AUTHORIZATION_FAILED,
        errors.CLUSTER_AUTHORIZATION_FAILED,
        errors.INVALID_REQUEST,
    ],
)
def test_a_plain_topic_must_be_made(code: int) -> None:
    with pytest.raises(StatementFalse, match=errors.name(code)):
        refusing(code).new_topic()


def test_a_setting_may_be_refused_but_not_one_that_was_accepted_before() -> None:
    wire = refusing(errors.INVALID_CONFIG)
    with pytest.raises(NotApplicable) as refused:
        wire.new_topic(configs={"cleanup.policy": "compact"})
    assert refused.value.kind == "unsupported"
    wire.set_up = ClusterSettings({"compression.type": "producer"})
    with pytest.raises(StatementFalse, match="INVALID_CONFIG"):
        wire.new_topic()
    with pytest.raises(NotApplicable):
        wire.new_topic(configs={"cleanup.policy": "compact"})


@pytest.mark.parametrize(
    ("code", "case_context"), [(errors.POLICY_VIOLATION, POLICY), (errors.CLUSTER_AUTHORIZATION_FAILED, SCENE)]
)
def test_a_policy_that_is_stated_and_a_permission_that_nobody_requires_are_no_failure(code: int, case_context) -> None:
    with pytest.raises(NotApplicable):
        refusing(code, case_context).new_topic(partitions=3)


@pytest.mark.parametrize("told", [None, "60000"])
@pytest.mark.parametrize(
    ("ours", "chosen", "error"),
    [(True, (), StatementFalse), (False, (), NotApplicable), (True, ("a.b",), NotApplicable)],
)
def test_a_timer_that_we_set_ourselves_must_be_told_as_it_is(told, ours, chosen, error) -> None:
    def answer(asked):
        rows = [] if told is None else [{"name": "a.b", "value": told}]
        return response("DescribeConfigs", results=[{"resource_type": 4, "resource_name": "1", "configs": rows}])

    case_context = msgspec.structs.replace(SCENE, our_timers=ours, chosen=chosen)
    wire = DefaultTopicsProbe(ScriptedExchanger(DescribeConfigs=answer), case_context, [("h", 9)])
    with pytest.raises(error, match=r"a\.b"):
        wire.needs_setting("a.b", at_most=5_000)
    wire.needs_setting("a.b", at_most=60_000) if told else None
