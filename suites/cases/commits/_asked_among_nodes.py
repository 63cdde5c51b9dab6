"""What is asked about the offsets of groups: of their coordinators, and of nodes that do not coordinate them."""

from brokertrial.suites.cases.commits.drawn import as_returned
from brokertrial.suites.cases.commits.drawn_over_restarts import (
    BUSY,
    LOOKED_AT,
    WITHIN_S,
    FollowedGroups,
    _short,
    _wanted,
)
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ELSEWHERE = (errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE, errors.COORDINATOR_LOAD_IN_PROGRESS)
SEVERAL_SINCE, MEMBERS_SINCE, IDS_SINCE, MODERN_SINCE = 8, 9, 10, 9


class AskedGroups(FollowedGroups):
    """Groups of which each node is asked: the one that coordinates a group has its offsets, and the others nothing."""

    def __init__(self, wire, topics, rng):
        super().__init__(wire, topics, rng)
        self.members = {}
        """Of a group: who is in it."""
        self.gone = set()
        """Groups that were deleted, and of which nothing was heard since."""
        self.buries = wire.features.get("group.version", 0) >= 1
        """The coordinator of 4.0 (KAFKA-14505): what is deleted takes along what is staged for it, and stable offsets
        are refused for what a transaction has staged alone. The one before refuses them for any commit under way
        (GroupMetadata.hasPendingOffsetCommitsForTopicPartition)."""

        self.ends = False
        """Whether a transaction has just ended, so that its offsets are what is looked at."""

    @breaks("txn-012")
    def end(self, number, commit):
        self.ends = True
        super().end(number, commit)
        self.ends = False

    def must_be_returned(self, group, version, places, stable):
        with self._broken(group, stable):
            super().must_be_returned(group, version, places, stable)

    def _broken(self, group, stable):
        """By offsets that are not as they must be: what is staged hides them where stable ones are asked for."""
        staged = stable and any(one == group for each in self.staged for one, _ in each)
        return breaks("cmt-002", "txn-012") if staged or self.ends else breaks("cmt-001", "cmt-002")

    def _as_member(self, group, wrong=0):
        member = self.members.get(group)
        if member is None:
            return {}
        epoch = member.epoch if self._is_modern(group) else member.generation
        return {"member_id": member.id, "generation_id_or_member_epoch": epoch + wrong}

    def _is_modern(self, group):
        return isinstance(self.members.get(group), ConsumerGroupMember)

    def _commit_version(self, group):
        least = MODERN_SINCE if self._is_modern(group) else 2
        return self.rng.choice([each for each in self.wire.versions("OffsetCommit") if each >= least])

    def _put(self):
        return next(iter(self.drawn((-1,), self.there()[:1])[0].values()))

    def _again(self, group):
        """What is in force is committed again, which is under way when something is asked."""
        place, put = self.rng.choice(list(self.force[group].items()))
        self.puts += 1
        self.force[group][place] = put._replace(number=self.puts)
        rows = self._rows({place: put}, {})
        asked = request("OffsetCommit", group_id=group, topics=rows, **self._as_member(group))
        newest = max(self.wire.versions("OffsetCommit"))
        return self.wire.ask(asked, to=self.wire.coordinator(group), version=newest, via="beside", wait=False)

    def coordinators(self):
        """The node that coordinates each group."""
        return {group: self.wire.coordinator(group) for group in self.names}

    # what is asked

    @breaks("prot-019")
    def must_be_refused_elsewhere(self, group, node, every=False):
        """A node that does not coordinate the group: it changes nothing, shows nothing, and names what was asked."""
        kinds = [self._commit_at, self._stage_at, self._delete_at, self._deletion_at, self._fetch_at, self._beat_at]
        for kind in kinds if every else [self.rng.choice(kinds)]:
            place = self.rng.choice(self.there())
            kind(group, node, [place, *(each for each in self.there() if each != place and self.rng.random() < 0.5)])

    def _commit_at(self, group, node, places):
        rows = self._rows({place: self._put() for place in places}, {})
        asked = request("OffsetCommit", group_id=group, topics=rows, **self._as_member(group))
        answer = self.wire.ask(asked, to=node, version=self._commit_version(group))
        self._must_all_be(answer, places, ELSEWHERE, f"{group}, which node {node} does not coordinate")

    def _stage_at(self, group, node, places):
        producer, by_itself = self.rng.choice(self.producers), self.wire.transaction_version >= 2
        versions = [each for each in self.wire.versions("TxnOffsetCommit") if each >= 2 and (each >= 5) == by_itself]
        asked = request(
            "TxnOffsetCommit",
            transactional_id=producer.transactional_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            group_id=group,
            topics=self._rows({place: self._put() for place in places}, {}),
        )
        answer = self.wire.ask(asked, to=node, version=self.rng.choice(versions))
        self._must_all_be(answer, places, ELSEWHERE, f"{group}, which node {node} does not coordinate")

    def _delete_at(self, group, node, places):
        rows = [{"name": topic, "partitions": [{"partition_index": index}]} for topic, index in places[:1]]
        answer = self.wire.ask(request("OffsetDelete", group_id=group, topics=rows), to=node)
        codes = [part.error_code for row in answer.struct.topics for part in row.partitions]
        code = answer.struct.error_code
        answer.must(
            code in ELSEWHERE and 0 not in codes, f"the error codes are {code} and {codes}; node {node} is not it"
        )

    def _deletion_at(self, group, node, places):
        answer = self.wire.ask(request("DeleteGroups", groups_names=[group]), to=node)
        found = [(row.group_id, row.error_code) for row in answer.struct.results]
        right = [name for name, _ in found] == [group] and found[0][1] in ELSEWHERE
        answer.must(right, f"it says {found}; node {node} does not coordinate {group}", "results")

    def _beat_at(self, group, node, places):
        member = self.members.get(group)
        if member is None:
            asked = request("DescribeGroups", groups=[group])
            code = self.wire.ask(asked, to=node).struct.groups[0].error_code
        elif self._is_modern(group):
            asked = request("ConsumerGroupHeartbeat", group_id=group, member_id=member.id, member_epoch=member.epoch)
            code = self.wire.ask(asked, to=node).struct.error_code
        else:
            asked = request("Heartbeat", group_id=group, generation_id=member.generation, member_id=member.id)
            code = self.wire.ask(asked, to=node).struct.error_code
        self.wire.must(
            code in ELSEWHERE, f"{asked._api} is answered with {code}; node {node} does not coordinate {group}"
        )

    def _fetch_at(self, group, node, places):
        self._refused_fetch(group, node, places, *self.rng.choice(self.questions()))

    @breaks("prot-019", "cmt-004")
    def must_refuse_every_question(self, group, node):
        """OffsetFetch in each form and version, of a group that another node coordinates."""
        for question in self.questions():
            self._refused_fetch(group, node, self.there(), *question)

    def _refused_fetch(self, group, node, places, version, asked_for, stable):
        answer = self._fetched([group], node, version, {group: asked_for and places}, stable)
        row = answer.struct.groups[0] if version >= SEVERAL_SINCE else answer.struct
        self._must_say_nothing(answer, row, group, places, version)

    @breaks("prot-019", "cmt-004")
    def _must_say_nothing(self, answer, row, group, places, version):
        """An error for the group where the version has one, else for each partition, and no offset of any."""
        shown = as_returned(row, version, self._names() if version >= IDS_SINCE else {})
        codes = [shown.get(place, (0,))[0] for place in places] if version < 2 else [row.error_code]
        answer.must(
            bool(codes) and set(codes) <= set(ELSEWHERE) and all(found[1] == -1 for found in shown.values()),
            f"it says {codes} and {shown} of {group}, which another node coordinates",
        )

    @breaks("cmt-016")
    def must_be_returned_together(self, node):
        """One request for several groups at a drawn node: its own are answered for, and the others are refused."""
        versions = [each for each in self.wire.versions("OffsetFetch") if each >= SEVERAL_SINCE]
        if not versions:
            return
        version, stable = self.rng.choice(versions), self.rng.random() < 0.5
        names = self.rng.sample(self.names, self.rng.randint(2, len(self.names)))
        places = {group: self.rng.choice((None, self.there(), self.there()[1:])) for group in names}
        stale = [one for one in names if self._is_modern(one) and version >= MEMBERS_SINCE and self.rng.random() < 0.3]

        own = [name for name in names if self.wire.coordinator(name) == node]
        drawn = [name for name in own if self.rng.random() < 0.5 and self.force[name]]
        pending = [self._again(name) for name in drawn if self.buries or not stable]

        def settled():
            answer = self._fetched(names, node, version, places, stable, stale)
            rows = {row.group_id: row for row in answer.struct.groups}
            own = [name for name in names if self.wire.coordinator(name) == node]
            if any(name in rows and rows[name].error_code in BUSY for name in own):
                self._look_up(own)
                return None
            return answer, rows, own

        answer, rows, own = self.wire.until(settled, within=WITHIN_S, what="the coordinator is settled")
        for each in pending:
            each.must_succeed()
        named = [row.group_id for row in answer.struct.groups]
        answer.must(sorted(named) == sorted(names), f"it has rows for {named}; it was asked for {names}", "groups")
        for group in names:
            if group not in own:
                self._must_say_nothing(answer, rows[group], group, [], version)
            elif group in stale:
                code = rows[group].error_code
                answer.must(code == errors.STALE_MEMBER_EPOCH, f"of an epoch to come of {group} it says {code}")
            else:
                with self._broken(group, stable):
                    self._must_be(answer, rows[group], group, version, places[group], stable)

    def _look_up(self, groups):
        for group in groups:
            self.wire.forget_coordinator(group)

    def _fetched(self, names, node, version, places, stable, stale=()):
        rows = []
        for group in names:
            topics = None if places[group] is None else self._named(places[group], version >= SEVERAL_SINCE)
            rows.append({"group_id": group, "topics": topics})
            if group in stale:
                rows[-1] |= {"member_id": self.members[group].id, "member_epoch": self.members[group].epoch + 1}
        form = {"groups": rows} if version >= SEVERAL_SINCE else rows[0]
        return self.wire.ask(request("OffsetFetch", require_stable=stable, **form), to=node, version=version)

    def _must_be(self, answer, row, group, version, places, stable):
        found = as_returned(row, version, self._names() if version >= IDS_SINCE else {})
        force = self.force[group]
        unstable = {place for staged in self.staged for one, place in staged if one == group} if stable else ()
        asked_for = force if places is None else places
        wanted = {
            place: (errors.UNSTABLE_OFFSET_COMMIT, -1, -1, "")
            if place in unstable
            else _wanted(force.get(place), version)
            for place in asked_for
        }
        wrong = {place: found.get(place) for place in [*wanted, *found] if found.get(place) != wanted.get(place)}
        right = {place: wanted.get(place) for place in wrong}
        answer.must(
            not row.error_code and not wrong,
            f"{LOOKED_AT} of {group} are {_short(wrong)}; they must be {_short(right)}",
        )

    def _must_all_be(self, answer, places, codes, whose):
        by_id = answer.version >= (10 if answer.asked.request._api == "OffsetCommit" else 6)
        ids = self._names() if by_id else {}
        found = {
            (ids.get(str(row.topic_id)) if by_id else row.name, part.partition_index): part.error_code
            for row in answer.struct.topics
            for part in row.partitions
        }
        right = found.keys() == set(places) and set(found.values()) <= set(codes)
        answer.must(right, f"the error codes are {found}; each of {places} must be refused with {codes}: {whose}")

    @breaks("prot-019")
    def must_be_known_to_all(self):
        """Who coordinates, what each coordinator lists, and each form of each question, asked of every node."""
        nodes = self.coordinators()
        for node in self.wire.nodes:
            for group, coordinator in nodes.items():
                answer = self.wire.find_coordinator(group, to=node)
                row = answer.struct.coordinators[0] if answer.version >= 4 else answer.struct
                answer.must(row.node_id == coordinator, f"node {node} names {row.node_id}; {coordinator} coordinates")
                if node != coordinator:
                    self.must_be_refused_elsewhere(group, node, every=True)
            elsewhere = [group for group, coordinator in nodes.items() if coordinator != node]
            if elsewhere:
                self.must_refuse_every_question(self.rng.choice(elsewhere), node)
            listed = self.wire.list_groups(to=node).must_succeed()
            there = {row.group_id for row in listed.struct.groups}
            wanted = {one for one, at in nodes.items() if at == node and (self.force[one] or one in self.members)}
            wrong = {one for one in nodes if nodes[one] != node or one in self.gone} & there
            with breaks("grp-016", "grp-020"):
                what = f"node {node} lists {wrong} too, and not {wanted - there}"
                listed.must(wanted <= there and not wrong, what, "groups")
            self.must_be_returned_together(node)
        self.must_be_returned_in_every_version()
