"""Groups whose records are larger than what the log of their coordinator takes: they are as it was answered."""

import struct
from contextlib import contextmanager

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import LONGEST_MS, lengthen_sessions
from brokertrial.suites.cases.groups._old_clients import RANGE, subscription
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.suites.probe.classic_member import join_together
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import coordinator_partition, names_in
from brokertrial.suites.probe.internal_topics import partitions_shown
from brokertrial.wire import errors
from brokertrial.wire.messages import request

OFFSETS, LARGEST, TAKES, EACH = "__consumer_offsets", "max.message.bytes", 10_000, 6_000
BEAT, POLICY, FALLS_BACK = "ConsumerGroupHeartbeat", "group.consumer.migration.policy", ("bidirectional", "downgrade")
MEMBERS, WITHIN_S, LONG_MS, ALMOST_MS = 3, 30, 120_000, LONGEST_MS * 4 // 5
CALLED = (errors.NONE, errors.REBALANCE_IN_PROGRESS)
STABLE, COMMITTED = "Stable", 7


@case(
    "groups/records-too-large-for-their-log",
    guarantees=["grp-016", "g848-011", "g848-014", "grp-020"],
    apis={
        "JoinGroup": 5,
        "SyncGroup": 3,
        "Heartbeat": 3,
        "DescribeGroups": 4,
        "IncrementalAlterConfigs": 0,
        "DescribeConfigs": 1,
    },
    needs=["topic-settings", "partitions", "kill", "terminate", "restart"],
    detects=["B203"],
)
def a_large_group_is_as_it_was_answered(wire, nodes, topic_of):
    """Where the record of a group is larger than max.message.bytes of its coordinator's log, what the group is said to
    be MUST agree with the answer to the request that changed it, at once, after the coordinator was stopped and after
    it was killed: the group is changed if the request was taken (compressed the record may fit), and as before if it
    was refused. Its committed offset MUST be kept. Once the limit is gone the members MUST come together again.

    Three classic members bring 6 kB each, the limit is 10 kB: the SyncGroup of their leader, and, where the migration
    policy allows it, the leave of the last member of KIP-848, with which theirs becomes a classic group.
    """
    topic = topic_of(partitions=MEMBERS + 1)
    with wire.part("a generation"):
        _generation(wire, nodes, topic)
    if wire.versions(BEAT) and (wire.setting(POLICY) or "").lower() in FALLS_BACK:
        with wire.part("a group that becomes classic"):
            _becomes_classic(wire, nodes, topic)


def _generation(wire, nodes, topic):
    group = wire.name("g")
    members = _classic_members(wire, group, topic)
    wire.commit(group, topic, offset=COMMITTED).must_succeed()
    leader = join_together(*members)
    given = {member.id: member.name.encode() for member in members}
    with _small_batches(wire):
        answers = [member.sync(given if member is leader else None, wait=False) for member in members]
        taken = [_taken(answer) for answer in answers]
        wire.must(len(set(taken)) == 1, f"of one generation some are taken and some not: {taken}", *answers)
        look = _must_be_stable if taken[0] else _must_not_be_stable
        _over_restarts(wire, nodes, group, topic, lambda: look(wire, group, members, given))
    _come_together(wire, topic, members)


def _becomes_classic(wire, nodes, topic):
    group = wire.name("g")
    wire.commit(group, topic, offset=COMMITTED).must_succeed()
    lengthen_sessions(wire, group)
    modern, old = ConsumerGroupMember(wire, group, topic), _classic_members(wire, group, topic)
    modern.beat().must_succeed()
    reconcile(modern, partitions=MEMBERS + 1)
    for member in old:
        member.join().must_succeed()
    wire.until(lambda: _shared(modern, old), within=WITHIN_S, what="each of four members has a partition")
    with _small_batches(wire):
        left = _taken(modern.leave())
        look = _must_be_classic if left else _must_be_as_before
        _over_restarts(wire, nodes, group, topic, lambda: look(wire, group, modern, old))
    if not left:  # the coordinator may hear a little later that the limit is gone
        wire.eventually(lambda: modern.leave().must_succeed(), within=WITHIN_S)
    _come_together(wire, topic, old)
    _must_be_listed(wire, group, "classic")


def _over_restarts(wire, nodes, group, topic, look):
    partitions = partitions_shown(wire, OFFSETS)
    beside = next(names_in(wire, coordinator_partition(group, partitions), partitions))
    for name, act in (("at once", None), ("after a stop", nodes.stop_and_start), ("after a crash", nodes.crash)):
        began_ms = wire.now_ms()
        if act is not None:
            act(nodes.of_group(group))
        if wire.now_ms() > began_ms + ALMOST_MS:
            wire.unclear("members that were not heard for so long may have been expelled", "slow-target")
        with wire.part(name):
            wire.eventually(lambda: _after_a_write(wire, group, beside, topic, look), within=WITHIN_S)
            wire.committed(group, topic).must_be(COMMITTED)


