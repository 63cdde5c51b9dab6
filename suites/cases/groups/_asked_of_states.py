"""What is asked of groups in each state, by whomever in whichever version, and what must be answered."""

from brokertrial.suites.cases.groups._living import LONG_MS
from brokertrial.suites.cases.groups._states import (
    CLASSIC,
    COMPLETING,
    CONSUMER,
    EMPTY,
    MODERN,
    OPAQUE,
    PREPARING,
    STABLE,
)
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire import errors
from brokertrial.wire.messages import request

UNKNOWN, STALE, FENCED = errors.UNKNOWN_MEMBER_ID, errors.ILLEGAL_GENERATION, errors.FENCED_INSTANCE_ID
CALLED, ABSENT, INCONSISTENT = (
    errors.REBALANCE_IN_PROGRESS,
    errors.GROUP_ID_NOT_FOUND,
    errors.INCONSISTENT_GROUP_PROTOCOL,
)
REFUSED = {
    FENCED: "grp-015", CALLED: "grp-027", INCONSISTENT: "grp-008", errors.MEMBER_ID_REQUIRED: "grp-005",
    errors.INVALID_SESSION_TIMEOUT: "grp-012",
}  # fmt: skip
"""What is broken where a request is not refused with this, or is without a reason."""
BEYOND = 99
"""A partition that there is not."""
NOT_ASKED = -(2**31)
"""Of the operations that are allowed."""


def is_modern(wire):
    return wire.features.get("group.version", 0) >= 1


class Asker:
    """Sends requests under a drawn identity: a member, a former member, an unknown id or none, with an instance and a
    generation.
    """

    def __init__(self, wire, rng, topics, groups, producer):
        self.wire, self.rng, self.groups, self.producer = wire, rng, groups, producer
        self.read, self.other, self.free = topics
        self.modern = is_modern(wire)
        """Of the coordinator that came with KIP-848: up to 3.9 an absent group was 22 in OffsetCommit v9 too."""
        self.in_transaction, self.turn = set(), 100

    def step(self, questions):
        """One of them about one of the groups, whose members heartbeat meanwhile."""
        self.stay_alive()
        self.rng.choice(questions)(self, self.rng.choice(self.groups))

    def stay_alive(self):
        for one in self.groups:
            one.stays_alive()

    def version(self, api, least=0, most=99):
        offered = [each for each in self.wire.versions(api) if least <= each <= most]
        return self.rng.choice([*offered, offered[-1], offered[-1], offered[-1]])

    def ask(self, one, asked, version):
        return self.wire.ask(
            asked,
            to=lambda: self.wire.coordinator(one.name),
            version=version,
            retry_on=(errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_COORDINATOR),
            refresh=lambda: self.wire.forget_coordinator(one.name),
        )

    def id_in(self, one, *others):
        return self.rng.choice([*one.instances, *one.instances, *one.gone[-2:], self.wire.name("nobody"), *others])

    def instance_for(self, one, id_):
        """None, its own, that of another, or an unknown one."""
        others = [each for each in one.instances.values() if each]
        return self.rng.choice([None, None, one.instances.get(id_), *others, self.wire.name("nowhere")])

    def generation_of(self, one, id_):
        right = one.epochs.get(id_, one.generation)
        return self.rng.choice([right, right, right, right + 1, -1, 0 if one.kind == CLASSIC else right, right + 7])

    def refusal(self, one, id_, instance):
        """ClassicGroup.validateMember"""
        if instance is not None:
            holder = next((each for each, held in one.instances.items() if held == instance), None)
            if holder != id_:
                return UNKNOWN if holder is None else FENCED
        return errors.NONE if id_ in one.instances else UNKNOWN


def _must_be(answer, one, code, *, who, broken=None):
    found = answer.error
    said = f"of a group that is {one.what}, {who} is answered {found}; it must be {code}"
    with breaks(broken or REFUSED.get(code or found, "grp-009")):
        answer.must(found == code, said, "error_code")


