"""Commits of every form, staged ones and deletions, drawn, over stops and kills: all that groups have is followed."""

from typing import NamedTuple

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.drawn import as_returned
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {
    "OffsetCommit": 6,
    "OffsetFetch": 7,
    "OffsetDelete": 0,
    "AddOffsetsToTxn": 0,
    "TxnOffsetCommit": 2,
    "CreateTopics": 2,
    "DeleteTopics": 1,
}
NODES = ["partitions", "kill", "terminate", "restart"]
WITHIN_S = 20
BUSY = (
    errors.COORDINATOR_LOAD_IN_PROGRESS,
    errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_COORDINATOR,
    errors.CONCURRENT_TRANSACTIONS,
)
STEPS = (*["commit"] * 4, *["stage"] * 4, *["end"] * 2, *["delete"] * 2)
LIMIT, DEFAULT_LIMIT = "offset.metadata.max.bytes", 4096
OLD_MS, EXPIRES_MS = 20_000, 55_000
"""A transaction is ended when it is so old: clusters may have a minute at most (transaction.max.timeout.ms)."""
UNKNOWN = 99
"""A partition that no topic has."""
LOOKED_AT = "error codes, offsets, leader epochs and metadata"


@case(
    "commits/whatever-comes-next-over-restarts",
    guarantees=["cmt-001", "cmt-002", "cmt-009", "cmt-014", "cmt-015", "txn-012"],
    apis=APIS,
    needs=NODES,
    detects=["C01", "C02"],
)
def all_offsets_are_followed_over_restarts(wire, topic_of, rng, nodes):
    """Whatever is committed, staged in transactions, deleted, and removed with its topic, in whatever order and
    version, each group MUST have exactly the offsets, leader epochs and metadata that are in force, in each version of
    OffsetFetch, also after a clean stop and after a kill of its coordinator; what a transaction may still change MUST
    be refused (88) where stable offsets are asked for.

    Two groups, two producers, two topics that are deleted and created again; 40 drawn steps.
    """
    follow(wire, [topic_of(what="one", partitions=2), topic_of(what="two", partitions=2)], rng, nodes, buries=False)


@case(
    "commits/staged-offsets-of-what-is-deleted",
    guarantees=["cmt-014", "cmt-015", "txn-012", "cmt-002"],
    since="4.0 (KAFKA-14505)",
    apis={**APIS, "DeleteGroups": 0},
    needs=NODES,
    detects=["C03", "C04", "V94", "W10"],
)
def staged_offsets_go_with_what_is_deleted(wire, topic_of, rng, nodes):
    """The same MUST hold where offsets are deleted that a transaction has staged, one by one, with their topic or with
    their group: the deletion takes them too, so that they MUST NOT come into force when the transaction is committed
    afterwards, also where the coordinator was stopped or killed in between or later.

    A tombstone removes what is pending for its key (OffsetMetadataManager.replay).
    """
    follow(wire, [topic_of(what="one", partitions=2), topic_of(what="two", partitions=2)], rng, nodes, buries=True)


class WhatWasPut(NamedTuple):
    """What is put for a partition, and as the how many-th: of two the later one is in force."""

    offset: int
    epoch: int
    metadata: str | None
    number: int


def follow(wire, topics, rng, nodes, *, buries):
    groups = FollowedGroups(wire, topics, rng)
    acts = {14: nodes.stop_and_start, 28: nodes.crash}
    for turn in range(40):
        if turn in (8, 22, 34):
            _topic_goes(groups, rng.choice(topics), buries)
        if buries and turn in (11, 30):
            _group_goes(groups)
        if turn in acts:
            for group in groups.names:
                groups.commit(group)
            groups.stage(0, groups.names[0])
            _over(acts[turn], groups, nodes)
        elif turn not in acts and turn % 14 == 2 and groups.missing:
            _made_again(groups)
        groups.end_old()
        _step(groups, rng.choice(STEPS), rng, buries)
        for group in groups.names:
            groups.must_be_returned(group, *rng.choice(groups.questions()))
    for number in range(2):
        groups.end(number, commit=True)
    _made_again(groups)
    for group in () if buries else groups.names:
        groups.commit(group, groups.there())
    _over(nodes.stop_and_start, groups, nodes)


