"""Partitions and their replicas as they must be: where they were placed, what is on the move, what they hold."""

from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
PARTITIONS = 5
PREFERRED, UNCLEAN = 0, 1
ABSENT = 99
ELSEWHERE = (errors.NOT_LEADER_OR_FOLLOWER, errors.UNKNOWN_TOPIC_OR_PARTITION, errors.UNKNOWN_TOPIC_ID)


class Place:
    """One partition. `replicas` is what it has now, `before` what it had where it is on the move to `target`."""

    def __init__(self, replicas):
        self.replicas = replicas
        self.target: list[int] | None = None
        self.before: list[int] = []
        self.values = []
        self.epoch, self.leader = -1, NO_NODE

    @property
    def adding(self):
        return [] if self.target is None else [one for one in self.target if one not in self.before]

    @property
    def removing(self):
        return [] if self.target is None else [one for one in self.before if one not in self.target]


class MovedPartitions:
    """The partitions of a topic, and which node is dead."""

    def __init__(self, wire, rng):
        self.wire, self.rng, self.dead = wire, rng, None
        self.everyone = list(wire.nodes)
        self.producer = wire.producer()
        self.topic = wire.name("moved")
        self.places = [Place(rng.sample(self.everyone, 2)) for _ in range(PARTITIONS)]
        on = {index: place.replicas for index, place in enumerate(self.places)}
        wire.create_topic(self.topic, partitions=-1, assignments=on, configs=ALONE).must_succeed()
        wire.await_topic(self.topic)
        self.written = 0

    @property
    def alive(self):
        return [node for node in self.everyone if node != self.dead]

    @breaks("repl-017")
    def loses(self, dead):
        """A node has died."""
        self.dead = dead
        self.wire.until(
            lambda: all(self._without_the_dead(node) for node in self.alive),
            within=WITHIN_S,
            what=f"each node that is alive has dead node {dead} among the brokers no more",
        )
        self.wire.refresh_metadata(self.topic)

    def _without_the_dead(self, node):
        return self.dead not in [row.node_id for row in self.wire.metadata(to=node).struct.brokers]

    @breaks("repl-017")
    def gets_back(self):
        """The dead node is back: all that waited for it is done."""
        self.dead = None
        for place in self.places:
            if place.target is not None:
                place.replicas, place.target, place.before = place.target, None, []
        self.wire.until(
            lambda: all(set(self.everyone) == self._brokers(node) for node in self.everyone),
            within=WITHIN_S,
            what="each node has all nodes among the brokers",
        )

    def _brokers(self, node):
        return {row.node_id for row in self.wire.metadata(to=node).struct.brokers}

    # steps

    def step_write(self):
        """To each partition that has a leader."""
        for index, place in enumerate(self.places):
            if self._living(place):
                self._write(index, place)

    def _write(self, index, place):
        """What a leader refuses because it hands over may be written: sent again it is known by its sequence."""
        self.written += 1
        value = f"{self.written}"
        written = self.producer.batch(value, sequence=len(place.values))

        def taken():
            answer = self.wire.produce(self.topic, written, index)
            return None if answer.error == errors.NOT_ENOUGH_REPLICAS else answer

        appended = self.wire.until(taken, within=WITHIN_S, what=f"partition {index} takes a record")
        appended.must_be_at(len(place.values))
        place.values.append(value)

    def step_move(self):
        """One or two that rest go to drawn nodes."""
        chosen = self._resting(self.rng.choice((1, 1, 2)))
        self._move({index: self._drawn_target(self.places[index]) for index in chosen})

    def step_leave(self):
        """One goes to others than the one that leads it."""
        for index in self._resting(1):
            others = [node for node in self.alive if node != self._leader(index)]
            self._move({index: self.rng.sample(others, self.rng.randint(1, len(others)))})

    def step_begin(self):
        """One that the dead node has nothing of is to be held by it too: it is on the move until that is back."""
        if not (without := [index for index in self._resting() if self.dead not in self.places[index].replicas]):
            without = self._resting(1)
            self._move({index: self.rng.sample(self.alive, 2) for index in without})
            self.must_be_as_placed()
        for index in without[:1]:
            beside = self.rng.sample(self.alive, self.rng.choice((1, 2)))
            self._move({index: self.rng.sample([self.dead, *beside], len(beside) + 1)})

    def _resting(self, count=PARTITIONS):
        found = [index for index, one in enumerate(self.places) if one.target is None and self._living(one)]
        return self.rng.sample(found, min(len(found), count))

    def _move(self, wanted):
        rows = self._answered(self._alter(wanted), wanted)
        for index, target in wanted.items():
            self._must_be_answered(rows, index, errors.NONE)
            place = self.places[index]
            if self.dead in target and self.dead not in place.replicas:
                place.before, place.target = place.replicas, target
                place.replicas = [*target, *sorted(place.removing)]
            else:
                place.replicas = target

    def _drawn_target(self, place):
        """A dead one comes beside living ones, which have what there is, or goes, or stays where all others do: whether
        it is waited for when others go has been decided either way."""
        target = self.rng.sample(self.everyone, self.rng.choice((1, 2, 2, 3)))
        if self.dead in place.replicas and self.dead in target and set(target) != set(place.replicas):
            target.remove(self.dead)
        return target if set(target) & set(self.alive) else [*target, self.rng.choice(self.alive)]

    def step_call_off(self):
        """One that is on the move stays where it was; one that is not is refused, in the same request."""
        moving = [index for index, place in enumerate(self.places) if place.target is not None]
        resting = [index for index, place in enumerate(self.places) if place.target is None]
        chosen = [*self.rng.sample(moving, min(1, len(moving))), *self.rng.sample(resting, min(1, len(resting)))]
        answer = self._alter(dict.fromkeys(chosen))
        rows = self._answered(answer, chosen)
        for index in chosen:
            place = self.places[index]
            moves = place.target is not None
            self._must_be_answered(rows, index, errors.NONE if moves else errors.NO_REASSIGNMENT_IN_PROGRESS)
            if moves:
                stay = [one for one in place.replicas if one not in place.adding]
                place.replicas, place.target, place.before = stay, None, []

    def step_refuse(self):
        """Invalid requests: no replica, one twice, an unknown node, an unknown partition; the valid rows beside are
        untouched.
        """
        index, one = self.rng.randrange(PARTITIONS), self.rng.choice(self.everyone)
        for wrong in self.rng.sample(([], [one, one], [one, ABSENT]), 2):
            rows = self._answered(self._alter({index: wrong}), [index])
            self._must_be_answered(rows, index, errors.INVALID_REPLICA_ASSIGNMENT)
        rows = self._answered(self._alter({ABSENT: [one]}), [ABSENT])
        self._must_be_answered(rows, ABSENT, errors.UNKNOWN_TOPIC_OR_PARTITION)

    @breaks("adm-013")
    def step_elect(self):
        """The preferred leaders of some, in one request with an unknown partition; or any for those that need none."""
        chosen = self.rng.sample(range(PARTITIONS), self.rng.choice((1, 2, 3)))
        kind = self.rng.choice((PREFERRED, PREFERRED, UNCLEAN))
        before = {index: self._leader(index) for index in chosen}
        rows = [{"topic": self.topic, "partitions": [*chosen, ABSENT]}]
        asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=10_000)
        answer = self.wire.ask(asked, to=self.wire.controller)
        found = {
            row.partition_id: row.error_code
            for each in answer.struct.replica_election_results
            for row in each.partition_result
        }
        wanted = {index: self._election(index, kind, before[index]) for index in chosen}
        wanted[ABSENT] = {errors.UNKNOWN_TOPIC_OR_PARTITION}
        answer.must(found.keys() == wanted.keys(), f"it names {sorted(found)}; it must name {sorted(wanted)}")
        for index, codes in wanted.items():
            answer.must(
                found[index] in codes,
                f"an election of type {kind} for partition {index}, which {before.get(index)} leads, is answered with "
                f"{found[index]}; it must be {sorted(codes)}",
                "replica_election_results",
            )
            if found[index] == errors.NONE:
                first = self.places[index].replicas[0]
                self.wire.until(
                    lambda index=index, first=first: self._leader(index) == first,
                    within=WITHIN_S,
                    what=f"node {first} leads partition {index}",
                )

    def _election(self, index, kind, leader):
        """A broker may have given leadership back by itself meanwhile."""
        place = self.places[index]
        if not self._living(place):
            unmet = errors.PREFERRED_LEADER_NOT_AVAILABLE, errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
            return {unmet[kind]}
        if kind == UNCLEAN or leader == place.replicas[0]:
            return {errors.ELECTION_NOT_NEEDED}
        if place.replicas[0] == self.dead:
            return {errors.PREFERRED_LEADER_NOT_AVAILABLE}
        return {errors.NONE, errors.ELECTION_NOT_NEEDED}

    def _leader(self, index):
        partitions = self.wire.refresh_metadata(self.topic).topics[0].partitions
        return next(row.leader_id for row in partitions if row.partition_index == index)

    def _living(self, place):
        """The replicas that are alive; each that was placed by now has all there is."""
        return [node for node in place.replicas if node != self.dead]

    def _alter(self, wanted):
        rows = [{"partition_index": index, "replicas": target} for index, target in wanted.items()]
        asked = request(
            "AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": self.topic, "partitions": rows}]
        )
        return self.wire.ask(asked, to=self.wire.controller)

    @breaks("adm-019")
    def _answered(self, answer, wanted):
        rows = {row.partition_index: row for each in answer.struct.responses for row in each.partitions}
        answer.must(
            not answer.struct.error_code and sorted(rows) == sorted(wanted),
            f"error {answer.struct.error_code}, rows of {sorted(rows)}; it must name {sorted(wanted)}",
        )
        return answer, rows

    @breaks("adm-019")
    def _must_be_answered(self, answered, index, code):
        answer, rows = answered
        found = rows[index].error_code
        answer.must(found == code, f"partition {index} is answered with {found}; it must be {code}", "responses")

    # what must be

    def must_be_as_placed(self):
        """Each living node shows each partition as it must be, and the one that is asked lists what is on the move."""
        for node in self.alive:
            self.wire.eventually(lambda node=node: self._must_be_shown(node), within=WITHIN_S)
        self.wire.eventually(same_draws(self.rng, self._must_be_listed), within=WITHIN_S)

    def _must_be_shown(self, node):
        answer = self.wire.metadata(self.topic, to=node)
        rows = {row.partition_index: row for row in answer.struct.topics[0].partitions}
        for index, place in enumerate(self.places):
            row, living = rows[index], self._living(place)
            where = f"node {node} shows partition {index}"
            answer.must(row.replica_nodes == place.replicas, f"{where} on {row.replica_nodes}, not on {place.replicas}")
            offline = sorted(set(place.replicas) - set(living))
            answer.must(sorted(row.offline_replicas) == offline, f"{where} offline on {row.offline_replicas}")
            if not living:
                answer.must(row.leader_id == NO_NODE, f"{where} led by {row.leader_id}; all its replicas are dead")
                continue
            answer.must(sorted(row.isr_nodes) == sorted(living), f"{where} in sync on {row.isr_nodes}, not on {living}")
            answer.must(row.leader_id in living, f"{where} led by {row.leader_id}; it must be one of {living}")
            answer.must(
                row.leader_epoch > place.epoch or (row.leader_epoch, row.leader_id) == (place.epoch, place.leader),
                f"{where} led by {row.leader_id} in epoch {row.leader_epoch}; {place.leader} led in {place.epoch}",
            )
            place.epoch, place.leader = row.leader_epoch, row.leader_id

    def _must_be_listed(self):
        names = [index for index in range(PARTITIONS) if self.rng.random() < 0.7] + [ABSENT]
        asked = None if self.rng.random() < 0.5 else [{"name": self.topic, "partition_indexes": names}]
        answer = self.wire.ask(request("ListPartitionReassignments", topics=asked, timeout_ms=10_000))
        if answer.error == errors.NOT_CONTROLLER:
            return
        found = {
            row.partition_index: (row.replicas, sorted(row.adding_replicas), sorted(row.removing_replicas))
            for each in answer.must_succeed().struct.topics
            if each.name == self.topic
            for row in each.partitions
        }
        wanted = {
            index: (place.replicas, sorted(place.adding), sorted(place.removing))
            for index, place in enumerate(self.places)
            if place.target is not None and (asked is None or index in names)
        }
        answer.must(found == wanted, f"on the move are {found}; it must be {wanted}", "topics")

    def must_be_held_by_all(self):
        """Each living replica holds every record; a living node that is none refuses."""
        for index, place in enumerate(self.places):
            self.wire.refresh_metadata(self.topic)
            if not self._living(place):
                continue
            self.wire.read_all(self.topic, index).must_hold(*place.values)
            for node in self.alive:
                self.wire.eventually(
                    lambda node=node, index=index, place=place: self._must_be_held(node, index, place),
                    within=WITHIN_S,
                )

    @breaks("repl-009")
    def _must_be_held(self, node, index, place):
        seen = self.wire.fetch(self.topic, index, offset=0, to=node)
        if node not in place.replicas:
            seen.must_be_refused(*ELSEWHERE)
            return
        if seen.error == errors.NOT_LEADER_OR_FOLLOWER and self._leader(index) != node:
            self.wire.not_applicable("followers do not serve consumers: what they hold does not show")
        held = [record.value for record in seen.must_succeed().records]
        wanted = [value.encode() for value in place.values]
        seen.must(held == wanted, f"node {node} holds {held} of partition {index}; it must hold {wanted}")