# -- members


def heartbeats(asker, one):
    version, id_ = asker.version("Heartbeat"), asker.id_in(one, "")
    instance = asker.instance_for(one, id_) if version >= 3 and one.kind != MODERN else None
    generation = asker.generation_of(one, id_)
    asked = request("Heartbeat", group_id=one.name, member_id=id_, group_instance_id=instance, generation_id=generation)
    code = _of_classic(asker, one, id_, instance, generation)
    if code == errors.NONE and one.state == PREPARING:
        code = CALLED
    answer, broken = asker.ask(one, asked, version), "grp-010" if code == CALLED else None
    _must_be(answer, one, code, who=f"Heartbeat of {(id_, instance, generation)}", broken=broken)


def _of_classic(asker, one, id_, instance, generation):
    if one.kind != CLASSIC:
        return UNKNOWN
    return asker.refusal(one, id_, instance) or (STALE if generation != one.generation else errors.NONE)


def syncs(asker, one):
    version, id_ = asker.version("SyncGroup"), asker.id_in(one, "")
    instance = asker.instance_for(one, id_) if version >= 3 and one.kind != MODERN else None
    generation = asker.generation_of(one, id_)
    type_, name = (asker.rng.choice([right, right, right, "other", None]) for right in (one.type, "p"))
    code = _of_classic(asker, one, id_, instance, generation)
    named = version < 5 or (type_ is not None and name is not None)
    fits = version < 5 or (type_, name) == (one.type, "p")
    if not named or (code == errors.NONE and not fits):
        code = INCONSISTENT
    elif code == errors.NONE and one.state == COMPLETING:
        return
    elif code == errors.NONE and one.state == PREPARING:
        code = CALLED
    asked = request(
        "SyncGroup", group_id=one.name, member_id=id_, group_instance_id=instance, generation_id=generation,
        protocol_type=type_, protocol_name=name, assignments=[{"member_id": id_, "assignment": b"not to be taken"}],
    )  # fmt: skip
    answer = asker.ask(one, asked, version)
    _must_be(answer, one, code, who=f"SyncGroup v{version} of {(id_, instance, generation, type_, name)}")
    given = one.given.get(id_, b"") if code == errors.NONE else b""
    with breaks("grp-007"):
        answer.must_have("assignment", given)


def joins(asker, one):
    """Only such as must be refused: who joins is in it."""
    rng, version = asker.rng, asker.version("JoinGroup")
    kind = rng.choice(["stranger", "stranger", "protocol", "type", "nothing", "session", "no id"])
    id_, type_, names, session_ms, instance = asker.id_in(one), one.type, ["p"], LONG_MS, None
    if one.kind == MODERN:
        if one.state == EMPTY:
            return
        id_, type_, code = "", OPAQUE, INCONSISTENT
    elif kind == "session":
        session_ms, code = rng.choice([0, -1, 2**31 - 1]), errors.INVALID_SESSION_TIMEOUT
    elif kind == "no id" and version >= 4 and one.kind == CLASSIC and one.members:
        id_, code = "", errors.MEMBER_ID_REQUIRED
    elif one.kind is None or (kind in ("stranger", "no id") and one.state == EMPTY):
        code = UNKNOWN
    elif kind in ("stranger", "no id"):
        instance = asker.instance_for(one, id_) if version >= 5 else None
        code = asker.refusal(one, id_, instance)
        if code == errors.NONE:
            return
    elif one.state == EMPTY:
        names, type_ = rng.choice([([], one.type), (["p"], "")])
        id_, code = rng.choice([id_, ""]), INCONSISTENT
    else:
        id_, code = rng.choice([id_, ""]), INCONSISTENT
        names, type_ = {"protocol": (["q"], type_), "type": (["p"], "other"), "nothing": ([], type_)}[kind]
    asked = request(
        "JoinGroup", group_id=one.name, member_id=id_, group_instance_id=instance, protocol_type=type_,
        session_timeout_ms=session_ms, rebalance_timeout_ms=LONG_MS,
        protocols=[{"name": name, "metadata": b""} for name in names],
    )  # fmt: skip
    answer = asker.ask(one, asked, version)
    _must_be(answer, one, code, who=f"JoinGroup v{version} of {(id_, instance, type_, names, session_ms)}")
    response = answer.struct
    returned_id = id_ if code != errors.MEMBER_ID_REQUIRED or response.member_id == "" else response.member_id
    none = None if version >= 7 else ""
    found = (response.member_id, response.generation_id, response.leader, response.protocol_name, len(response.members))
    wanted = (returned_id, -1, "", none, 0)
    with breaks(REFUSED.get(code, "grp-009")):
        answer.must(found == wanted, f"a refusal with {code} returns {found}; it must be {wanted}", "member_id")