def _over(act, groups, nodes):
    """A coordinator goes down and comes back; the last time each form of metadata is in force then."""
    act(nodes.of_group(groups.rng.choice(groups.names)))
    for topic in groups.topics:
        if topic not in groups.missing:
            groups.wire.await_topic(topic)
    for group in groups.names:
        make_coordinator_write(groups.wire, group)
    groups.must_be_returned_in_every_version()


def _step(groups, step, rng, buries):
    group, number = rng.choice(groups.names), rng.randrange(2)
    if step == "commit":
        groups.commit(group)
    elif step == "stage":
        groups.stage(number, group)
    elif step == "end":
        groups.end(number, rng.random() < 0.6)
    elif step == "delete" and groups.force[group]:
        there = groups.there()
        groups.delete(group, rng.sample(there, min(len(there), rng.choice((1, 1, 2, 3)))), buries)


def _topic_goes(groups, topic, buries):
    """A topic is deleted: before it is created again, none of its offsets is left, nor staged."""
    wire = groups.wire
    if buries:
        for number, group in enumerate(groups.names):
            groups.stage(number, group, [(topic, number)])
    else:
        for number in range(2):
            if any(place[0] == topic for _, place in groups.staged[number]):
                groups.end(number, commit=number == 0)
    wire.delete_topic(topic).must_succeed()
    groups.missing.append(topic)
    gone = errors.UNKNOWN_TOPIC_OR_PARTITION
    for node in wire.nodes:
        wire.eventually(
            lambda node=node: wire.metadata(topic, to=node).must_have("topics[0].error_code", gone), within=WITHIN_S
        )
    for group in groups.names:
        groups.forget(group, [(topic, number) for number in range(2)])
    wire.eventually(groups.must_be_returned_either_way, within=WITHIN_S)


def _group_goes(groups):
    """A group is deleted, and nothing of it comes into force with the rest of the transaction: neither for a partition
    that it had an offset of nor for one that it had none of."""
    gone, other = groups.rng.sample(groups.names, 2)
    there = groups.there()
    alone = groups.rng.choice(there)
    groups.commit(gone, there)
    groups.delete(gone, [alone], buries=True)
    groups.stage(0, gone, [alone, *groups.rng.sample([place for place in there if place != alone], 1)])
    groups.stage(0, other)
    groups.wire.delete_groups(gone).must_succeed()
    groups.forget(gone, [(topic, number) for topic in groups.topics for number in range(2)])
    groups.end(0, commit=True)


def _made_again(groups):
    for topic in groups.missing:
        groups.wire.create_topic(topic, partitions=2, replicas=min(3, len(groups.wire.nodes))).must_succeed()
        groups.wire.await_topic(topic)
    groups.missing.clear()


