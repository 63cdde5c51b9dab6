"""Legal behaviour that must not fail a case about groups."""

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.probe import join_together
from brokertrial.suites.probe.run_case import attempt
from brokertrial.wire import errors
from brokertrial.wire.messages import response
from tests.suites.scripted import wire_to


def coordinator(asked):
    row = {"key": asked.coordinator_keys[0], "node_id": 1, "host": "h", "port": 9}
    return response("FindCoordinator", coordinators=[row])


class ClosesEarly:
    """Ends a rebalance without waiting for those to whom it only gave an id, as Kafka does for a group's first one."""

    def __init__(self):
        self.known, self.joined, self.generation = 0, [], 0

    def join(self, asked):
        if not asked.member_id:
            self.known += 1
            return response("JoinGroup", error_code=errors.MEMBER_ID_REQUIRED, member_id=f"m-{self.known}")
        if asked.member_id not in self.joined:
            self.joined.append(asked.member_id)
            self.generation += 1
        leads = asked.member_id == self.joined[0]
        return response(
            "JoinGroup",
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name="range",
            leader=self.joined[0],
            member_id=asked.member_id,
            members=[{"member_id": name, "metadata": b""} for name in self.joined] if leads else [],
        )

    def heartbeat(self, asked):
        behind = asked.generation_id < self.generation
        return response("Heartbeat", error_code=errors.REBALANCE_IN_PROGRESS if behind else 0)


def test_a_generation_may_close_before_the_last_member_is_there():
    broker = ClosesEarly()
    wire, _ = wire_to(FindCoordinator=coordinator, JoinGroup=broker.join, Heartbeat=broker.heartbeat)
    members = [wire.member("bt-x-g", name) for name in "abc"]
    leader = join_together(*members)
    assert leader is members[0]
    assert set(leader.joined.members) == {"m-1", "m-2", "m-3"}
    assert {member.generation for member in members} == {3}


def test_sessions_that_may_not_be_short_make_the_case_not_applicable():
    def configs(asked):
        name = asked.resources[0].configuration_keys[0]
        row = {"resource_type": 4, "resource_name": "1", "configs": [{"name": name, "value": "30000"}]}
        return response("DescribeConfigs", results=[row])

    wire, exchanger = wire_to(FindCoordinator=coordinator, DescribeConfigs=configs)
    outcome = attempt(by_id()["groups/silent-member-is-expelled"], wire, exchanger, {}, lambda: True)
    assert outcome.verdict is Verdict.NOT_APPLICABLE
    assert "group.min.session.timeout.ms is 30000" in outcome.reason.sentence


def test_a_group_that_is_not_there_may_be_an_error_in_newer_versions():
    def describe(asked):
        assert asked.groups == list(wire.named)
        code = errors.GROUP_ID_NOT_FOUND if describe.asked else 0
        describe.asked += 1
        return response(
            "DescribeGroups", groups=[{"group_id": asked.groups[0], "error_code": code, "group_state": "Dead"}]
        )

    describe.asked = 0
    wire, exchanger = wire_to(FindCoordinator=coordinator, DescribeGroups=describe, JoinGroup=lambda asked: "close")
    outcome = attempt(by_id()["groups/described"], wire, exchanger, {}, lambda: True)
    assert "JoinGroup" in exchanger.seen, "the case went on to the group that exists"
    assert "Dead" not in outcome.reason.sentence