@breaks("grp-009", "grp-014")
def leaves(asker, one):
    """Only such as must be refused."""
    version, rows = asker.version("LeaveGroup"), []
    for _ in range(asker.rng.randint(1, 3) if version >= 3 else 1):
        id_ = asker.id_in(one, "") if version >= 3 else asker.id_in(one)
        instance = asker.instance_for(one, id_) if version >= 3 and one.kind != MODERN else None
        code = _of_leaver(asker, one, id_, instance)
        if code:
            rows.append((id_, instance, code))
    if not rows:
        return
    named = [{"member_id": id_, "group_instance_id": instance} for id_, instance, _ in rows]
    asked = request("LeaveGroup", group_id=one.name, member_id=rows[0][0], members=named)
    answer = asker.ask(one, asked, version)
    if version < 3:
        _must_be(answer, one, rows[0][2], who=f"LeaveGroup of {rows[0][0]}")
        return
    found = [(row.member_id, row.group_instance_id, row.error_code) for row in answer.struct.members]
    answer.must(
        found == rows, f"of a group that is {one.what} leavers are answered {found}; it must be {rows}", "members"
    )


def _of_leaver(asker, one, id_, instance):
    if one.kind == MODERN:
        return errors.NONE if id_ in one.instances else UNKNOWN
    if one.kind is None:
        return UNKNOWN
    if id_ == "":
        return errors.NONE if instance and instance in one.instances.values() else UNKNOWN
    return asker.refusal(one, id_, instance)


# -- offsets


def commits(asker, one):
    version, id_ = asker.version("OffsetCommit"), asker.id_in(one, "", "")
    instance = asker.instance_for(one, id_) if version >= 7 and one.kind != MODERN else None
    generation, asker.turn = asker.generation_of(one, id_), asker.turn + 1
    code = _of_commit(asker, one, id_, instance, generation, version)
    if one.kind is None and code == errors.NONE:
        return
    parts = {(asker.read, 0): code} | (
        {(asker.read, BEYOND): errors.UNKNOWN_TOPIC_OR_PARTITION} if asker.rng.random() < 0.3 else {}
    )
    whose = {"member_id": id_, "generation": generation, "instance_id": instance}
    answer = asker.wire.commit_all(one.name, dict.fromkeys(parts, asker.turn), version=version, **whose)
    found = {part.partition_index: part.error_code for row in answer.struct.topics for part in row.partitions}
    who = f"OffsetCommit v{version} of {(id_, instance, generation)}"
    wanted = {index: error for (_, index), error in parts.items()}
    said = f"of a group that is {one.what}, {who} is answered {found}; it must be {wanted}"
    with breaks(_of_committer(one, id_, generation, code)):
        answer.must(found == wanted, said, "topics")
    if code == errors.NONE:
        one.offset = asker.turn


