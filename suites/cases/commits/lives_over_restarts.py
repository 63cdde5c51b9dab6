"""Offsets under an id that was a group of this kind and that before, over stops and kills of its coordinator."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.suites.probe.preferred_leaders import await_leaders

GROUPS, ROUNDS, WITHIN_S = 5, 3, 20
PLAIN, STAGED, CLASSIC, MODERN = "plain", "staged", "classic", "modern"
DELETED, EMPTIED, FORGOTTEN = "deleted", "emptied", "forgotten"
ENDS = (DELETED, DELETED, EMPTIED, FORGOTTEN)


@case(
    "commits/lives-of-groups-over-restarts",
    guarantees=["cmt-001", "cmt-002", "cmt-012", "grp-016", "grp-008"],
    apis={
        "OffsetCommit": 2,
        "OffsetFetch": 2,
        "OffsetDelete": 0,
        "DeleteGroups": 0,
        "JoinGroup": 0,
        "SyncGroup": 0,
        "LeaveGroup": 0,
    },
    needs=["kill", "terminate", "restart"],
    detects=["V85", "V93", "W11"],
)
def what_an_id_was_before_is_no_hindrance(wire, topic_of, rng, nodes):
    """Whatever a group id was used for before, a group with members or offsets alone, and however that ended, its
    coordinator MUST have its offsets, and no others, after it was stopped and after it was killed: what was deleted, or
    removed, stays so, and what was committed since, without any members too, is returned (KAFKA-4704). A new member is
    served, and its group has the protocol type that the member sends.

    Five ids with a drawn life before each stop and mostly one more of offsets alone; of one each time the group of its
    members is deleted, and offsets alone come then.
    """
    ids = [GroupId(wire, wire.name(f"g{number}"), topic_of(what=f"t{number}"), rng) for number in range(GROUPS)]
    for number, act in enumerate(rng.sample([nodes.stop_and_start, nodes.crash, nodes.stop_and_start], ROUNDS)):
        chosen = rng.choice(ids)
        for one in ids:
            one.lives(CLASSIC if one is chosen else rng.choice(one.kinds()), number * 10)
            one.ends(DELETED if one is chosen else rng.choice(ENDS))
            if one is chosen or rng.random() < 0.7:
                one.lives(rng.choice(one.without_members()), number * 10 + 1)
            one.must_have_its_offset()
        act(nodes.of_group(chosen.name))
        await_leaders(wire)
        for one in ids:
            make_coordinator_write(wire, one.name)
            wire.eventually(one.must_have_its_offset, within=WITHIN_S)
    for one in ids:
        for offset in (98, 99):
            one.lives(CLASSIC, offset)
            one.must_have_its_offset()


class GroupId:
    """An id that groups have one after the other, and what is committed under it."""

    def __init__(self, wire, name, topic, rng):
        self.wire, self.name, self.topic, self.rng = wire, name, topic, rng
        self.offset, self.count, self.types = -1, 0, ("consumer", "connect")

    def kinds(self):
        offered = bool(self.wire.versions("ConsumerGroupHeartbeat")) and self.wire.features.get("group.version", 0) >= 1
        return [*self.without_members(), CLASSIC, CLASSIC, *([MODERN] if offered else [])]

    def without_members(self):
        """Offsets alone, which a client commits, or a transaction."""
        return [PLAIN, *([STAGED] if self.wire.versions("TxnOffsetCommit") else [])]

    def lives(self, kind, offset):
        """Somebody of this kind commits, and goes."""
        self.count += 1
        if kind == CLASSIC:
            self.types = self.types[::-1]
            type_ = self.types[0]
            member = self.wire.member(self.name, f"{self.name} {self.count}", protocol_type=type_)
            joined = member.join().must_succeed()
            if joined.version >= 7:
                joined.must_have("protocol_type", type_)
            self.wire.eventually(partial(self._must_be_of, type_), within=WITHIN_S)
            member.sync({member.id: b"all"}).must_bring(b"all")
            member.commit(self.topic, offset=offset).must_succeed()
            member.leave().must_succeed()
        elif kind == MODERN:
            member = ConsumerGroupMember(self.wire, self.name, self.topic)
            member.beat().must_succeed()
            self.wire.commit(
                self.name, self.topic, offset=offset, member_id=member.id, generation=member.epoch
            ).must_succeed()
            member.leave().must_succeed()
        elif kind == STAGED:
            producer = self.wire.producer(self.wire.name("x"))
            producer.send_offsets(self.name, {(self.topic, 0): offset}).must_succeed()
            producer.commit().must_succeed()
        else:
            self.wire.commit(self.name, self.topic, offset=offset).must_succeed()
        self.offset = offset
        if kind == STAGED:
            self.wire.eventually(self.must_have_its_offset, within=WITHIN_S)

    def _must_be_of(self, type_):
        """Described as it was written last, which may be some time before (GroupCoordinatorShard.describeGroups)."""
        self.wire.describe_group(self.name).must_have("groups[0].protocol_type", type_)

    def ends(self, how):
        if how == DELETED:
            self.wire.delete_groups(self.name).must_succeed()
            self.offset = -1
        elif how == FORGOTTEN:
            self.wire.delete_offsets(self.name, [(self.topic, 0)]).must_succeed()
            self.offset = -1

    def must_have_its_offset(self):
        self.wire.committed(self.name, self.topic).must_be(self.offset)
        listed = self.wire.list_groups(to=self.wire.coordinator(self.name)).must_succeed()
        if self.offset >= 0:
            there = self.name in {row.group_id for row in listed.struct.groups}
            listed.must(there, f"{self.name} has offset {self.offset}, and is not listed", "groups")
