"""One sick or dying broker is one failure, of the request that did it; the cases after it are judged all the same."""

from __future__ import annotations

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.probe import batch
from brokertrial.suites.running import coordinators, health
from brokertrial.suites.running.rejudge import judge_stored
from brokertrial.suites.targets import open_target
from brokertrial.wire.messages import request
from tests.suites import bad_broker
from tests.suites.running import results_of

pytestmark = pytest.mark.long

SICK, SICK_LEFT = "poisoned_by_delete_records", '[health]\non_sick = "leave"'


def case(name, function, *needs):
    function.__doc__ = "It MUST hold."
    return Case(name, function, ("prod-001",), needs, {}, {}, False, None)


def takes_records(wire, topic):
    wire.produce(topic, batch("a")).must_be_at(0)
    wire.fetch(topic).must_hold("a")


def deletes(wire, topic):
    wire.produce(topic, batch("a")).must_be_at(0)
    wire.delete_records(topic, offset=1).must_succeed()
    wire.list_offsets(topic, at=-2).must_name(offset=1)


def deletes_and_expects_a_close(wire, topic):
    wire.produce(topic, batch("a")).must_be_at(0)
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 1}]}]
    line = wire.connect("own", wire.leader(topic))
    line.send(request("DeleteRecords", timeout_ms=20_000, topics=rows), 2)
    wire.must_refuse(line, because="a closed connection is what this case expects")


CASES = [case("tests/one", takes_records), case("tests/deletes", deletes), case("tests/two", takes_records)]


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(health, "SICK_AFTER_S", 1.0)


def shown(result):
    return " ".join(line.text for line in result.evidence)


def test_a_sick_broker_is_started_anew_and_accused_once(tmp_path):
    """The answer that made it sick was right; the case passed, and each case after it would have failed."""
    found = results_of(bad_broker.toml(tmp_path, SICK), tmp_path / "run", CASES)
    sick = found["tests/deletes"]
    assert sick.is_failure and sick.reason.kind == "sick" and [one.signature for one in sick.failures] == ["sick"]
    assert sick.reason.sentence.startswith("since DeleteRecords v2 the target takes no record: Produce")
    assert "DeleteRecords" in shown(sick) and "ListOffsets" not in shown(sick)
    assert any(line.startswith("the target was restarted") for line in sick.warnings)
    assert {name for name, result in found.items() if result.verdict is Verdict.PASS} == {"tests/one", "tests/two"}


def test_where_it_cannot_be_started_anew_the_rest_is_not_applicable(tmp_path):
    """One poisoned lock gave 179 failures."""
    found = results_of(bad_broker.toml(tmp_path, SICK, more=SICK_LEFT), tmp_path / "run", CASES)
    assert [name for name, result in found.items() if result.is_failure] == ["tests/deletes"]
    assert found["tests/two"].verdict is Verdict.NOT_APPLICABLE
    assert found["tests/two"].reason.sentence == "needs a target that takes a record, which failed in tests/deletes"


@pytest.mark.parametrize(("supervised", "act"), [(True, deletes_and_expects_a_close), (False, deletes)])
def test_a_broker_that_died_is_a_failure_of_the_request_that_was_under_way(tmp_path, supervised, act):
    """Also where somebody brought it back before anybody looked, and where the case passes."""
    target = bad_broker.toml(tmp_path, "dies_of_delete_records", supervised=supervised)
    found = results_of(target, tmp_path / "run", [CASES[0], case("tests/kills", act), CASES[2]])
    died = found["tests/kills"]
    assert died.is_failure and [one.signature for one in died.failures] == ["died"]
    assert "DeleteRecords" in died.evidence[0].text and died.evidence[0].note == "under way when the broker died"
    assert "DeleteRecords v2" in died.reason.sentence
    assert ("brought back by its supervisor" in died.reason.sentence) is supervised
    assert {name for name, result in found.items() if result.verdict is Verdict.PASS} == {"tests/one", "tests/two"}


@pytest.fixture
def somebody_elses(tmp_path):
    """The address of a broker that dies of DeleteRecords and is brought back, neither of it by us."""
    with open_target(
        bad_broker.toml(tmp_path, "dies_of_delete_records", supervised=True), tmp_path / "other"
    ) as target:
        yield f"bootstrap:{target.bootstrap}"


def test_one_that_goes_away_of_the_same_again_is_accused(somebody_elses, tmp_path, monkeypatch):
    kills = case("tests/kills", deletes)
    monkeypatch.setattr("brokertrial.suites.running.rejudge.case_named", {kills.id: kills}.get)
    found = results_of(somebody_elses, tmp_path / "run", [CASES[0], kills, CASES[2]])
    died = found["tests/kills"]
    assert died.is_failure and [one.signature for one in died.failures] == ["died"]
    assert "DeleteRecords v2 was under way, as once before" in died.reason.sentence
    assert [attempt.reason.kind for attempt in died.attempts] == ["went-away", "died"]
    assert "cannot be told from here" in died.attempts[0].reason.sentence
    assert {name for name, result in found.items() if result.verdict is Verdict.PASS} == {"tests/one", "tests/two"}
    for attempt in died.attempts:
        again = judge_stored(tmp_path / "run" / "run" / attempt.history)
        assert again.reason == attempt.reason