class FollowedGroups:
    """Two groups, the partitions that they commit for, and two producers: what is in force and what is staged."""

    def __init__(self, wire, topics, rng):
        self.wire, self.rng, self.topics, self.puts = wire, rng, topics, 0
        self.names = [wire.name("g1"), wire.name("g2")]
        self.force: dict[str, dict[tuple[str, int], WhatWasPut]] = {group: {} for group in self.names}
        self.producers = [wire.producer(wire.name(name), timeout_ms=60_000) for name in ("x1", "x2")]
        self.staged: list[dict[tuple[str, tuple[str, int]], WhatWasPut]] = [{}, {}]
        """Of each producer: (group, place) -> what it staged."""
        self.since_ms = [0, 0]
        self.missing = []
        longest = int(wire.setting(LIMIT) or DEFAULT_LIMIT)
        self.too_long = "m" * (longest + 1)
        self.texts = (None, "", "m", "ü€\U0001f600", "m" * longest)
        self.left = []

    def there(self):
        return [(topic, number) for topic in self.topics if topic not in self.missing for number in range(2)]

    def drawn(self, epochs, places=None):
        """What is put for some partitions, or for those given; and what is refused beside it, with its error code."""
        there, rng = self.there(), self.rng
        self.puts += 1
        chosen = places or rng.sample(there, rng.choice((1, 2, 3)) if len(there) > 2 else 1)
        puts = {
            place: WhatWasPut(rng.choice((0, rng.randrange(1000), 2**40)), rng.choice(epochs), self._text(), self.puts)
            for place in chosen
        }
        refused = {}
        if rng.random() < 0.2:
            refused[chosen[0][0], UNKNOWN] = errors.UNKNOWN_TOPIC_OR_PARTITION
            if others := [place for place in there if place not in puts]:
                refused[rng.choice(others)] = errors.OFFSET_METADATA_TOO_LARGE
        return puts, refused

    def _text(self):
        """Each text once, in a drawn order, before one comes again."""
        if not self.left:
            self.left = self.rng.sample(self.texts, len(self.texts))
        return self.left.pop()

    def commit(self, group, places=None):
        version = self.rng.choice([each for each in self.wire.versions("OffsetCommit") if each >= 2])
        puts, refused = self.drawn((-1, 0, 7, 2**31 - 1) if version >= 6 else (-1,), places)
        self.wire.will_make(self.wire.made_groups, group)
        asked = request("OffsetCommit", group_id=group, topics=self._rows(puts, refused))
        self._ask(group, asked, version, puts, refused)
        self.force[group] |= puts

    def stage(self, number, group, places=None):
        """Offsets are put into the transaction of a producer; a later one for the same partition replaces it."""
        producer, served = self.producers[number], self.wire.versions("TxnOffsetCommit")
        by_itself = self.wire.transaction_version >= 2
        version = self.rng.choice([each for each in served if each >= 2 and (each >= 5) == by_itself])
        who = (producer.transactional_id, producer.id, producer.epoch)
        if not by_itself:
            self.wire.add_offsets(*who, group).must_succeed()
        puts, refused = self.drawn((-1, 0, 7, 2**31 - 1), places)
        asked = request(
            "TxnOffsetCommit",
            transactional_id=who[0],
            producer_id=who[1],
            producer_epoch=who[2],
            group_id=group,
            topics=self._rows(puts, refused),
        )
        self._ask(group, asked, version, puts, refused)
        if not self.staged[number]:
            self.since_ms[number] = self.wire.now_ms()
        self.staged[number] |= {(group, place): put for place, put in puts.items()}

    def end(self, number, commit):
        """What was staged comes into force where nothing was committed since, or vanishes."""
        producer, staged = self.producers[number], self.staged[number]
        if not staged:
            return
        if self.wire.now_ms() > self.since_ms[number] + EXPIRES_MS:
            self.wire.unclear("a transaction was open for so long that it may have expired")
        (producer.commit() if commit else producer.abort()).must_succeed()
        self.staged[number] = {}
        for (group, place), put in staged.items():
            there = self.force[group].get(place)
            if commit and (there is None or there.number < put.number):
                self.force[group][place] = put
        self.wire.eventually(self.must_be_returned_either_way, within=WITHIN_S)

    def end_old(self):
        for number in range(2):
            if self.wire.now_ms() > self.since_ms[number] + OLD_MS:
                self.end(number, commit=True)

    def delete(self, group, places, buries):
        """OffsetDelete, of an unknown partition too; what is staged stays out of it where it is not to be buried."""
        places = [place for place in places if buries or not any((group, place) in each for each in self.staged)]
        if not places:
            return
        unknown = (places[0][0], UNKNOWN)
        answer = self.wire.delete_offsets(group, [*places, unknown])
        found = {
            (row.name, part.partition_index): part.error_code for row in answer.struct.topics for part in row.partitions
        }
        wanted = {**dict.fromkeys(places, 0), unknown: errors.UNKNOWN_TOPIC_OR_PARTITION}
        answer.must(found == wanted, f"the error codes are {found}; they must be {wanted}", "topics")
        self.forget(group, places)

    def forget(self, group, places):
        for place in places:
            self.force[group].pop(place, None)
            for staged in self.staged:
                staged.pop((group, place), None)

    def questions(self):
        """(version, which partitions, whether stable ones alone) of all that OffsetFetch can be asked."""
        return [
            (version, places, stable)
            for version in self.wire.versions("OffsetFetch")
            if version >= 1
            for places in ((None, self.there()) if version >= 2 else (self.there(),))
            for stable in ((False, True) if version >= 7 else (False,))
        ]

    def must_be_returned_in_every_version(self):
        for question in self.questions():
            for group in self.names:
                self.must_be_returned(group, *question)

    def must_be_returned_either_way(self):
        """Stable ones alone, and what is in force: the other producer may have staged the same, which hides an end."""
        every = [(topic, number) for topic in self.topics for number in range(2)]
        for group in self.names:
            for stable in (True, False):
                self.must_be_returned(group, min(9, max(self.wire.versions("OffsetFetch"))), every, stable)

    def must_be_returned(self, group, version, places, stable):
        rows = None if places is None else self._named(places, version >= 8)
        of_one = {"group_id": group, "topics": rows}
        form = {"groups": [of_one]} if version >= 8 else of_one
        asked = request("OffsetFetch", require_stable=stable, **form)
        answer = self.wire.ask(
            asked,
            to=lambda: self.wire.coordinator(group),
            version=version,
            retry_on=BUSY,
            refresh=lambda: self.wire.forget_coordinator(group),
        )
        row = answer.struct.groups[0] if version >= 8 else answer.struct
        found = as_returned(row, version, self._names() if version >= 10 else {})
        force = self.force[group]
        wanted = {
            place: (errors.UNSTABLE_OFFSET_COMMIT, -1, -1, "")
            if stable and any((group, place) in each for each in self.staged)
            else _wanted(force.get(place), version)
            for place in (force if places is None else places)
        }
        what = f"{'all' if places is None else 'what is named'} of {group}"
        wrong = {place: found.get(place) for place in [*wanted, *found] if found.get(place) != wanted.get(place)}
        right = {place: wanted.get(place) for place in wrong}
        answer.must(not wrong, f"{LOOKED_AT} of {what} are {_short(wrong)}; they must be {_short(right)}")

    def _ask(self, group, asked, version, puts, refused):
        """Asked again while the coordinator is busy, though the first code of the answer be another."""

        def settled():
            answer = self.wire.ask(asked, to=lambda: self.wire.coordinator(group), version=version)
            if any(part.error_code in BUSY for row in answer.struct.topics for part in row.partitions):
                self.wire.forget_coordinator(group)
                return None
            return answer

        answered = self.wire.until(settled, within=WITHIN_S, what="the coordinator is settled")
        ids = self._names() if version >= (10 if asked._api == "OffsetCommit" else 6) else {}
        found = {
            (ids.get(str(row.topic_id)) if ids else row.name, part.partition_index): part.error_code
            for row in answered.struct.topics
            for part in row.partitions
        }
        wanted = {**dict.fromkeys(puts, 0), **refused}
        answered.must(found == wanted, f"the error codes are {found}; they must be {wanted}", "topics")

    def _rows(self, puts, refused):
        texts = {
            place: self.too_long if code == errors.OFFSET_METADATA_TOO_LARGE else "" for place, code in refused.items()
        }
        every = puts | {place: WhatWasPut(5, -1, text, self.puts) for place, text in texts.items()}
        return [
            {
                "name": topic,
                "topic_id": self.wire.topic_id(topic),
                "partitions": [
                    {
                        "partition_index": index,
                        "committed_offset": put.offset,
                        "committed_leader_epoch": put.epoch,
                        "committed_metadata": put.metadata,
                    }
                    for (name, index), put in every.items()
                    if name == topic
                ],
            }
            for topic in dict.fromkeys(topic for topic, _ in every)
        ]

    def _named(self, places, with_ids):
        names = dict.fromkeys(topic for topic, _ in places)
        rows = [{"name": name, "partition_indexes": [n for topic, n in places if topic == name]} for name in names]
        return [{**row, "topic_id": self.wire.topic_id(row["name"])} for row in rows] if with_ids else rows

    def _names(self):
        return {str(self.wire.topic_id(topic)): topic for topic in self.topics}


def _wanted(put, version):
    """The offset in force as a version returns it; without one: -1, without metadata."""
    if put is None:
        return 0, -1, -1, ""
    return 0, put.offset, put.epoch if version >= 5 else -1, put.metadata or ""


def _short(rows):
    return {
        place: row and (*row[:3], row[3] if len(row[3]) < 20 else f"{len(row[3])} units") for place, row in rows.items()
    }
