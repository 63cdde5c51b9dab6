"""What waits at a coordinator when its log goes to another node: commits, members and transactions, and what of each
must be there afterwards."""

from brokertrial.suites.cases.replication._waiters import Waiter
from brokertrial.suites.probe import COMMITTED, join_together
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors
from brokertrial.wire.messages import request

AGAIN = (errors.COORDINATOR_NOT_AVAILABLE, errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR)
CHANGED = (*AGAIN, errors.CONCURRENT_TRANSACTIONS)
CALLED = (*AGAIN, errors.REBALANCE_IN_PROGRESS)
STAYS = {"session_timeout_ms": 120_000, "rebalance_timeout_ms": 120_000}
WITHIN_S = 30
STEADY, JOINING, SYNCING, UNSYNCED, EMPTIED = "steady", "joining", "syncing", "unsynced", "emptied"


class Asked(Waiter):
    """A request at a coordinator, and the codes with which it may be refused."""

    def __init__(self, node, codes):
        super().__init__(node, {})
        self.codes = codes

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
        return line.send(Asked(line.node, (*codes, *older)), asked, self.rng.choice(versions))


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
        self.ask(self.world.pipeline(f"{self.name} reads"), fetch, *AGAIN, since=1)

    def goes_on(self):
        """What is returned now is returned from now on."""
        returned = self._returned()
        for place in self.places:
            may = [self.known]
            for places, offset, waiter in self.asked:
                if place in places:
                    may = [offset] if waiter.acknowledged else [*may, offset]
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

    def __init__(self, world, name, topic):
        super().__init__(world, name)
        self.topic, self.number, self.generation, self.how, self.leads = topic, 0, 0, STEADY, None
        self.members, self.given, self.offset = [], {}, 0
        self._begins()

    def _begins(self):
        self.number += 1
        self.members = [self.wire.member(self.name, f"{what} {self.number} {self.name}", **STAYS) for what in "ab"]
        self._rebalances()

    def _rebalances(self):
        leader = join_together(*self.members)
        generation = self.members[0].generation
        self.wire.must(
            generation > self.generation, f"the generation is {generation}; there was {self.generation} before"
        )
        self._syncs(leader)

    def _syncs(self, leader):
        self.generation = leader.generation
        self.given = {member.id: f"{self.generation} {member.name}".encode() for member in self.members}
        answers = [member.sync(self.given if member is leader else None, wait=False) for member in self.members]
        for member, answer in zip(self.members, answers, strict=True):
            answer.must_bring(self.given[member.id])

    def prepares(self):
        self.how = self.rng.choice((STEADY, JOINING, SYNCING, SYNCING, UNSYNCED, EMPTIED))
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
            given = {member.id: f"{new} {member.name}".encode() for member in self.members}
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

    def goes_on(self):
        done = [each for each in self.waiting if each[1].acknowledged]
        for member, waiter, given in done:
            assigned = bytes(waiter.response.struct.assignment)
            waiter.response.must(
                assigned == given[member.id], f"it brings {assigned}; its leader gave it {given[member.id]}"
            )
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

    def __init__(self, world, name, topic):
        super().__init__(world, name)
        self.topic, self.count, self.waiting, self.comes, self.goes = topic, 2, [], None, None
        self.members = [self._member() for _ in range(2)]
        self._shares()

    def _member(self):
        return ConsumerGroupMember(self.wire, self.name, self.topic)

    def prepares(self):
        """Partitions are added, or a member leaves, and nobody asks for anything before the coordinator goes."""
        self.comes = self.goes = None
        if self.rng.random() < 0.5:
            self.count += 1
            self.wire.create_partitions(self.topic, self.count).must_succeed()
            self.wire.await_topic(self.topic)
        if len(self.members) > 1 and self.rng.random() < 0.5:
            self.members.pop(self.rng.randrange(len(self.members))).leave().must_succeed()

    def asks(self):
        self.waiting = []
        for member in self.members:
            owned = {}
            for topic, index in sorted(member.owned):
                owned.setdefault(topic, []).append(index)
            says = [{"topic_id": self.wire.topic_id(name), "partitions": parts} for name, parts in owned.items()]
            self._beats(member, member.epoch, topic_partitions=self.rng.choice((None, says)))
        if self.rng.random() < 0.6:
            self.comes = self._member()
            self._beats(
                self.comes, 0, rebalance_timeout_ms=60_000, subscribed_topic_names=[self.topic], topic_partitions=[]
            )
        elif len(self.members) > 1:
            self.goes = self.rng.choice(self.members)
            self._beats(self.goes, -1)

    def _beats(self, member, epoch, **says):
        asked = request(
            "ConsumerGroupHeartbeat",
            **{"group_id": self.name, "member_id": member.id, "member_epoch": epoch, "topic_partitions": None, **says},
        )
        line = self.world.pipeline(f"{member.id} {epoch}")
        self.waiting.append((member, epoch, self.ask(line, asked, *AGAIN, since=1)))

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
        for member in self.members:
            before = member.epoch
            answer = member.beat(topics=[self.topic], rebalance_timeout_ms=60_000).must_succeed()
            answer.must(member.epoch >= before, f"the epoch of a member is {member.epoch}; it was {before}")
        self._shares()

    def _leaves_again(self):
        """It may have left already."""
        answer = self.goes.leave()
        answer.must(answer.error in (0, errors.UNKNOWN_MEMBER_ID), f"it is refused with {answer.error}", "error_code")

    def _shares(self):
        """All partitions are owned in the end, and none by two on the way."""
        self.wire.until(self._is_shared, within=WITHIN_S, what=f"{self.name} shares {self.count} partitions")

    def _is_shared(self):
        for member in self.members:
            before = member.epoch
            answer = member.beat().must_succeed()
            answer.must(member.epoch >= before, f"the epoch of a member is {member.epoch}; it was {before}")
            owned = [part for one in self.members for part in one.owned]
            answer.must(len({*owned}) == len(owned), f"the members own {owned}; none may be owned by two")
        return len(owned) == self.count


