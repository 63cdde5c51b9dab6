"""What is reported of groups in each state: in lists, in descriptions and in answers for several at once."""

from typing import Any

from brokertrial.suites.cases.groups._asked_of_states import ABSENT, NOT_ASKED, UNKNOWN, Asker
from brokertrial.suites.cases.groups._states import CLASSIC, EMPTY, MODERN, PREPARING, STABLE
from brokertrial.wire import errors
from brokertrial.wire.messages import request

STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Assigning", "Reconciling", "Dead")
SHARE = 2
TYPES = ("classic", "consumer", "share")
CASES = (str, str.lower, str.upper, str.swapcase)
WITHIN_S = 5
"""Until a node that has just taken groups over, or given them up, is known."""


class ReportAsker(Asker):
    """Asks for several groups that have one coordinator."""

    def __init__(self, wire, rng, topics, groups):
        super().__init__(wire, rng, topics, groups, None)
        self.beyond = len(wire.known_partitions(self.read))
        self.client: Any = None
        """Who the members are, as the first of them is described."""

    def some(self, most=5):
        """Groups of one coordinator, some of them twice, one by an unknown id, in a drawn order."""
        first = self.rng.choice(self.groups)
        beside = [each for each in self.groups if self.wire.coordinator(each.name) == self.wire.coordinator(first.name)]
        chosen = self.rng.sample(beside, self.rng.randint(1, min(most, len(beside))))
        return [*chosen, *([chosen[0]] if self.rng.random() < 0.3 else [])]

    def asked_of(self, groups, asked, version, judge):
        """The answer of their coordinator; where that moves meanwhile it is asked again."""

        def check():
            self.stay_alive()
            for one in groups:
                self.wire.forget_coordinator(one.name)
            if len({self.wire.coordinator(one.name) for one in groups}) == 1:
                judge(self.ask(groups[0], asked, version))

        self.wire.eventually(check, within=WITHIN_S)


# -- lists


def listed(asker, one):
    """Each group once, in its state, where the filters let it through, whatever else they name in whichever case."""
    version, rng = asker.version("ListGroups"), asker.rng
    spelt = (lambda name: rng.choice(CASES)(name)) if asker.modern else str
    states = [spelt(name) for name in rng.sample((*STATES, "Nope"), rng.choice((0, 0, 1, 1, 2, 4)))]
    types = [spelt(name) for name in rng.sample((*TYPES, "nope"), rng.choice((0, 0, 1, 2)))]
    states, types = states if version >= 4 else [], types if version >= 5 else []
    node = asker.wire.coordinator(one.name)
    beside = [each for each in asker.groups if asker.wire.coordinator(each.name) == node]
    names = {each.name for each in beside}

    def judge(answer):
        found = sorted(_row(each) for each in answer.must_succeed().struct.groups if each.group_id in names)
        wanted = sorted(_listed_as(each, version) for each in beside if _goes_through(each, states, types))
        answer.must(found == wanted, f"v{version} lists {found} for {states} {types}; it must list {wanted}", "groups")

    asker.asked_of(beside, request("ListGroups", states_filter=states, types_filter=types), version, judge)


def _row(row):
    return (row.group_id, row.protocol_type, row.group_state, row.group_type)


def _listed_as(one, version):
    kind = MODERN if one.kind == MODERN else CLASSIC
    return (one.name, one.listed_type, one.state if version >= 4 else "", kind if version >= 5 else "")


def _goes_through(one, states, types):
    in_states = not states or one.state.lower() in map(str.lower, states)
    return one.kind is not None and in_states and (not types or one.kind in map(str.lower, types))


# -- descriptions


def described(asker, one):
    """Classic groups, one row for each name: state, protocol, what each member brought and was given, who it is."""
    version, groups = asker.version("DescribeGroups"), asker.some()
    wants = version >= 3 and asker.rng.random() < 0.5
    asked = request("DescribeGroups", groups=[each.name for each in groups], include_authorized_operations=wants)

    def judge(answer):
        rows = sorted(answer.struct.groups, key=lambda row: row.group_id)
        _must_be_those(answer, rows, groups)
        for row, each in zip(rows, sorted(groups, key=lambda each: each.name), strict=True):
            there = each.kind == CLASSIC
            code = ABSENT if version >= 6 and not there else errors.NONE
            found = (row.error_code, row.group_state, row.protocol_type, row.protocol_data)
            wanted = (code, each.state if there else "Dead", *_protocol(each))
            answer.must(found == wanted, f"{each.what} is described {found}; it must be {wanted}", "groups")
            _must_report_what_is_allowed(answer, row, wants and not code)
            _must_have_members(answer, asker, each, row, version)

    asker.asked_of(groups, asked, version, judge)


def _protocol(one):
    if one.kind != CLASSIC:
        return ("", "")
    return (one.listed_type, "p" if one.state == STABLE else "")


