"""What waits at a coordinator when its log goes to another node: commits and members, and what must be there."""

from typing import Any

from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.cases.replication._waiters import Waiter
from brokertrial.suites.probe import join_together
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

AGAIN = (errors.COORDINATOR_NOT_AVAILABLE, errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR)
CALLED = (*AGAIN, errors.REBALANCE_IN_PROGRESS)
STAYS = {"session_timeout_ms": 120_000, "rebalance_timeout_ms": 120_000}
WITHIN_S = 30
GROWS, LEFT, GOES, COMES = "grows", "left", "goes", "comes"
STEADY, JOINING, SYNCING, UNSYNCED, EMPTIED = "steady", "joining", "syncing", "unsynced", "emptied"


class AskedOfCoordinator(Waiter):
    """A request at a coordinator, the codes with which it may be refused, and what it returns while all are in sync."""

    returns = None

    def __init__(self, node, codes):
        super().__init__(node, {})
        self.codes = codes

    @property
    def writes(self):
        """Whether it is done only when every replica in sync has it."""
        if self.api == "ConsumerGroupHeartbeat":
            return self.response.asked.request.member_epoch <= 0
        return self.api not in ("OffsetFetch", "Heartbeat", "JoinGroup")

    @property
    def acknowledged(self):
        return self.answered and not self.response.error


class AtCoordinator:
    """Something that a coordinator keeps. `prepares` while all is well, `asks` of it in a pipeline, `goes_on` later."""

    def __init__(self, world, name):
        self.world, self.wire, self.rng, self.name = world, world.wire, world.rng, name

    def ask(self, line, asked, *codes, up_to=99, since=0):
        """One request more in this pipeline, in a drawn version; group coordinators before 4.0 may say more."""
        versions = [each for each in self.wire.versions(asked._api) if since <= each <= up_to]
        older = () if self.wire.features.get("group.version", 0) else (errors.REQUEST_TIMED_OUT, *CALLED)
        return line.send(AskedOfCoordinator(line.node, (*codes, *older)), asked, self.rng.choice(versions))


class CommitsThatWait(AtCoordinator):
    """Offsets of a group without members: each is what was acknowledged last, or asked for after that."""

    def __init__(self, world, name, topic):
        super().__init__(world, name)
        self.topic, self.known, self.asked, self.next = topic, 0, [], 1
        self.places = [(topic, 0), (topic, 1)]

    def prepares(self):
        self.known, self.next = self.next, self.next + 1
        self.wire.commit_all(self.name, dict.fromkeys(self.places, self.known)).must_succeed()

    def asks(self):
        line, self.asked = self.world.pipeline(self.name), []
        for _ in range(self.rng.randint(1, 3)):
            places = self.rng.sample(self.places, self.rng.randint(1, 2))
            parts = [{"partition_index": i, "committed_offset": self.next, "committed_metadata": ""} for _, i in places]
            rows = [{"name": self.topic, "topic_id": self.wire.topic_id(self.topic), "partitions": parts}]
            asked = request("OffsetCommit", group_id=self.name, generation_id_or_member_epoch=-1, topics=rows)
            self.asked.append((places, self.next, self.ask(line, asked, *AGAIN, since=2)))
            self.next += 1
        plain = {"name": self.topic, "partition_indexes": [0, 1]}
        groups = [{"group_id": self.name, "topics": [{**plain, "topic_id": self.wire.topic_id(self.topic)}]}]
        fetch = request("OffsetFetch", group_id=self.name, topics=[plain], groups=groups)
        self.ask(self.world.pipeline(f"{self.name} reads"), fetch, *AGAIN, since=1).returns = self.known

    @breaks("cmt-017")
    def goes_on(self):
        """What is returned now is returned from now on."""
        returned = self._returned()
        for place in self.places:
            may = [self.known]
            for places, offset, waiter in self.asked:
                if place in places:
                    may = [offset] if waiter.acknowledged else [*may, offset]
            with breaks("cmt-002"):
                self.wire.must(
                    returned[place] in may,
                    f"the offset of {place} is {returned[place]}; acknowledged last, or asked for since, are {may}",
                )
        again = self._returned()
        self.wire.must(again == returned, f"the offsets are {again}; they were {returned} before")
        self.prepares()
        now = self._returned()
        self.wire.must({*now.values()} == {self.known}, f"the offsets are {now}; committed was {self.known}")

    def _returned(self):
        """Each alone: an answer may name topics by id."""
        return {place: self.wire.committed(self.name, *place).offset for place in self.places}