def stages(asker, one):
    """In a transaction, which is aborted."""
    if one.kind is None and not asker.modern:
        return
    wire, producer = asker.wire, asker.producer
    most = 99 if wire.transaction_version >= 2 else 4
    version, id_ = asker.version("TxnOffsetCommit", 0, most), asker.id_in(one, "", "")
    instance = asker.instance_for(one, id_) if version >= 3 and one.kind != MODERN else None
    generation = asker.generation_of(one, id_) if version >= 3 else -1
    id_ = id_ if version >= 3 else ""
    code = _of_commit(asker, one, id_, instance, generation, version, staged=True)
    if one.kind is None and code == errors.NONE:
        return
    if one.name not in asker.in_transaction:
        wire.add_offsets(producer.transactional_id, producer.id, producer.epoch, one.name).must_succeed()
        asker.in_transaction.add(one.name)
    answer = wire.txn_offset_commit(
        producer.transactional_id, producer.id, producer.epoch, one.name, {(asker.read, 0): 999},
        member_id=id_, generation=generation, instance_id=instance, version=version,
    )  # fmt: skip
    _must_be(answer, one, code, who=f"TxnOffsetCommit v{version} of {(id_, instance, generation)}", broken="txn-015")


def _of_committer(one, id_, generation, code):
    """What is broken where a commit is not answered as its committer must be."""
    if code == CALLED:
        return "cmt-011"
    if not id_ and generation < 0:
        return "cmt-012"
    return "g848-004" if one.kind == MODERN else "grp-009"


def _of_commit(asker, one, id_, instance, generation, version, *, staged=False):
    """The expected code of a plain commit, or of one in a transaction. Error codes that a version does not have are not
    returned in it.
    """
    exact_since = 6 if staged else 9
    if generation < 0 and (one.kind is None or one.state == EMPTY):
        return errors.NONE
    if one.kind is None:
        return ABSENT if version >= exact_since and asker.modern else STALE
    if staged and not id_ and generation < 0 and instance is None:
        return errors.NONE
    if one.kind == MODERN:
        if id_ not in one.instances:
            return UNKNOWN
        if version < 9 and not staged:
            return errors.UNSUPPORTED_VERSION
        other = errors.STALE_MEMBER_EPOCH if version >= exact_since else STALE
        return errors.NONE if generation == one.epochs[id_] else other
    if generation < 0 and not id_ and instance is None:
        return UNKNOWN
    code = asker.refusal(one, id_, instance) or (STALE if generation != one.generation else errors.NONE)
    return CALLED if not code and not staged and one.state == COMPLETING else code


def fetches(asker, one):
    """From v9 on with a member id, or without one; v8 came with Kafka 3.0."""
    if max(asker.wire.versions("OffsetFetch")) < 8:
        return
    version = asker.version("OffsetFetch", 8, 9)
    id_ = asker.rng.choice([None, asker.id_in(one, "")]) if version >= 9 else None
    right = one.epochs.get(id_, 1)
    epoch = -1 if id_ is None else asker.rng.choice([right, right, right + 1, right - 1, -1])
    code = errors.NONE
    if one.kind == MODERN and id_ is not None:
        code = UNKNOWN if id_ not in one.instances else errors.NONE
        code = code or (errors.NONE if epoch == one.epochs[id_] else errors.STALE_MEMBER_EPOCH)
    topics = asker.rng.choice([None, [{"name": asker.read, "partition_indexes": [0]}]])
    asked = request(
        "OffsetFetch", groups=[{"group_id": one.name, "member_id": id_, "member_epoch": epoch, "topics": topics}]
    )
    answer = asker.ask(one, asked, version)
    row = answer.struct.groups[0]
    found = (row.error_code, [part.committed_offset for topic in row.topics for part in topic.partitions])
    offsets = [] if code or (topics is None and one.offset < 0) else [one.offset]
    who = f"OffsetFetch v{version} of {(id_, epoch)}"
    with breaks("cmt-001" if id_ is None else "g848-004"):
        answer.must(found == (code, offsets), f"of a group that is {one.what}, {who} is answered {found}", "groups[0]")