class TransactionThatWaits(AtCoordinator):
    """A transactional id: what it is asked for before its coordinator goes, and how its transaction ends."""

    def __init__(self, world, name, group, topic):
        super().__init__(world, name)
        self.group, self.offsets_of = group, topic
        self.producer = self.wire.producer(name, timeout_ms=300_000)
        self.committed, self.number = -1, 0

    def prepares(self):
        self.number += 1
        self.how = self.rng.choice(("commit", "commit", "abort", "init", "add", "offsets"))
        self.topic, self.more = self.world.data(f"d{self.number}"), None
        self.value = f"{self.number} of {self.name}"
        self.producer.send(self.topic, self.value).must_succeed()
        if self.how == "add":
            self.more = self.world.data(f"m{self.number}")
        if self.how == "offsets":
            who = (self.name, self.producer.id, self.producer.epoch, self.group)
            self.wire.add_offsets(*who).must_succeed()

    def asks(self):
        one, kind = self.producer, self.world.of_transactions
        who = {"producer_id": one.id, "producer_epoch": one.epoch}
        line = self.world.pipeline(f"{self.name} {self.number}", kind=kind)
        if self.how in ("commit", "abort"):
            newest = self.wire.versions("EndTxn")[-1]
            end = newest if self.wire.transaction_version >= 2 else min(4, newest)
            asked = request("EndTxn", transactional_id=self.name, committed=self.how == "commit", **who)
            self.waiter = self.ask(line, asked, *CHANGED, since=end if end > 4 else 0, up_to=end)
        elif self.how == "init":
            asked = request("InitProducerId", transactional_id=self.name, transaction_timeout_ms=300_000)
            self.waiter = self.ask(line, asked, *CHANGED)
        elif self.how == "add":
            asked = request(
                "AddPartitionsToTxn",
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=one.id,
                v3_and_below_producer_epoch=one.epoch,
                v3_and_below_topics=[{"name": self.more, "partitions": [0]}],
            )
            self.waiter = self.ask(line, asked, *CHANGED, up_to=3)
        else:
            parts = [{"partition_index": 0, "committed_offset": self.number, "committed_metadata": ""}]
            asked = request(
                "TxnOffsetCommit",
                transactional_id=self.name,
                group_id=self.group,
                generation_id_or_member_epoch=-1,
                topics=[{"name": self.offsets_of, "partitions": parts}],
                **who,
            )
            line = self.world.pipeline(f"{self.name} offsets {self.number}")
            self.waiter = self.ask(line, asked, *CHANGED, since=3, up_to=4)

    def goes_on(self):
        """What is refused is asked again; then it ends, and all of it is committed, or nothing."""
        one, done = self.producer, self.waiter.acknowledged
        commits = self.how != "abort"
        if self.how in ("commit", "abort"):
            told = self.waiter.response.struct if done else None
            if done and self.waiter.version >= 5:
                one._take(told.producer_id, told.producer_epoch)
            elif not done:
                (one.commit if commits else one.abort)().must_succeed()
            one._in_transaction.clear()
        elif self.how == "init":
            commits = False
            self._begins_anew(done)
        else:
            self._goes_on_with(done)
            one.commit().must_succeed()
        for topic in filter(None, (self.topic, self.more)):
            self.wire.await_settled(topic, within=WITHIN_S)
            log = self.wire.read_all(topic, isolation=COMMITTED)
            log.must_hold(*([self.value] if commits else []))
        if self.how == "offsets":
            self.committed = self.number
        self.wire.eventually(
            lambda: self.wire.committed(self.group, self.offsets_of).must_be(self.committed), within=WITHIN_S
        )

    def _goes_on_with(self, done):
        one = self.producer
        if self.how == "add":
            if not done:
                one.add(self.more).must_succeed()
            one._in_transaction.add((self.more, 0))
            one.send(self.more, self.value).must_succeed()
        elif not done:
            offsets = {(self.offsets_of, 0): self.number}
            self.wire.txn_offset_commit(self.name, one.id, one.epoch, self.group, offsets, version=4).must_succeed()

    def _begins_anew(self, done):
        one, before = self.producer, (self.producer.id, self.producer.epoch)
        if done:
            told = self.waiter.response.struct
            one._in_transaction.clear()
            one._take(told.producer_id, told.producer_epoch)
        else:
            one.start()
        now = (one.id, one.epoch)
        self.wire.must(now[0] != before[0] or now[1] > before[1], f"its id and epoch are {now}; they were {before}")
        self.wire.end_txn(self.name, *before, commit=True).must_be_refused()