def _must_have_members(answer, asker, one, row, version):
    """Those whose ids are known; one that waits for its first generation has not learned its id."""
    there = one.kind == CLASSIC
    count = len(one.instances) + (one.state == PREPARING) if there else 0
    answer.must(len(row.members) == count, f"{one.what} has {len(row.members)} members; it has {count}", "groups")
    for each in row.members:
        if each.member_id not in one.instances and one.state == PREPARING:
            continue
        bytes_ = one.bytes_of(each.member_id) if one.state == STABLE else b""
        found = (each.group_instance_id, bytes(each.member_metadata))
        instance = one.instances.get(each.member_id, "no member") if version >= 4 else None
        wanted = (instance, bytes_)
        answer.must(found == wanted, f"a member of {one.what} is {found}; it must be {wanted}", "groups")
        given = (one.given.get(each.member_id, b""), b"")  # up to 3.9 only stable groups have it
        was_given = bytes(each.member_assignment) in given[: 1 if one.state == STABLE else 2]
        answer.must(was_given, f"a member of {one.what} has {each.member_assignment}, not {given[0]}", "groups")
        _must_come_from_here(answer, asker, each)


def described_as_of_the_other_kind(asker, one):
    """KIP-848 groups: epochs, assignor, what each member reads, owns and should own."""
    if not asker.modern:
        return
    version, groups, wants = asker.version("ConsumerGroupDescribe"), asker.some(), asker.rng.random() < 0.5
    names, nameless = [each.name for each in groups], asker.rng.random() < 0.2
    names = [*names, ""] if nameless else names
    asked = request("ConsumerGroupDescribe", group_ids=names, include_authorized_operations=wants)

    def judge(answer):
        rows = sorted(answer.struct.groups, key=lambda row: row.group_id)
        if nameless:
            code = rows.pop(0).error_code
            answer.must(code == errors.INVALID_GROUP_ID, f"the empty id is answered {code}; it must be 24", "groups")
        _must_be_those(answer, rows, groups)
        for row, each in zip(rows, sorted(groups, key=lambda each: each.name), strict=True):
            there = each.kind == MODERN
            found = (row.error_code, row.group_state, row.assignor_name)
            wanted = (errors.NONE, each.state, "uniform") if there else (ABSENT, "", "")
            answer.must(found == wanted, f"{each.what} is described {found}; it must be {wanted}", "groups")
            _must_report_what_is_allowed(answer, row, wants and there)
            assigned = row.group_epoch == row.assignment_epoch or not row.members
            answer.must(assigned, f"{each.what} is not assigned", "groups")
            members = {_modern_row(member, version) for member in row.members}
            must = {_modern_member(member, version) for member in each.members} if there else set()
            answer.must(members == must, f"members of {each.what} are {members}; they must be {must}", "groups")
            for member in row.members:
                _must_come_from_here(answer, asker, member)

    asker.asked_of(groups, asked, version, judge)


def _modern_row(row, version):
    said = (row.instance_id, row.rack_id, tuple(row.subscribed_topic_names), row.subscribed_topic_regex or "")
    parts = (_parts(row.assignment), _parts(row.target_assignment))
    return (row.member_id, row.member_epoch, *said, *parts, row.member_type if version >= 1 else 1)


def _modern_member(member, version):
    owned = tuple(sorted(member.owned))
    return (member.id, member.epoch, None, None, tuple(member.topics), "", owned, owned, 1)


def _parts(assignment):
    return tuple(sorted((row.topic_name, n) for row in assignment.topic_partitions for n in row.partitions))


def _must_be_those(answer, rows, groups):
    found, wanted = [row.group_id for row in rows], sorted(each.name for each in groups)
    answer.must(found == wanted, f"it describes {found}; it was asked for {wanted}", "groups")


def _must_report_what_is_allowed(answer, row, wanted):
    reported = row.authorized_operations != NOT_ASKED
    answer.must(reported == wanted, f"authorized operations reported: {reported}; asked for: {wanted}", "groups")


def _must_come_from_here(answer, asker, row):
    """All members are of one client, at one address."""
    is_ours = row.client_id in (asker.wire.case_context.client_id, "") and "/" in row.client_host
    asker.client = asker.client or (row.client_id, row.client_host)
    same = (row.client_id, row.client_host) == asker.client
    answer.must(is_ours and same, f"a member is {row.client_id} at {row.client_host}", "groups")


# -- offsets


def fetches(asker, one):
    """Of several groups at once, each by whom and for what is drawn: what is wrong with one is reported of it alone."""
    version, groups = asker.version("OffsetFetch", 8), asker.some()
    rows, wanted = [], []
    ids = {str(asker.wire.topic_id(topic)): topic for topic in (asker.read, asker.other, asker.free)}
    for each in groups:
        row, must = _asks_of(asker, each, version)
        rows.append(row)
        wanted.append(must)
    asked = request("OffsetFetch", groups=rows, require_stable=asker.rng.random() < 0.5)

    def judge(answer):
        found = sorted(_offsets_of(row, ids) for row in answer.struct.groups)
        answer.must(found == sorted(wanted), f"it returns {found}; it must return {sorted(wanted)}", "groups")

    asker.asked_of(groups, asked, version, judge)