@breaks("cmt-014")
def deletes_offsets(asker, one):
    """Of topics that it may subscribe to; none has an offset of the two that are deleted."""
    answer = asker.wire.delete_offsets(one.name, [(asker.other, 0), (asker.free, 0)])
    code = ABSENT if one.kind is None else errors.NONE
    if one.kind == CLASSIC and one.members and one.type != CONSUMER:
        code = errors.NON_EMPTY_GROUP
    found = (answer.struct.error_code, {row.name: row.partitions[0].error_code for row in answer.struct.topics})
    in_use = errors.GROUP_SUBSCRIBED_TO_TOPIC
    asked = () if code else (asker.other, asker.free)
    wanted = (code, {topic: in_use if one.subscribes(topic) else 0 for topic in asked})
    answer.must(found == wanted, f"OffsetDelete of a group that is {one.what}: {found}; it must be {wanted}", "topics")


# -- the group


def deleted(asker, one):
    if one.kind is None or one.state != EMPTY:
        code = ABSENT if one.kind is None else errors.NON_EMPTY_GROUP
        _must_be(asker.wire.delete_groups(one.name), one, code, who="DeleteGroups", broken="grp-021")


@breaks("grp-020")
def described(asker, one):
    version = asker.version("DescribeGroups")
    wants = version >= 3 and asker.rng.random() < 0.5
    asked = request("DescribeGroups", groups=[one.name], include_authorized_operations=wants)
    answer = asker.ask(one, asked, version)
    row = answer.struct.groups[0]
    there = one.kind == CLASSIC
    if there:
        reported = row.authorized_operations != NOT_ASKED
        answer.must(reported == wants, f"authorized operations reported: {reported}; asked for: {wants}", "groups[0]")
    code = ABSENT if version >= 6 and not there else errors.NONE
    wanted = (code, one.state if there else "Dead", (there and one.state == STABLE and "p") or "")
    found = (row.error_code, row.group_state, row.protocol_data)
    answer.must(found == wanted, f"a group that is {one.what} is described {found}; it must be {wanted}", "groups[0]")


def beats_as_of_the_other_kind(asker, one):
    """Only such as must be refused."""
    if not asker.modern:
        return
    version, id_, epoch = asker.version("ConsumerGroupHeartbeat"), asker.id_in(one), asker.rng.choice([1, 7, -1])
    code = ABSENT
    if one.kind == MODERN:
        code, epoch = (errors.FENCED_MEMBER_EPOCH, one.epochs[id_] + 1) if id_ in one.epochs else (UNKNOWN, epoch)
    asked = request("ConsumerGroupHeartbeat", group_id=one.name, member_id=id_, member_epoch=epoch)
    answer = asker.ask(one, asked, version)
    _must_be(answer, one, code, who=f"ConsumerGroupHeartbeat v{version} of {(id_, epoch)}", broken="g848-003")


@breaks("g848-015")
def described_as_of_the_other_kind(asker, one):
    if not asker.modern:
        return
    answer = asker.ask(
        one, request("ConsumerGroupDescribe", group_ids=[one.name]), asker.version("ConsumerGroupDescribe")
    )
    row = answer.struct.groups[0]
    found = (row.error_code, row.group_state, sorted(each.member_id for each in row.members))
    there = one.kind == MODERN
    wanted = (errors.NONE, one.state, sorted(one.instances)) if there else (ABSENT, "", [])
    answer.must(found == wanted, f"a group that is {one.what} is described {found}; it must be {wanted}", "groups[0]")


QUESTIONS = (
    *[heartbeats] * 3, *[syncs] * 3, *[joins] * 3, *[leaves] * 3, *[commits] * 5, *[stages] * 3, *[fetches] * 4,
    deletes_offsets, deletes_offsets, deleted, described, beats_as_of_the_other_kind, described_as_of_the_other_kind,
)  # fmt: skip
