"""Partitions that are moved in any stage, while records are under way: what they must be, and where nothing but that
they are safe.
"""

from brokertrial.suites.cases.replication._placements import (
    ABSENT,
    PREFERRED,
    UNCLEAN,
    MovedPartitions,
)
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S
from brokertrial.suites.probe.core import LEADER_UNSETTLED
from brokertrial.suites.probe.failures import NoResponse
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SHORT = (errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, errors.REQUEST_TIMED_OUT)
CALLED_OFF = (errors.NONE, errors.NO_REASSIGNMENT_IN_PROGRESS)
MOST = 8
RISKED, KEPT = 4, 3
"""The partition whose records an administrator may have lost: none of them is acknowledged by all. And the one that
stays where it is while a node is dead, but for the order of its replicas."""


class PlacedPartitions(MovedPartitions):
    """Partitions of which some may be `loose`: who holds them is decided when the dead node is back. Of one that is
    `lost` the dead node alone has what there is."""

    def __init__(self, wire, rng):
        self.loose: set[int] = set()
        self.lost: set[int] = set()
        self.newest: dict[int, tuple[bytes, int]] = {}
        super().__init__(wire, rng)

    def play(self, first, steps=()):
        """These steps first, and then others in a drawn order, while records are under way; after each all is as it
        must be."""
        if not self.loose:
            self.must_be_as_placed()
        for step in (*first, *self.rng.sample(steps, len(steps))):
            sent = self._sent() if self.rng.random() < 0.6 else {}
            getattr(self, f"step_{step}")()
            self._arrived(sent)
            self.must_be_as_placed()

    # records

    def _sent(self):
        """A record to some partitions, of which nothing is heard yet."""
        sent = {}
        for index in self._led():
            if index != RISKED and self.rng.random() < 0.7:
                made = self._made(index)
                answer = self.wire.produce(self.topic, made[0], index, via=f"p{index}", wait=False, retry=False)
                sent[index] = (made, answer)
        return sent

    def _led(self):
        return [n for n, place in enumerate(self.places) if self._living(place) and n not in self.lost]

    def _made(self, index):
        """The next record of a partition, which is known by its sequence, and the offset that it must have."""
        self.written += 1
        place = self.places[index]
        made = self.producer.batch(f"{self.written}", sequence=len(place.values))
        place.values.append(f"{self.written}")
        return made, len(place.values) - 1

    def _arrived(self, sent):
        """What was sent is written once, wherever it was when the leader changed."""
        for index, (made, answer) in sent.items():
            try:
                code = answer.error
            except NoResponse:
                code = errors.REQUEST_TIMED_OUT
            if code:
                right = code in (*SHORT, *LEADER_UNSETTLED)
                answer.must(right, f"a record to partition {index} is answered with {code}")
                self._write_again(index, made)
            else:
                answer.must_be_at(made[1])
                self.newest[index] = made

    def _write(self, index, place):
        self._write_again(index, self._made(index))

    def _write_again(self, index, made):
        def taken():
            answer = self.wire.produce(self.topic, made[0], index, acks=1 if index == RISKED else -1)
            return None if answer.error in SHORT else answer

        self.wire.until(taken, within=WITHIN_S, what=f"partition {index} takes a record").must_be_at(made[1])
        self.newest[index] = made
        if index == RISKED:
            self.wire.until(
                lambda: self.wire.fetch(self.topic, index, offset=made[1]).high_watermark > made[1],
                within=WITHIN_S,
                what=f"what partition {index} took is at all replicas",
            )

    def must_be_known(self):
        """The newest record of each partition, sent again, is known to whoever leads by now."""
        for index in self._led():
            if index in self.newest:
                self._write_again(index, self.newest[index])

    # steps

    def _resting(self, count=MOST):
        found = super()._resting(MOST)
        return [index for index in found if index != KEPT or self.dead is None][:count]

    def step_spread(self):
        """One is held by all nodes."""
        self._move({KEPT: self._mixed(self.everyone)})

    def step_order(self):
        """The order alone is another, of one that the dead node holds too, and of others."""
        several = [index for index in self._resting() if len(self.places[index].replicas) > 1 and index != KEPT]
        several = [*several[:2], *([KEPT] if len(self.places[KEPT].replicas) > 1 else [])]
        self._move({index: self._turned(self.places[index].replicas) for index in several})

    def _turned(self, replicas):
        turn = self.rng.randrange(1, len(replicas))
        return replicas[turn:] + replicas[:turn]

    def step_more_and_fewer(self):
        """To all that are alive, and to one of them."""
        for size in self.rng.sample((1, len(self.alive)), 2):
            for index in self._resting(1):
                self._move({index: self.rng.sample(self.alive, size)})
            self.must_be_as_placed()

    def step_twice(self):
        """Moved again at once, whatever became of the first time: who was to be added is so again, and if some were to
        be removed, some are. Apache Kafka waits for ever for what is to be added and removed at once, and takes a
        request that removes nobody (or adds nobody) for one that leaves that as it is.
        """
        first, again = {}, {}
        for index in self._whole(2):
            before = self.places[index].replicas
            added = [node for node in self.alive if node not in before][:1]
            kept = self.rng.sample(before, self.rng.randint(0 if added else 1, len(before) - 1)) if added else before
            first[index] = self._mixed([*added, *self.rng.sample(before, self.rng.randint(0, 1) if added else 1)])
            again[index] = self._mixed([*added, *kept])
        self._move(first)
        self._move(again)

    def _mixed(self, nodes):
        return self.rng.sample(nodes, len(nodes))

    def step_call_off(self):
        """What waits for the dead node stays where it was; what rests is refused, in the same request."""
        unsure = self.loose | self.lost
        moving = [n for n, place in enumerate(self.places) if place.target is not None and n not in unsure]
        chosen = self._mixed([*moving, *self._resting(1)])
        rows = self._answered(self._alter(dict.fromkeys(chosen)), chosen)
        for index in chosen:
            place, moves = self.places[index], index in moving
            self._must_be_answered(rows, index, errors.NONE if moves else errors.NO_REASSIGNMENT_IN_PROGRESS)
            if moves:
                stay = [one for one in place.replicas if one not in place.adding]
                place.replicas, place.target, place.before = stay, None, []

    def step_call_off_at_once(self):
        """It stays where it was, or has moved by then."""
        for index in self._whole(2):
            place, before = self.places[index], self.places[index].replicas
            target = self.rng.sample(self.alive, self.rng.randint(1, len(self.alive)))
            self._move({index: target})
            answer, rows = self._answered(self._alter({index: None}), [index])
            code = rows[index].error_code
            answer.must(code in CALLED_OFF, f"calling off what may be over is answered with {code}", "responses")
            if not code:
                left = [*target, *sorted(set(before) - set(target))]
                place.replicas = [node for node in left if node in before]

    def _whole(self, count):
        """Some that rest, and that the dead node has nothing of."""
        found = [index for index in self._resting() if self.dead not in self.places[index].replicas]
        return self.rng.sample(found, min(len(found), count))

    def step_repeat(self):
        """What waits for the dead node goes to the same nodes, in another order."""
        for index, place in enumerate(self.places):
            if place.target is not None and index not in self.loose | self.lost:
                target = self._mixed(place.target)
                self._must_be_answered(self._answered(self._alter({index: target}), [index]), index, errors.NONE)
                place.target, place.replicas = target, [*target, *sorted(place.removing)]

    def step_again(self):
        """What waits for the dead node is to go elsewhere: who holds it is decided once that is back."""
        moving = [n for n, place in enumerate(self.places) if place.target is not None and n not in self.lost]
        self.step_elect_all()
        for index in self.rng.sample(moving, min(1, len(moving))):
            target = self.rng.choice(([self.dead], self.rng.sample(self.alive, self.rng.choice((1, 2)))))
            self._must_be_answered(self._answered(self._alter({index: target}), [index]), index, errors.NONE)
            place = self.places[index]
            place.target, place.replicas = target, [*target, *sorted({*place.replicas} - {*target})]
            self.loose.add(index)

    def step_settle(self):
        """Where nothing is known of who holds a partition, that is decided anew: what is under way is called off, if
        it can be."""
        for index in sorted(self.loose):
            self.wire.until(
                lambda index=index: (
                    self._answered(self._alter({index: None}), [index])[1][index].error_code in CALLED_OFF
                ),
                within=WITHIN_S,
                what=f"what is under way of partition {index} is called off, or over",
            )
            target = self.rng.sample(self.everyone, self.rng.randint(1, len(self.everyone)))
            self.wire.eventually(lambda index=index, to=target: self._settles(index, to), within=WITHIN_S)
            place = self.places[index]
            place.replicas, place.target, place.before = target, None, []
            self.loose.remove(index)
            self.must_be_as_placed()

    def _settles(self, index, target):
        """It is where it is to be, or is moved there again: from what it was called off to, when that is known."""
        row = self._row(index)
        if row.replica_nodes != target or {*row.isr_nodes} != {*target}:
            self._must_be_answered(self._answered(self._alter({index: target}), [index]), index, errors.NONE)
        row = self._row(index)
        self.wire.must(row.replica_nodes == target, f"partition {index} is on {row.replica_nodes}, not on {target}")

    def _row(self, index):
        return next(row for row in self._rows(len(self.places)) if row.partition_index == index)

    def step_fewer(self):
        """The dead node alone is to hold what others hold with it: all wait for it."""
        index = next((n for n in self._resting() if self.dead in self.places[n].replicas), None)
        if index is not None and index not in self.lost:
            place = self.places[index]
            self._must_be_answered(self._answered(self._alter({index: [self.dead]}), [index]), index, errors.NONE)
            place.before, place.target = place.replicas, [self.dead]
            place.replicas = [self.dead, *sorted(place.removing)]

    def step_grow(self):
        """Placed by the cluster, with as many replicas as one of those that are there has: not all have the same."""
        sizes = {len(place.replicas) for place in self.places}
        if self.loose or len(self.places) >= MOST:
            return
        there, wanted = len(self.places), len(self.places) + self.rng.choice((1, 2))
        self.wire.create_partitions(self.topic, wanted).must_succeed()
        rows = self.wire.until(lambda: self._rows(wanted), within=WITHIN_S, what=f"there are {wanted} partitions")
        for row in rows[there:]:
            placed = row.replica_nodes
            right = len(placed) in sizes and len(set(placed)) == len(placed) and {*placed} <= {*self.everyone}
            self.wire.must(right, f"partition {row.partition_index} is on {placed}; others have {sizes} replicas")
            self.places.append(type(self.places[0])(placed))

    def _rows(self, count):
        rows = self.wire.refresh_metadata(self.topic).topics[0].partitions
        return sorted(rows, key=lambda row: row.partition_index) if len(rows) == count else None

    def step_elect(self):
        if not self.lost & set(range(5)):
            super().step_elect()

    def step_elect_all(self):
        """Whoever is first leads, where that one is alive."""
        asked = request("ElectLeaders", election_type=PREFERRED, topic_partitions=None, timeout_ms=10_000)
        answer = self.wire.ask(asked, to=self.wire.controller)
        rows = [row for row in answer.struct.replica_election_results if row.topic == self.topic]
        found = {row.partition_id: row.error_code for each in rows for row in each.partition_result}
        for index in [one for one in self._led() if one not in self.loose]:
            first, code = self.places[index].replicas[0], found.get(index, errors.NONE)
            wanted = errors.NONE if first != self.dead else errors.PREFERRED_LEADER_NOT_AVAILABLE
            right = code == wanted or self.places[index].target is not None
            answer.must(right, f"partition {index}, first on {first}, is answered with {code}; it must be {wanted}")
            if first != self.dead and not code and self.places[index].target is None:
                self.wire.until(
                    lambda index=index, first=first: self._leader(index) == first,
                    within=WITHIN_S,
                    what=f"node {first}, the first replica, leads partition {index}",
                )

    def step_lone(self, node):
        """One is held by this node alone."""
        self._move({RISKED: [node]})

    def step_rescue(self):
        """What the dead node alone has is to be held by living ones, and by them without what it has, if somebody
        decides so (KIP-460)."""
        place = self.places[RISKED]
        if not self._living(place):
            target = self.rng.sample(self.alive, self.rng.choice((1, 2)))
            self.lost.add(RISKED)
            self._must_be_answered(self._answered(self._alter({RISKED: target}), [RISKED]), RISKED, errors.NONE)
            place.before, place.target, place.replicas = place.replicas, target, [*target, *place.replicas]
            self.must_be_as_placed()
            self._must_not_be_elected()
            if self.rng.random() < 0.6:
                self._elected_uncleanly(RISKED)

    def _must_not_be_elected(self):
        """Who lacks what there is does not lead, alive as it may be."""
        self._elect_for(RISKED, PREFERRED).must_be_refused(errors.PREFERRED_LEADER_NOT_AVAILABLE)
        self.must_be_as_placed()

    def _elect_for(self, index, kind):
        rows = [{"topic": self.topic, "partitions": [index]}]
        asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=10_000)
        return self.wire.ask(asked, to=self.wire.controller)

    def _elected_uncleanly(self, index):
        self._elect_for(index, UNCLEAN).must_succeed()
        self.wire.until(lambda: self._leader(index) in self.alive, within=WITHIN_S, what=f"partition {index} is led")
        self.places[index].values = []
        self.newest.pop(index, None)
        self.lost.remove(index)
        self.loose.add(index)

    def gets_back(self):
        super().gets_back()
        self.lost.clear()

    # what must be

    def _must_be_shown(self, node):
        answer = self.wire.metadata(self.topic, to=node)
        rows = {row.partition_index: row for row in answer.struct.topics[0].partitions}
        wanted = list(range(len(self.places)))
        answer.must(sorted(rows) == wanted, f"node {node} shows the partitions {sorted(rows)}; they must be {wanted}")
        self._must_be_safe(answer, node, rows)
        for index, place in enumerate(self.places):
            if index not in self.loose | self.lost:
                self._must_be_exact(answer, node, index, place, rows[index])

    def _must_be_exact(self, answer, node, index, place, row):
        living = self._living(place)
        where = f"node {node} shows partition {index}"
        answer.must(row.replica_nodes == place.replicas, f"{where} on {row.replica_nodes}, not on {place.replicas}")
        offline = sorted(set(place.replicas) - set(living))
        answer.must(sorted(row.offline_replicas) == offline, f"{where} offline on {row.offline_replicas}")
        right = sorted(row.isr_nodes) == sorted(living) or (not living and row.isr_nodes == [self.dead])
        answer.must(right, f"{where} in sync on {row.isr_nodes}, not on {living or self.dead}")  # KIP-966: nobody is
        right = row.leader_id in living if living else row.leader_id == NO_NODE
        answer.must(right, f"{where} led by {row.leader_id}; alive are {living or 'none'} of its replicas")
        if not living:
            return
        answer.must(
            row.leader_epoch > place.epoch or (row.leader_epoch, row.leader_id) == (place.epoch, place.leader),
            f"{where} led by {row.leader_id} in epoch {row.leader_epoch}; {place.leader} led in {place.epoch}",
        )
        place.epoch, place.leader = row.leader_epoch, row.leader_id

    def _must_be_safe(self, answer, node, rows):
        for index in sorted(self.loose):
            row, living = rows[index], set(rows[index].replica_nodes) & set(self.alive)
            answer.must(
                row.leader_id in living and row.leader_id in row.isr_nodes and {*row.isr_nodes} <= {*self.alive},
                f"node {node} shows partition {index} on {row.replica_nodes}, in sync on {row.isr_nodes}, led by "
                f"{row.leader_id}; it must be one of either, and alive",
            )
        for index in sorted(self.lost):
            row = rows[index]
            nobody = row.leader_id == NO_NODE and row.isr_nodes in ([], [self.dead])
            answer.must(
                nobody and row.replica_nodes == self.places[index].replicas,
                f"node {node} shows partition {index} on {row.replica_nodes}, in sync on {row.isr_nodes}, led by "
                f"{row.leader_id}; {self.dead}, which is dead, has what there is",
            )

    def _must_be_listed(self):
        """What is on the move, asked for by partition or all; of what is loose nothing is asked."""
        names = [index for index in range(len(self.places)) if self.rng.random() < 0.7] + [ABSENT]
        asked = None if self.rng.random() < 0.5 else [{"name": self.topic, "partition_indexes": names}]
        asked_of = self.rng.choice(self.alive)
        answer = self.wire.ask(request("ListPartitionReassignments", topics=asked, timeout_ms=10_000), to=asked_of)
        if answer.error == errors.NOT_CONTROLLER:
            return
        found = {
            row.partition_index: (row.replicas, sorted(row.adding_replicas), sorted(row.removing_replicas))
            for each in answer.must_succeed().struct.topics
            if each.name == self.topic
            for row in each.partitions
            if row.partition_index not in self.loose
        }
        wanted = {
            index: (place.replicas, sorted(place.adding), sorted(place.removing))
            for index, place in enumerate(self.places)
            if place.target is not None and index not in self.loose and (asked is None or index in names)
        }
        answer.must(found == wanted, f"on the move are {found}; it must be {wanted}", "topics")

    def must_be_held_by_all(self):
        """Each living replica holds every record; a living node that is none refuses. Of what is loose the leader."""
        self.must_be_known()
        for index in self._led():
            place = self.places[index]
            self.wire.refresh_metadata(self.topic)
            self.wire.read_all(self.topic, index).must_hold(*place.values)
            for node in self.alive if index not in self.loose else ():
                self.wire.eventually(
                    lambda node=node, index=index, place=place: self._must_be_held(node, index, place),
                    within=WITHIN_S,
                )
