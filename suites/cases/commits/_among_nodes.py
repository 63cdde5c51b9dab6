"""Groups of every partition of __consumer_offsets, and all that is committed for them, whichever node coordinates."""

from itertools import islice

from brokertrial.suites.cases.commits._asked_among_nodes import ELSEWHERE, AskedGroups
from brokertrial.suites.cases.commits.drawn_over_restarts import BUSY, WITHIN_S
from brokertrial.suites.cases.groups._group_settings import lengthen_sessions
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.coordinator_writes import (
    OFFSETS_TOPIC,
    coordinator_partition,
    make_coordinator_write,
    names_in,
)
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

STAYS = {"session_timeout_ms": 120_000, "rebalance_timeout_ms": 120_000}
NO_GROUP = (errors.GROUP_ID_NOT_FOUND, errors.ILLEGAL_GENERATION)
OUTSIDE, OTHER, OLDER = "outside", "other", "older"


class GroupsAmongNodes(AskedGroups):
    """Two plain groups in each partition of __consumer_offsets, and groups with a member, classic and KIP-848."""

    def __init__(self, wire, topics, rng):
        super().__init__(wire, topics, rng)
        self.joined = 0
        wire.coordinator(self.names[0])
        (shown,) = wire.metadata(OFFSETS_TOPIC, to=wire.controller()).struct.topics
        self.count = len(shown.partitions)
        if self.count < 2 or any(len(row.replica_nodes) < len(wire.nodes) for row in shown.partitions):
            wire.not_applicable(f"{OFFSETS_TOPIC} does not have several partitions on each node")
        self.names = [name for index in range(self.count) for name in islice(names_in(wire, index, self.count), 2)]
        self.names += [wire.name("m"), wire.name("m")]
        self.force = {group: {} for group in self.names}
        self.joins(self.names[-2])
        self._modern(self.names[-1])
        rng.shuffle(self.names)

    @breaks("grp-016")
    def joins(self, group):
        """A classic member, which the group's offsets are for now."""
        self.gone.discard(group)
        self.joined += 1
        member = self.wire.member(group, f"of {group} {self.joined}", **STAYS)
        member.join().must_succeed()
        member.sync({member.id: b"all"}).must_bring(b"all")
        self.members[group] = member

    @breaks("grp-016")
    def leaves(self, group):
        """The last member is gone, and the offsets stay."""
        self.members.pop(group).leave().must_succeed()

    @breaks("grp-016")
    def _modern(self, group):
        if not self.wire.versions("ConsumerGroupHeartbeat") or not self.wire.features.get("group.version", 0):
            return
        lengthen_sessions(self.wire, group)
        member = ConsumerGroupMember(self.wire, group, self.topics[0])
        member.beat().must_succeed()
        self.members[group] = member

    def partition_of(self, group):
        """The partition of __consumer_offsets in which the group lives."""
        return coordinator_partition(group, self.count)

    def plain(self):
        """Groups that have no member."""
        return [group for group in self.names if group not in self.members]

    # what changes

    def commit(self, group, places=None):
        """As its member, where it has one."""
        self.gone.discard(group)
        version = self._commit_version(group)
        puts, refused = self.drawn((-1, 0, 7, 2**31 - 1) if version >= 6 else (-1,), places)
        self.wire.will_make(self.wire.made_groups, group)
        asked = request("OffsetCommit", group_id=group, topics=self._rows(puts, refused), **self._as_member(group))
        with breaks("cmt-001" if group in self.members else "cmt-012"):
            self._ask(group, asked, version, puts, refused)
        self.force[group] |= puts

    @breaks("txn-012")
    def stage(self, number, group, places=None):
        """Of a group that is there from now on."""
        self.gone.discard(group)
        super().stage(number, group, places)

    def refused(self, group):
        """Who is no member, or of another generation, commits nothing."""
        if group in self.members:
            for each in (OUTSIDE, OTHER, OLDER):
                self._refused(group, each)
        else:
            self._refused(group, OTHER)

    @breaks("cmt-012")
    def _refused(self, group, which):
        version, places = self._commit_version(group), self.rng.sample(self.there(), 2)
        who = {"member_id": "other", "generation_id_or_member_epoch": 1}
        codes: tuple[int, ...] = (errors.UNKNOWN_MEMBER_ID,)
        if which == OLDER:
            who, codes = self._as_member(group, wrong=1), (errors.ILLEGAL_GENERATION, errors.STALE_MEMBER_EPOCH)
        elif which == OUTSIDE:
            who = {}
        elif group not in self.members:
            codes = (*codes, *NO_GROUP)
        rows = self._rows({place: self._put() for place in places}, {})
        asked = request("OffsetCommit", group_id=group, topics=rows, **who)
        answer = self.wire.ask(
            asked,
            to=lambda: self.wire.coordinator(group),
            version=version,
            retry_on=BUSY,
            refresh=lambda: self.wire.forget_coordinator(group),
        )
        self._must_all_be(answer, places, codes, f"{group}, which it may not")

    @breaks("txn-012")
    def begun_anew(self, number):
        """A producer begins anew, which aborts what it has staged."""
        self.producers[number].start()
        self.staged[number] = {}
        self.wire.eventually(self.must_be_returned_either_way, within=WITHIN_S)

    @breaks("grp-016")
    def beat(self):
        """Each member is a member still."""
        for group, member in self.members.items():
            (member.beat if self._is_modern(group) else member.heartbeat)().must_succeed()

    @breaks("grp-021")
    def deleted(self, group):
        """DeleteGroups that names others too: what may not go, or is coordinated elsewhere, stays."""
        if any(group == one for staged in self.staged for one, _ in staged) and not (self.buries and self.force[group]):
            return
        node = self.wire.coordinator(group)
        other = [one for one in self.names if one in self.members or self.wire.coordinator(one) != node]
        names = [group, *self.rng.sample(other, min(len(other), self.rng.randrange(3)))]
        self.rng.shuffle(names)
        wanted: dict[str, tuple[int, ...]] = {
            name: (errors.NON_EMPTY_GROUP,) if self.wire.coordinator(name) == node else ELSEWHERE for name in names
        }
        wanted[group] = (errors.NONE,) if self.force[group] else (errors.NONE, errors.GROUP_ID_NOT_FOUND)

        def settled():
            answer = self.wire.ask(request("DeleteGroups", groups_names=names), to=node)
            found = {row.group_id: row.error_code for row in answer.struct.results}
            if found.get(group) in BUSY:
                wanted[group] = (errors.NONE, errors.GROUP_ID_NOT_FOUND)
                return None
            return found, answer

        found, answer = self.wire.until(settled, within=WITHIN_S, what="the coordinator is settled")
        right = found.keys() == wanted.keys() and all(found[name] in codes for name, codes in wanted.items())
        answer.must(right, f"the error codes are {found}; they must be {wanted}", "results")
        self.forget(group, self.there())
        self.gone.add(group)
        self._is_kept(group)

    @breaks("cmt-014")
    def delete(self, group, places, buries):
        super().delete(group, places, buries)
        self._is_kept(group)

    def _is_kept(self, group):
        """The coordinator before 4.0 does not wait until the others have what it deletes, and it may come back with the
        next one (GroupMetadataManager.cleanupGroupMetadata, requiredAcks = 0); what it writes then, it waits for."""
        if not self.buries:
            make_coordinator_write(self.wire, group)