def _after_a_write(wire, group, beside, topic, look):
    """Kafka lists a group twice between a write that failed and the next one; and see make_coordinator_write."""
    wire.commit(beside, topic, offset=1).must_succeed()
    wire.forget_coordinator(group)
    look()


def _must_be_stable(wire, group, members, given):
    answer = wire.describe_group(group).must_succeed()
    row = answer.struct.groups[0]
    found = {each.member_id: bytes(each.member_assignment) for each in row.members}
    answer.must((row.group_state, found) == (STABLE, given), f"it is {row.group_state}, of {found}; all was taken")
    for member in members:
        member.heartbeat().must_succeed()
        member.sync().must_bring(given[member.id])


def _must_not_be_stable(wire, group, *_):
    answer = wire.describe_group(group).must_succeed()
    state = answer.struct.groups[0].group_state
    answer.must(state != STABLE, f"the group is {state}; its assignment was refused", "groups[0].group_state")


def _must_be_classic(wire, group, _, old):
    """Without the one that left; the others are of it, and may be called to join again."""
    _must_be_listed(wire, group, "classic")
    answer = wire.describe_group(group).must_succeed()
    found, wanted = {each.member_id for each in answer.struct.groups[0].members}, {member.id for member in old}
    answer.must(found == wanted, f"its members are {sorted(found)}; they must be {sorted(wanted)}", "groups[0].members")
    for member in old:
        beat = member.heartbeat()
        beat.must(beat.error in CALLED, f"a member that stays is answered {errors.name(beat.error)}", "error_code")


def _must_be_as_before(wire, group, modern, old):
    _must_be_listed(wire, group, "consumer")
    asked = request("ConsumerGroupDescribe", group_ids=[group])
    answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
    found = {each.member_id for each in answer.struct.groups[0].members}
    wanted = {modern.id, *(member.id for member in old)}
    answer.must(found == wanted, f"its members are {sorted(found)}; they must be {sorted(wanted)}", "groups[0].members")
    modern.beat().must_succeed()


def _must_be_listed(wire, group, kind):
    listed = wire.list_groups(to=wire.coordinator(group), version=5).must_succeed()
    found = [row.group_type.lower() for row in listed.struct.groups if row.group_id == group]
    listed.must(found == [kind], f"the group is listed as {found}; it must be {kind}", "groups")


def _come_together(wire, topic, members):
    """With another subscription, for which a group rebalances in whatever state it is."""
    for member in members:
        if member.heartbeat().error == errors.UNKNOWN_MEMBER_ID:
            member.id, member.generation = "", -1
        member.settings["protocols"] = [(RANGE, _subscription(topic, EACH + 1))]
    rebalance(*members)
    for member in members:
        member.heartbeat().must_succeed()


def _shared(modern, old):
    modern.beat().must_succeed()
    for member in old:
        if member.heartbeat().error == errors.REBALANCE_IN_PROGRESS:
            member.join().must_succeed()
        if member.sync().error:
            return False
    return len(modern.owned) == 1


def _classic_members(wire, group, topic):
    brings = [(RANGE, _subscription(topic, EACH))]
    times = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
    return [wire.member(group, f"{group} {number}", protocols=brings, **times) for number in range(MEMBERS)]


def _subscription(topic, size):
    """With so many bytes of user data, which can be compressed."""
    return subscription([topic])[:-4] + struct.pack(">i", size) + bytes(size)


def _taken(answer):
    answer.examined = True
    return not answer.error


@contextmanager
def _small_batches(wire):
    """The log of groups takes no batch of more than 10 kB."""
    partitions_shown(wire, OFFSETS)
    wire.change_configs(TOPIC, OFFSETS, [(LARGEST, SET, str(TAKES))]).must_succeed()
    try:
        yield
    finally:
        wire.change_configs(TOPIC, OFFSETS, [(LARGEST, DELETE, None)]).must_succeed()
        for node in wire.nodes:
            wire.until(lambda node=node: not _limited(wire, node), within=WITHIN_S, what="the limit is gone")


def _limited(wire, node):
    rows = [{"resource_type": TOPIC, "resource_name": OFFSETS, "configuration_keys": [LARGEST]}]
    answer = wire.ask(request("DescribeConfigs", resources=rows), to=node).must_succeed()
    return [row.value for row in answer.struct.results[0].configs] == [str(TAKES)]
