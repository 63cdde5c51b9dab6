"""What `doctor` finds: every ability works, does not, or is not stated; a target that fails is a finding."""

from __future__ import annotations

from collections.abc import Callable

from brokertrial.suites.targets.doctor import Ability, examine, machine
from tests.targets.conftest import tiny


def by_ability(found: list[Ability]) -> dict[str, Ability]:
    return {finding.ability: finding for finding in found}


def test_every_ability_is_tried(broker_file: Callable[..., str]) -> None:
    found = by_ability(examine(broker_file(start=tiny(), version=["echo", "tiny 1"], stop={"within_s": 10})))
    for ability in ("start", "version", "ready", "logs", "kill", "terminate", "restart", "pause", "stop"):
        assert found[ability].state == "works", found[ability]
    assert found["create topics"].state == "does not", "the tiny broker does not offer CreateTopics"
    assert found["claims"].state == "not stated"


def test_what_does_not_work_does_not_hide_the_rest(broker_file: Callable[..., str]) -> None:
    found = by_ability(examine(broker_file(start=tiny("--stubborn"), stop={"within_s": 0.3})))
    assert found["terminate"].state == "does not" and "did not stop by itself" in found["terminate"].detail
    assert found["restart"].state == found["pause"].state == "works"
    assert found["version"] == Ability("version", "not stated", "not stated")


def test_a_broker_that_prints_nothing_is_silent_and_nothing_is_wrong(broker_file: Callable[..., str]) -> None:
    found = by_ability(examine(broker_file(start=tiny("--quiet"), stop={"within_s": 10})))
    assert found["logs"] == Ability("logs", "silent", "no line since the start; what the broker prints is kept")


def test_a_log_that_is_stated_must_be_there(broker_file: Callable[..., str]) -> None:
    found = by_ability(examine(broker_file(start=tiny(), logs=["{data}/none.log"], stop={"within_s": 10})))
    assert found["logs"].state == "does not" and "/none.log" in found["logs"].detail


def test_a_claim_is_looked_for_and_not_believed(broker_file: Callable[..., str]) -> None:
    found = by_ability(examine(broker_file(start=tiny(), stop={"within_s": 10}, claims={"transactions": True})))
    told = "transactions: claimed, but not in ApiVersions"
    assert found["claims"].state == "does not" and told in found["claims"].detail


def test_a_target_that_does_not_start_is_a_finding(broker_file: Callable[..., str]) -> None:
    (found,) = examine(broker_file(start=tiny("--die", "no such disk")))
    assert (found.ability, found.state) == ("start", "does not") and "no such disk 29" in found.detail


def test_an_unknown_target_is_a_finding() -> None:
    (found,) = examine("kafak")
    assert found.state == "does not" and "Did you mean kafka?" in found.detail


def test_the_machine_is_described() -> None:
    found = by_ability(machine())
    network = [name for name in found if name.startswith("network: ")]
    assert list(found) == ["Python", "Java", "Maven", "Go", "containers", "Toxiproxy", *network, "processors"]
    assert found["Python"].state == "works" and len(network) == 4
    assert all(finding.detail for finding in found.values())