def test_one_that_somebody_else_stopped_once_is_not_accused_nor_cleared(somebody_elses, tmp_path):
    tried = []

    def is_disturbed(wire, topic):
        wire.produce(topic, batch("a")).must_be_at(0)
        tried.append(topic)
        if len(tried) == 1:  # by another program, it might be
            wire.delete_records(topic, offset=1).must_succeed()

    found = results_of(somebody_elses, tmp_path / "run", [CASES[0], case("tests/disturbed", is_disturbed), CASES[2]])
    disturbed = found["tests/disturbed"]
    assert disturbed.verdict is Verdict.INCONCLUSIVE and disturbed.reason.kind == "went-away"
    assert "attempt 1 (seed 7)" in disturbed.reason.sentence and "No later attempt saw it" in disturbed.reason.sentence
    assert {name for name, result in found.items() if result.verdict is Verdict.PASS} == {"tests/one", "tests/two"}


def test_what_is_found_after_a_trial_is_in_its_history(tmp_path):
    """The load went on where it had stopped, and all that was acknowledged is there: but the broker died under it."""
    target = bad_broker.toml(tmp_path, "dies_at_work_once", supervised=True)
    found = results_of(target, tmp_path / "run", ["idempotence/lost-ack"])["idempotence/lost-ack"]
    assert found.is_failure and found.reason.kind == "died"
    assert "brought back by its supervisor" in found.reason.sentence
    again = judge_stored(tmp_path / "run" / "run" / found.history)
    assert (again.verdict, again.reason) == (found.verdict, found.reason)


def test_a_log_that_raises_the_alarm_has_a_broker_started_anew(tmp_path):
    """Whatever it took harm in need not be what a record is written with."""
    target = bad_broker.toml(tmp_path, "panics_and_lives", more='alarm = "panicked at"')
    found = results_of(target, tmp_path / "run", CASES)
    assert {result.verdict for result in found.values()} == {Verdict.PASS}
    warnings = found["tests/deletes"].warnings
    assert any("restarted: its log raised the alarm: panicked at" in line for line in warnings)
    assert not found["tests/two"].warnings


def test_a_coordinator_that_is_lost_fails_the_case_that_lost_it_alone(tmp_path, monkeypatch):
    """KAFKA-19274: records are taken all the while, and every group in one partition is answered NOT_COORDINATOR."""
    monkeypatch.setattr(coordinators, "SERVES_WITHIN_S", 1.0)

    def loses(wire, topic):
        deletes(wire, topic)
        wire.committed(wire.name("g"), topic, retry=False).must_succeed()

    def commits(wire, topic):
        wire.commit(group := wire.name("g"), topic, offset=3).must_succeed()
        wire.committed(group, topic).must_be(3)

    cases = [case("tests/one", commits), case("tests/loses", loses, "restart"), case("tests/two", commits)]
    found = results_of(bad_broker.toml(tmp_path, "loses_a_coordinator"), tmp_path / "run", cases)
    assert {name for name, result in found.items() if result.is_failure} == {"tests/loses"}
    (warning,) = found["tests/loses"].warnings
    assert "restarted: its coordinators do not serve: OffsetFetch for what lies in partition 0" in warning


def test_a_health_command_that_fails_from_a_case_on_is_that_case_alone(tmp_path):
    sick = tmp_path / "sick"
    more = f'[health]\ncommand = ["test", "!", "-e", "{sick}"]\non_sick = "leave"'

    def sickens(wire):
        wire.versions("ListGroups")
        sick.touch()

    cases = [CASES[0], case("tests/sickens", sickens), CASES[2]]
    found = results_of(bad_broker.toml(tmp_path, "nothing_bad", more=more), tmp_path / "run", cases)
    told = {name: result.verdict for name, result in found.items()}
    assert told == {"tests/one": Verdict.PASS, "tests/sickens": Verdict.FAIL, "tests/two": Verdict.PASS}
    assert "health command fails" in found["tests/sickens"].reason.sentence


def test_a_broker_that_its_own_command_calls_sick_is_started_anew(tmp_path):
    """The command asks the store, here by a file in it; the broker takes records all the while."""
    sick = "{data}/sick"
    more = f'[health]\ncommand = ["sh", "-c", "! rm {sick}"]\non_sick = "restart"'

    def sickens(wire):
        wire.versions("ListGroups")
        (tmp_path / "run" / "run" / "target" / "data" / "node-1" / "sick").touch()

    cases = [CASES[0], case("tests/sickens", sickens), CASES[2]]
    found = results_of(bad_broker.toml(tmp_path, "nothing_bad", more=more), tmp_path / "run", cases)
    assert found["tests/sickens"].is_failure and found["tests/two"].verdict is Verdict.PASS
    (warning,) = found["tests/sickens"].warnings
    assert "the target was restarted" in warning and "health command fails" in warning


@pytest.mark.parametrize("habit", ["closes_all_connections", "slow", "lets_nobody_read"])
def test_a_broker_that_lives_is_not_accused(tmp_path, habit):
    """One that closes every connection and listens on, one that takes its time, one that lets nobody read."""
    writes = case("tests/writes", lambda wire, topic: wire.produce(topic, batch("a")).must_be_at(0))
    ends = case("tests/deletes", deletes_and_expects_a_close)
    found = results_of(bad_broker.toml(tmp_path, habit), tmp_path / "run", [writes, ends, CASES[0]])
    assert {found[name].verdict for name in ("tests/writes", "tests/deletes")} == {Verdict.PASS}
    kinds = {result.reason.kind for result in found.values() if result.reason is not None}
    assert kinds == ({"statement"} if habit == "lets_nobody_read" else set())
