"""A group that is of the other kind each time that it was empty (KIP-848): a new group, with the same offsets."""

from typing import Any

from brokertrial.suites.cases.groups._classic import LONG_MS
from brokertrial.suites.cases.groups._consumers import ConsumerModel, Consumers
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CLASSIC, CONSUMER = "classic", "consumer"
FIRST_GENERATION = 1
OPAQUE = {"protocol_type": "opaque", "session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}


class TurningGroup:
    """Which kind it is of, and its member, if it has one."""

    def __init__(self, wire, name, topic, rng):
        self.wire, self.name, self.topic, self.rng = wire, name, topic, rng
        self.kind, self.turns, self.offset = CLASSIC, 0, 5
        self.consumers = Consumers(wire, name, {topic: 1}, rng)
        self.member: Any = None
        wire.commit(name, topic, offset=self.offset).must_succeed()

    @breaks("g848-005", "grp-006")
    def turn(self):
        """A member of the other kind comes, and may go again."""
        self._goes()
        self.turns += 1
        if self.kind == CLASSIC:
            self.kind = CONSUMER
            self.consumers.members = [ConsumerModel(self.wire.name("m"), None, [self.topic])]
            self.consumers.beat(self.consumers.members[0])
            self.consumers.settle()
        else:
            self.kind = CLASSIC
            self.member = self.wire.member(self.name, f"turned{self.turns}", protocols=[("p", b"p")], **OPAQUE)
            self.member.join().must_have("generation_id", FIRST_GENERATION)
            self.member.sync({self.member.id: b"given"}).must_bring(b"given")
        if self.rng.random() < 0.5:
            self._goes()
        self.must_be_of_its_kind()

    def _goes(self):
        for member in self.consumers.members:
            self.consumers.ask(member, -1).must_succeed()
        self.consumers.members = []
        if self.member is not None:
            self.member.leave().must_succeed()
        self.member = None

    @breaks("g848-011")
    def reloaded(self, *, answered):
        self.wire.eventually(self.must_be_of_its_kind, within=10)
        for member in self.consumers.members:
            before = (member.epoch, member.owned)
            answer = self.consumers.beat(member)
            answer.must((member.epoch, member.owned) == before, f"it was {before} and is in {member.epoch}")
        if self.member is not None:
            self.member.heartbeat().must_succeed()
            self.member.sync().must_bring(b"given")

    @breaks("g848-015", "grp-020")
    def must_be_of_its_kind(self):
        """It is described as a group of its kind and as none of the other, and listed once."""
        there = bool(self.consumers.members or self.member)
        state = "Stable" if there else "Empty"
        answer = self._ask(request("ConsumerGroupDescribe", group_ids=[self.name]))
        row = answer.struct.groups[0]
        found = (row.error_code, row.group_state if not row.error_code else "")
        wanted = (errors.NONE, state) if self.kind == CONSUMER else (errors.GROUP_ID_NOT_FOUND, "")
        answer.must(found == wanted, f"as of the new kind it is {found}; it must be {wanted}", "groups[0]")
        old = self.wire.describe_group(self.name, version=5)
        old.must_have("groups[0].group_state", state if self.kind == CLASSIC else "Dead")
        listed = self._ask(request("ListGroups", states_filter=[], types_filter=[])).must_succeed()
        kinds = [(each.group_type, each.group_state) for each in listed.struct.groups if each.group_id == self.name]
        listed.must(kinds == [(self.kind, state)], f"it is listed as {kinds}; it is {self.kind}, {state}", "groups")
        with breaks("cmt-002"):
            self.wire.committed(self.name, self.topic).must_be(self.offset)

    def _ask(self, asked):
        return self.consumers.ask_coordinator(asked, None)
