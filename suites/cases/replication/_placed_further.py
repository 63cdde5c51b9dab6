"""Partitions that are moved in any stage, while records are under way: what they must be, and where nothing but that
they are safe.
"""

from brokertrial.suites.cases.replication._placed_shown import ShownPlaces
from brokertrial.suites.cases.replication._placements import PREFERRED, UNCLEAN
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe.core import LEADER_UNSETTLED
from brokertrial.suites.probe.failures import NoResponse, breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SHORT = (errors.NOT_ENOUGH_REPLICAS, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, errors.REQUEST_TIMED_OUT)
CALLED_OFF = (errors.NONE, errors.NO_REASSIGNMENT_IN_PROGRESS)
MOST = 8
RISKED, KEPT = 4, 3
"""The partition whose records an administrator may have lost: none of them is acknowledged by all. And the one that
stays where it is while a node is dead, but for the order of its replicas."""


class PlacedPartitions(ShownPlaces):
    """They are moved in any stage, with records under way."""

    def __init__(self, wire, rng):
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

    @breaks("adm-014", "idem-008")
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

    @breaks("repl-012", "idem-008")
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

    @breaks("idem-008")
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

    @breaks("adm-019")
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

    @breaks("adm-019")
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

    @breaks("adm-019")
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

    @breaks("adm-019")
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

    @breaks("adm-007")
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

    @breaks("adm-013")
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

    @breaks("adm-013")
    def _must_not_be_elected(self):
        """Who lacks what there is does not lead, alive as it may be."""
        self._elect_for(RISKED, PREFERRED).must_be_refused(errors.PREFERRED_LEADER_NOT_AVAILABLE)
        self.must_be_as_placed()

    def _elect_for(self, index, kind):
        rows = [{"topic": self.topic, "partitions": [index]}]
        asked = request("ElectLeaders", election_type=kind, topic_partitions=rows, timeout_ms=10_000)
        return self.wire.ask(asked, to=self.wire.controller)

    @breaks("adm-013")
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

    @breaks("repl-001", "repl-002")
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