def _asks_of(asker, one, version):
    rng = asker.rng
    id_ = rng.choice([None, None, asker.id_in(one, "")]) if version >= 9 else None
    right = one.epochs.get(id_, 1)
    epoch = -1 if id_ is None else rng.choice([right, right, right + 1, right - 1, -1])
    code = errors.NONE
    if one.kind == MODERN and id_ is not None:
        code = UNKNOWN if id_ not in one.instances else errors.NONE
        code = code or (errors.NONE if epoch == one.epochs[id_] else errors.STALE_MEMBER_EPOCH)
    named: Any = rng.choice(
        [None, [], [(asker.read, 0)], [(asker.other, 0), (asker.read, 0)], [(asker.free, asker.beyond)]]
    )
    topics: Any = named and [_named(asker.wire, topic, version) | {"partition_indexes": [n]} for topic, n in named]
    offsets = {asker.read: one.offset} if one.offset >= 0 else {}
    places = [(topic, 0) for topic in offsets] if named is None else named
    must = [] if code else sorted((topic, n, offsets.get(topic, -1), 0) for topic, n in places)
    row = {"group_id": one.name, "member_id": id_, "member_epoch": epoch, "topics": topics}
    return row, (one.name, code, must)


def _named(wire, topic, version):
    return {"topic_id": wire.topic_id(topic)} if version >= 10 else {"name": topic}


def _offsets_of(row, ids):
    parts = [(topic.name or ids.get(str(topic.topic_id)), part) for topic in row.topics for part in topic.partitions]
    offsets = sorted((name, part.partition_index, part.committed_offset, part.error_code) for name, part in parts)
    return (row.group_id, row.error_code, offsets)


def must_keep_what_is_read(asker, one):
    """OffsetDelete of a subscribed topic is refused for it alone, and so is an unknown topic."""
    if one.kind is None or one.state == EMPTY or not one.subscribes(asker.read):
        return
    unknown, in_use = errors.UNKNOWN_TOPIC_OR_PARTITION, errors.GROUP_SUBSCRIBED_TO_TOPIC
    wanted = {(asker.read, 0): in_use, (asker.read, asker.beyond): unknown, (asker.wire.name("nowhere"), 0): unknown}
    if not one.subscribes(asker.free):
        wanted[asker.free, 0] = errors.NONE
    places = asker.rng.sample(list(wanted), asker.rng.randint(1, len(wanted)))

    def judge(answer):
        rows = [(row.name, part) for row in answer.struct.topics for part in row.partitions]
        found = {(name, part.partition_index): part.error_code for name, part in rows}
        must = {place: wanted[place] for place in places}
        answer.must(found == must, f"OffsetDelete of {one.what} returns {found}; it must return {must}", "topics")

    topics = [
        {"name": topic, "partitions": [{"partition_index": n} for name, n in places if name == topic]}
        for topic in dict.fromkeys(topic for topic, _ in places)
    ]
    asker.asked_of([one], request("OffsetDelete", group_id=one.name, topics=topics), 0, judge)


# -- coordinators


def coordinators(asker, one):
    """Any key has one, the empty one too, as often as it is named; of share groups, and of no type, none has (42)."""
    version, wire, rng = asker.version("FindCoordinator"), asker.wire, asker.rng
    keys = rng.sample([one.name, one.name, wire.name("k"), "", "é" * 3], rng.randint(0 if version >= 4 else 1, 4))
    type_ = rng.choice([0, 0, 0, 1, 2, 7, -1]) if version >= 1 else 0
    keys = keys if version >= 4 else keys[:1]
    fields = {"coordinator_keys": keys} if version >= 4 else {"key": keys[0]}
    asked = request("FindCoordinator", key_type=type_, **fields)
    node = rng.choice(wire.nodes)

    def judge():
        answer = wire.ask(asked, to=node, version=version)
        rows = answer.struct.coordinators if version >= 4 else [answer.struct]
        answered_keys = [row.key for row in rows] if version >= 4 else keys
        answer.must(answered_keys == keys, f"it answers for {answered_keys}; it was asked for {keys}", "coordinators")
        for key, row in zip(keys, rows, strict=True):
            named = row.node_id in wire.nodes and row.host and row.port > 0
            is_right = not row.error_code and named if type_ in (0, 1) else _is_nowhere(row, type_)
            answer.must(is_right, f"v{version} of type {type_} and key {key!r} returns {row}", "coordinators")
            if type_ == 0 and key == one.name:
                is_one = row.node_id == wire.coordinator(key)
                answer.must(is_one, f"it names {row.node_id}, and another answers for the group", "coordinators")

    def again():
        wire.forget_coordinator(one.name)
        judge()

    wire.eventually(again, within=30)


def _is_nowhere(row, type_):
    """Of a share group 3.9 answers that there is no coordinator yet."""
    codes = (errors.INVALID_REQUEST, *((errors.COORDINATOR_NOT_AVAILABLE,) if type_ == SHARE else ()))
    return row.error_code in codes and (row.node_id, row.host, row.port) == (-1, "", -1)


QUESTIONS = (
    *[listed] * 5, *[described] * 4, *[described_as_of_the_other_kind] * 3, *[fetches] * 4, *[coordinators] * 3,
    *[must_keep_what_is_read] * 2,
)  # fmt: skip
