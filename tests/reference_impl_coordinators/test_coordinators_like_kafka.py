"""The coordinators answer as Apache Kafka 4.4.0 does, scenario by scenario, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference_impl_coordinators.consumer_group_scenarios import SCENARIOS as CONSUMER_GROUPS
from tests.reference_impl_coordinators.group_scenarios import SCENARIOS as GROUPS
from tests.reference_impl_coordinators.scenarios import Scenario, told
from tests.reference_impl_coordinators.transaction_scenarios import SCENARIOS as TRANSACTIONS
from tests.reference_impl_coordinators.version2_scenarios import SCENARIOS as VERSION_2

ALL = GROUPS + TRANSACTIONS + VERSION_2 + CONSUMER_GROUPS
SAYS = Path(__file__).with_name("kafka_says.txt")


def kafka_says(name: str) -> list[str]:
    """The lines of one scenario as Kafka told them."""
    blocks: dict[str, list[str]] = {}
    for line in SAYS.read_text("utf-8").splitlines():
        if line.startswith("  "):
            blocks[next(reversed(blocks))].append(line)
        else:
            blocks[line] = []
    return blocks[name]


@pytest.mark.parametrize("scenario", ALL, ids=lambda s: s.__name__)
def test_the_reference_broker_says_what_kafka_says(scenario: Scenario, broker: str) -> None:
    _, *lines = told(broker, [scenario])
    assert lines == kafka_says(scenario.__name__)


@pytest.mark.slow
@pytest.mark.kafka
def test_kafka_still_says_so(tmp_path: Path) -> None:
    """The lines in `kafka_says.txt` are Kafka's own."""
    from brokertrial.suites.targets import open_target

    with open_target("kafka:4.4.0", tmp_path) as target:
        lines = list(told(target.bootstrap, ALL))
    assert lines == SAYS.read_text("utf-8").splitlines()