class MembersWhoWait(AtCoordinator):
    """A classic group of two: its generation is what was written last."""

    def __init__(self, world, name, topic, hows):
        super().__init__(world, name)
        self.topic, self.number, self.generation, self.how, self.leads = topic, 0, 0, STEADY, None
        self.hows = [*hows]
        self.members, self.given, self.offset = [], {}, 0
        self._begins()

    def _begins(self):
        self.number += 1
        self.members = [self.wire.member(self.name, f"{what} {self.number} {self.name}", **STAYS) for what in "ab"]
        self._rebalances()

    @breaks("grp-006")
    def _rebalances(self):
        leader = join_together(*self.members)
        generation = self.members[0].generation
        self.wire.must(
            generation > self.generation, f"the generation is {generation}; there was {self.generation} before"
        )
        self._syncs(leader)

    @breaks("grp-007")
    def _syncs(self, leader):
        self.generation = leader.generation
        self.given = {member.id: f"{self.generation} {member.name}".encode() for member in self.members}
        answers = [member.sync(self.given if member is leader else None, wait=False) for member in self.members]
        for member, answer in zip(self.members, answers, strict=True):
            answer.must_bring(self.given[member.id])

    def prepares(self):
        self.how = self.hows.pop(0)
        if self.how in (SYNCING, UNSYNCED):
            self.leads = join_together(*self.members)
        elif self.how == EMPTIED:
            for member in self.members:
                member.leave().must_succeed()

    def asks(self):
        lines = [self.world.pipeline(member.name) for member in self.members]
        self.waiting = []
        if self.how == JOINING:
            protocols = [{"name": "range", "metadata": b""}]
            joins = request(
                "JoinGroup", group_id=self.name, member_id="", protocol_type="consumer", protocols=protocols, **STAYS
            )
            self.ask(self.world.pipeline(f"joins {self.name}"), joins, *CALLED, up_to=3)
        if self.how in (STEADY, JOINING):
            for line, member in zip(lines, self.members, strict=True):
                who = {"generation_id": self.generation, "member_id": member.id}
                for _ in range(self.rng.randint(1, 2)):
                    self.ask(line, request("Heartbeat", group_id=self.name, **who), *CALLED)
        if self.how in (SYNCING, UNSYNCED):
            new = self.members[0].generation
            given = {member.id: b"%d %s" % (new, member.name.encode()) for member in self.members}
            for line, member in zip(lines, self.members, strict=True):
                if self.how == UNSYNCED and member is self.leads:
                    continue
                rows = [{"member_id": one, "assignment": what} for one, what in given.items()]
                asked = request(
                    "SyncGroup",
                    group_id=self.name,
                    generation_id=new,
                    member_id=member.id,
                    protocol_type="consumer",
                    protocol_name=member.protocol,
                    assignments=rows if member is self.leads else [],
                )
                self.waiting.append((member, self.ask(line, asked, *CALLED), given))

    @breaks("grp-016")
    def goes_on(self):
        done = [each for each in self.waiting if each[1].acknowledged]
        for member, waiter, given in done:
            assigned = bytes(waiter.response.struct.assignment)
            with breaks("grp-007"):
                said = f"it brings {assigned!r}; its leader gave it {given[member.id]!r}"
                waiter.response.must(assigned == given[member.id], said)
        if self.how == EMPTIED:
            described = self.wire.describe_group(self.name).must_have("groups[0].group_state", "Empty")
            described.must(not described.at("groups[0].members"), "members that have left are there again")
            return self._begins()
        if done:
            self.generation, self.given = self.members[0].generation, done[0][2]
        elif self.waiting and not self.members[0].heartbeat().error:  # it was written, though nobody was answered
            self.generation, self.given = self.members[0].generation, self.waiting[0][2]
        for member in self.members:
            member.generation = self.generation
            member.heartbeat().must_succeed()
            member.sync().must_bring(self.given[member.id])
        self.offset += 1
        self.members[0].commit(self.topic, offset=self.offset).must_succeed()
        self.wire.committed(self.name, self.topic).must_be(self.offset)
        return self._rebalances()


