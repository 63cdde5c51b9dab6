"""Compaction cases: a cleaner that the cluster has switched off is no failure of the broker."""

from __future__ import annotations

import pytest

from brokertrial.suites.cases.compaction.survivors import cleanable
from brokertrial.suites.probe.failures import NotApplicable
from brokertrial.wire.messages import response
from tests.suites.scripted import TOPIC, wire_to

TOLD = {"log.cleaner.enable": "true", "log.cleaner.backoff.ms": "500"}


def brokers_that_tell(**changed: str):
    told = TOLD | {name.replace("_", "."): value for name, value in changed.items()}

    def answer(asked):
        names = asked.resources[0].configuration_keys
        rows = [{"name": name, "value": told[name]} for name in names if name in told]
        return response("DescribeConfigs", results=[{"resource_type": 4, "resource_name": "1", "configs": rows}])

    return wire_to(DescribeConfigs=answer)[0]


def test_a_cleaner_that_is_switched_off_is_said() -> None:
    with pytest.raises(NotApplicable, match=r"log\.cleaner\.enable is false") as said:
        cleanable(brokers_that_tell(log_cleaner_enable="false"), lambda **wanted: TOPIC)
    assert said.value.kind == "cluster-setting"


def test_one_that_is_on_is_judged() -> None:
    assert cleanable(brokers_that_tell(), lambda **wanted: TOPIC) == TOPIC