class ConsumersWhoWait(AtCoordinator):
    """A KIP-848 group: who was taken in is there, epochs never fall, and no partition has two owners."""

    def __init__(self, world, name, topic, hows):
        super().__init__(world, name)
        self.hows = [*hows]
        self.topic, self.count, self.waiting = topic, 2, []
        self.comes: Any = None
        self.goes: Any = None
        lengthen_sessions(world.wire, name)
        self.members = [self._member() for _ in range(2)]
        self._shares()

    def _member(self):
        return ConsumerGroupMember(self.wire, self.name, self.topic)

    def prepares(self):
        """Partitions are added, or a member leaves, and nobody asks for anything new before the coordinator goes."""
        self.comes = self.goes = None
        self.how = self.hows.pop(0)
        if self.how == GROWS:
            self.count += 1
            self.wire.create_partitions(self.topic, self.count).must_succeed()
            self.wire.await_topic(self.topic)
        elif self.how == LEFT:
            self.members.pop(self.rng.randrange(len(self.members))).leave().must_succeed()

    def asks(self):
        """Members say that they live, and one leaves, or one comes."""
        self.waiting = []
        self.goes = self.rng.choice(self.members) if self.how == GOES else None
        for member in self.members:
            if member is self.goes:
                continue  # one connection would overtake the other
            owned: dict[str, list[int]] = {}
            for topic, index in sorted(member.owned):
                owned.setdefault(topic, []).append(index)
            says = [{"topic_id": self.wire.topic_id(name), "partitions": parts} for name, parts in owned.items()]
            self._beats(member, member.epoch, topic_partitions=self.rng.choice((None, says)))
        if self.goes is not None:
            self._beats(self.goes, -1)
        elif self.how == COMES:
            self.comes = self._member()
            wishes = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [self.topic], "topic_partitions": []}
            self._beats(self.comes, 0, **wishes)

    def _beats(self, member, epoch, **says):
        asked = request(
            "ConsumerGroupHeartbeat",
            **{"group_id": self.name, "member_id": member.id, "member_epoch": epoch, "topic_partitions": None, **says},
        )
        line = self.world.pipeline(f"{member.id} {epoch}")
        self.waiting.append((member, epoch, self.ask(line, asked, *AGAIN, since=1)))

    @breaks("g848-011")
    def goes_on(self):
        gone = False
        for member, epoch, waiter in self.waiting:
            if not waiter.acknowledged:
                continue
            told = waiter.response.struct
            gone = gone or epoch < 0
            if epoch >= 0:
                waiter.response.must(
                    told.member_epoch >= epoch, f"its epoch is {told.member_epoch}; it was {epoch}", "member_epoch"
                )
                member.epoch = told.member_epoch
                if told.assignment is not None:
                    member.owned = member._named(told.assignment.topic_partitions)
        if self.goes is not None:
            self.members.remove(self.goes)
            if gone:
                self.goes.beat(owned=frozenset()).must_be_refused(errors.UNKNOWN_MEMBER_ID)
            else:
                self._leaves_again()
        if self.comes is not None:
            self.members.append(self.comes)
            if self.comes.epoch == 0:
                self.comes.beat().must_succeed()
        while len(self.members) < 2:
            self.members.append(self._member())
            self.members[-1].beat().must_succeed()
        for member in self.members:
            before = member.epoch
            answer = member.beat(topics=[self.topic], rebalance_timeout_ms=60_000).must_succeed()
            answer.must(member.epoch >= before, f"the epoch of a member is {member.epoch}; it was {before}")
        self._shares()

    def _leaves_again(self):
        """It may have left already."""
        answer = self.goes.leave()
        answer.must(answer.error in (0, errors.UNKNOWN_MEMBER_ID), f"it is refused with {answer.error}", "error_code")

    @breaks("g848-011", "g848-005")
    def _shares(self):
        """All partitions are owned in the end, by all evenly, and none by two on the way."""
        self.wire.until(self._is_shared, within=WITHIN_S, what=f"{self.name} shares {self.count} partitions")

    def _is_shared(self):
        owned: list[Any] = []
        for member in self.members:
            before = member.epoch
            answer = member.beat().must_succeed()
            answer.must(member.epoch >= before, f"the epoch of a member is {member.epoch}; it was {before}")
            owned = [part for one in self.members for part in one.owned]
            with breaks("g848-002"):
                answer.must(len({*owned}) == len(owned), f"the members own {owned}; none may be owned by two")
        sizes = [len(one.owned) for one in self.members]
        return len(owned) == self.count and max(sizes) - min(sizes) <= 1
