"""What is asked of the group coordinator, case by case; the answers are in `kafka_says.txt`."""

from __future__ import annotations

import uuid
from typing import Any

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct
from tests.reference_impl_coordinators.scenarios import Scenario, Story

CHOSEN = {"protocol_type": "consumer", "protocol_name": "range"}


def in_order(answer: Struct) -> list[int]:
    """The codes of an answer's partitions, whatever order they came in."""
    topics = sorted(answer.topics, key=lambda t: (t.name, t.topic_id.int) if hasattr(t, "topic_id") else (t.name,))
    return [p.error_code for t in topics for p in sorted(t.partitions, key=lambda p: p.partition_index)]


def empty_group_ids(s: Story) -> None:
    topic = s.topic("t")
    s.ready(0, "")
    s.tell("join", s.join("").receive().error_code)
    s.tell("sync", s.wire.ask("SyncGroup", group_id="", member_id="m", generation_id=1, **CHOSEN).error_code)
    s.tell("heartbeat", s.wire.ask("Heartbeat", group_id="", member_id="m", generation_id=1).error_code)
    s.tell("leave v2", s.wire.call("LeaveGroup", 2, group_id="", member_id="m").error_code)
    s.tell("leave v5", s.wire.call("LeaveGroup", 5, group_id="", members=[{"member_id": "m"}]).error_code)
    s.tell("offset delete", s.wire.ask("OffsetDelete", group_id="", topics=[]).error_code)
    s.tell("commit", *s.commit("", {(topic, 0): 7}))
    s.tell("fetch", s.fetched("", topic))


def absent_groups(s: Story) -> None:
    group, topic = s.name("g"), s.topic("t")
    s.ready(0, group)
    joined = s.join(group, "x").receive()
    s.tell("join with an id", joined.error_code, joined.member_id, str(joined.generation_id), joined.protocol_name)
    s.tell("sync", s.wire.ask("SyncGroup", group_id=group, member_id="m", generation_id=1, **CHOSEN).error_code)
    s.tell("heartbeat", s.wire.ask("Heartbeat", group_id=group, member_id="m", generation_id=1).error_code)
    s.tell("leave v2", s.wire.call("LeaveGroup", 2, group_id=group, member_id="m").error_code)
    left = s.wire.call("LeaveGroup", 5, group_id=group, members=[{"member_id": "m"}, {"group_instance_id": "i"}])
    s.tell("leave v5", left.error_code, *[m.error_code for m in left.members])
    for version in (0, 5, 6):
        found = s.wire.call("DescribeGroups", version, groups=[group]).groups[0]
        s.tell(f"describe v{version}", found.error_code, found.error_message, found.group_state, found.protocol_type)
    (gone,) = s.wire.call("DeleteGroups", 2, groups_names=[group]).results
    s.tell("delete", gone.error_code)
    topics = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    s.tell("offset delete", s.wire.ask("OffsetDelete", group_id=group, topics=topics).error_code)
    for version in (2, 8, 9):
        codes = s.commit(group, {(topic, 0): 7}, version, member_id="m", generation_id_or_member_epoch=3)
        s.tell(f"commit with a generation v{version}", *codes)
    s.tell("fetch", s.fetched(group, topic))
    s.tell("commit without", *s.commit(group, {(topic, 0): 7}))
    s.tell("commit as member -1", *s.commit(group, {(topic, 0): 8}, member_id="m"))
    s.tell("commit as member 0", *s.commit(group, {(topic, 0): 9}, member_id="m", generation_id_or_member_epoch=0))
    s.tell("fetch", s.fetched(group, topic))
    found = s.wire.call("DescribeGroups", 5, groups=[group]).groups[0]
    s.tell("describe", found.error_code, found.group_state, found.protocol_type, found.protocol_data)
    listed = [g for g in s.wire.ask("ListGroups").groups if g.group_id == group]
    s.tell("list", *[(g.protocol_type, g.group_state, g.group_type) for g in listed])


def session_timeouts(s: Story) -> None:
    group = s.name("g")
    s.ready(0, group)
    low, high = map(int, s.broker_settings("group.min.session.timeout.ms", "group.max.session.timeout.ms"))
    codes = [s.join(group, session_timeout_ms=ms).receive().error_code for ms in (low - 1, low, high, high + 1)]
    s.tell("below, lowest, highest, above", *codes)


def the_way_in(s: Story) -> None:
    group = s.name("g")
    s.ready(0, group)
    asked = s.join(group).receive()
    s.tell("asked to come back", asked.error_code, str(asked.generation_id), asked.leader, asked.protocol_type)
    s.tell("with a fitting id", asked.member_id.startswith("c-"), str(len(asked.member_id)))
    listed = [g for g in s.wire.ask("ListGroups").groups if g.group_id == group]
    s.tell("listed meanwhile", *[(g.protocol_type, g.group_state) for g in listed])
    joined = s.join(group, asked.member_id).receive()
    s.tell("joined", joined.error_code, joined.protocol_type, joined.protocol_name, str(joined.generation_id))
    s.tell("leads", joined.leader == asked.member_id, [bytes(m.metadata) for m in joined.members])
    s.tell("commit before sync", *s.commit(group, {(s.topic("t"), 0): 1}, member_id=asked.member_id,
                                           generation_id_or_member_epoch=1))  # fmt: skip
    beat = {"group_id": group, "member_id": asked.member_id, "generation_id": 1}
    s.tell("heartbeat before sync", s.wire.ask("Heartbeat", **beat).error_code)
    sync = {"group_id": group, "generation_id": 1, "member_id": asked.member_id}
    s.tell("sync v5 without protocol", s.wire.ask("SyncGroup", **sync).error_code)
    sync |= CHOSEN
    s.tell("sync, other protocol", s.wire.ask("SyncGroup", **{**sync, "protocol_name": "z"}).error_code)
    s.tell("sync, other type", s.wire.ask("SyncGroup", **{**sync, "protocol_type": "z"}).error_code)
    s.tell("sync, other generation", s.wire.ask("SyncGroup", **{**sync, "generation_id": 2}).error_code)
    synced = s.wire.ask("SyncGroup", **sync, assignments=[{"member_id": asked.member_id, "assignment": b"\0\1"}])
    s.tell("sync", synced.error_code, synced.protocol_type, synced.protocol_name, bytes(synced.assignment))
    s.tell("heartbeat", s.wire.ask("Heartbeat", **beat).error_code)
    s.tell("heartbeat of a stranger", s.wire.ask("Heartbeat", **{**beat, "member_id": "x"}).error_code)
    s.tell("heartbeat, other generation", s.wire.ask("Heartbeat", **{**beat, "generation_id": 7}).error_code)
    unnamed = s.wire.ask("Heartbeat", **beat, group_instance_id="i").error_code
    s.tell("heartbeat with an instance nobody has", unnamed)
    for version in (0, 3):
        s.tell(f"join v{version}, no id needed", s.join(s.name(f"old{version}"), version=version).receive().error_code)


def no_common_protocol(s: Story) -> None:
    group = s.name("g")
    s.ready(0, group)
    s.tell("no protocols", s.join(group, protocols=[]).receive().error_code)
    s.tell("no type", s.join(group, protocol_type="").receive().error_code)
    member, generation = s.member_of(group)
    other = s.join(group, protocols=[{"name": "z", "metadata": b""}]).receive()
    s.tell("other protocol", other.error_code, other.member_id)
    s.tell("other type", s.join(group, protocol_type="connect").receive().error_code)
    same = s.join(group, member, protocol_type="connect").receive()
    s.tell("member with another type", same.error_code, same.member_id == member)
    code = s.wire.ask("Heartbeat", group_id=group, member_id=member, generation_id=generation).error_code
    s.tell("the member goes on", code)


def a_rebalance_of_two(s: Story) -> None:
    group, topic, other = s.name("g"), s.topic("t"), s.connect()
    s.ready(0, group)
    one, generation = s.member_of(group)
    two = s.join(group).receive().member_id
    s.join(group, two, wire=other)
    beat = {"group_id": group, "member_id": one, "generation_id": generation}
    s.until("27", lambda: s.wire.ask("Heartbeat", **beat).error_code == errors.REBALANCE_IN_PROGRESS)
    me: dict[str, Any] = {"member_id": one, "generation_id_or_member_epoch": generation}
    s.tell("commit while preparing", *s.commit(group, {(topic, 0): 5}, **me))
    s.tell("commit without generation", *s.commit(group, {(topic, 0): 6}))
    s.tell("sync while preparing", s.wire.ask("SyncGroup", **beat, **CHOSEN).error_code)
    first = s.join(group, one).receive()
    second = other.receive()
    s.tell("both joined", first.error_code, second.error_code, str(first.generation_id - generation))
    s.tell("same leader", first.leader == second.leader == one, str(len(first.members)), str(len(second.members)))
    now = {**me, "generation_id_or_member_epoch": first.generation_id}
    s.tell("commit while completing", *s.commit(group, {(topic, 0): 7}, **now))
    s.tell("commit of the old generation", *s.commit(group, {(topic, 0): 8}, **me))
    beat["generation_id"] = first.generation_id
    s.tell("heartbeat while completing", s.wire.ask("Heartbeat", **beat).error_code)
    given = [{"member_id": one, "assignment": b"1"}, {"member_id": two, "assignment": b"\xff2"}]
    follows = {"group_id": group, "member_id": two, "generation_id": first.generation_id}
    other.send("SyncGroup", 5, **follows, **CHOSEN)
    led = s.wire.ask("SyncGroup", **beat, **CHOSEN, assignments=given)
    followed = other.receive()
    s.tell("assignments", bytes(led.assignment), bytes(followed.assignment))
    s.tell("commit of a stranger", *s.commit(group, {(topic, 0): 9}, **{**now, "member_id": "x"}))
    s.tell("commit of nobody", *s.commit(group, {(topic, 0): 9}))
    s.tell("commit", *s.commit(group, {(topic, 0): 9}, **now))
    s.tell("fetch", s.fetched(group, topic))
    again = other.send("JoinGroup", 9, group_id=group, member_id=two, session_timeout_ms=10_000,
                       rebalance_timeout_ms=10_000, protocol_type="consumer",
                       protocols=[{"name": "range", "metadata": b"\0\0\0\0\0\0\0\0\0\0"}]).receive()  # fmt: skip
    s.tell(
        "unchanged follower joins",
        again.error_code,
        str(again.generation_id - first.generation_id),
        str(len(again.members)),
    )
    deleted = s.wire.call("DeleteGroups", 2, groups_names=[group]).results[0].error_code
    s.tell("delete with members", deleted)
    left = s.wire.call("LeaveGroup", 3, group_id=group, members=[{"member_id": two}, {"member_id": two}])
    s.tell("leave twice", left.error_code, *[m.error_code for m in left.members])
    s.tell("heartbeat after", s.wire.ask("Heartbeat", **beat).error_code)
    s.tell("late commit of the leaver", *s.commit(group, {(topic, 0): 3}, **{**now, "member_id": two}))


def a_member_that_leaves_and_hangs_up_while_its_join_waits(s: Story) -> None:
    """The LeaveGroup lies unread behind the waiting JoinGroup when the connection ends, and is heeded all the same."""
    group, other = s.name("g"), s.connect()
    s.ready(0, group)
    long = {"session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000}
    one, generation = s.member_of(group, **long)
    two = s.join(group, wire=other, **long).receive().member_id
    s.join(group, two, wire=other, **long).send("LeaveGroup", 5, group_id=group, members=[{"member_id": two}])
    beat = {"group_id": group, "member_id": one, "generation_id": generation}
    s.until("27", lambda: s.wire.ask("Heartbeat", **beat).error_code == errors.REBALANCE_IN_PROGRESS)
    other.__exit__()
    s.tell("heartbeat meanwhile", s.wire.ask("Heartbeat", **beat).error_code)
    joined = s.join(group, one, **long).receive()
    s.tell("joined, the leaver too", joined.error_code, str(len(joined.members)))
    beat["generation_id"] = joined.generation_id
    s.until("27 again", lambda: s.wire.ask("Heartbeat", **beat).error_code == errors.REBALANCE_IN_PROGRESS)
    again = s.join(group, one, **long).receive()
    s.tell("joined, alone", again.error_code, str(len(again.members)), str(again.generation_id - generation))


def static_members(s: Story) -> None:
    group = s.name("g")
    s.ready(0, group)
    first = s.join(group, group_instance_id="i").receive()
    s.tell("joined at once", first.error_code, first.member_id.startswith("i-"))
    one = {"group_id": group, "generation_id": first.generation_id}
    given = [{"member_id": first.member_id, "assignment": b"A"}]
    s.wire.ask("SyncGroup", **one, **CHOSEN, member_id=first.member_id, group_instance_id="i", assignments=given)
    second = s.join(group, group_instance_id="i").receive()
    s.tell("came back", second.error_code, str(second.generation_id - first.generation_id), second.skip_assignment)
    s.tell("leads under a new id", second.leader == second.member_id != first.member_id, str(len(second.members)))
    for who in (first.member_id, second.member_id):
        beat = s.wire.ask("Heartbeat", **one, member_id=who, group_instance_id="i").error_code
        s.tell("heartbeat", beat)
        synced = s.wire.ask("SyncGroup", **one, **CHOSEN, member_id=who, group_instance_id="i")
        s.tell("sync", synced.error_code, bytes(synced.assignment))
    s.tell("join as the old", s.join(group, first.member_id, group_instance_id="i").receive().error_code)
    topic = s.topic("t")
    old: dict[str, Any] = {"member_id": first.member_id, "generation_id_or_member_epoch": first.generation_id}
    s.tell("commit as the old", *s.commit(group, {(topic, 0): 1}, group_instance_id="i", **old))
    third = s.join(group, group_instance_id="i", version=8).receive()
    s.tell("came back, v8", third.error_code, third.leader == second.member_id, str(len(third.members)))
    gone = s.wire.call(
        "LeaveGroup", 3, group_id=group,
        members=[{"member_id": first.member_id, "group_instance_id": "i"}, {"group_instance_id": "j"},
                 {"group_instance_id": "i"}],
    )  # fmt: skip
    s.tell("leave", *[m.error_code for m in gone.members])


def descriptions(s: Story) -> None:
    group = s.name("g")
    s.ready(0, group)
    member, _ = s.member_of(group)
    found = s.wire.call("DescribeGroups", 5, groups=[group], include_authorized_operations=True).groups[0]
    s.tell("stable", found.group_state, found.protocol_type, found.protocol_data, str(found.authorized_operations))
    m = found.members[0]
    s.tell(
        "member",
        m.member_id == member,
        m.client_id,
        m.client_host,
        bytes(m.member_metadata),
        bytes(m.member_assignment),
    )
    unasked = s.wire.call("DescribeGroups", 5, groups=[group]).groups[0].authorized_operations
    s.tell("operations unless asked", str(unasked))
    for states, types in (([], []), (["Stable"], []), (["sTABLE"], ["cLASSIC"]), (["Empty"], []), ([], ["consumer"])):
        listed = s.wire.call("ListGroups", 5, states_filter=states, types_filter=types).groups
        mine = [(g.protocol_type, g.group_state, g.group_type) for g in listed if g.group_id == group]
        s.tell(f"list {states} {types}", *mine)
    s.join(group, member)
    s.wire.receive()
    found = s.wire.call("DescribeGroups", 5, groups=[group]).groups[0]
    s.tell("rebalancing", found.group_state, found.protocol_data, bytes(found.members[0].member_metadata))
    s.wire.call("LeaveGroup", 3, group_id=group, members=[{"member_id": member}])
    found = s.wire.call("DescribeGroups", 5, groups=[group]).groups[0]
    s.tell("empty", found.group_state, found.protocol_type, found.protocol_data, str(len(found.members)))
    s.tell("rejoin as the one who left", s.join(group, member).receive().error_code)
    two = s.wire.call("DeleteGroups", 2, groups_names=[group, s.name("absent")]).results
    s.tell("delete", *[r.error_code for r in two])
    s.tell("and again", s.wire.call("DeleteGroups", 2, groups_names=[group]).results[0].error_code)


def offsets_and_metadata(s: Story) -> None:
    group, topic = s.name("g"), s.topic("t", 3)
    s.ready(0, group)
    parts = [
        {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": 3, "committed_metadata": "é" * 4096},
        {"partition_index": 1, "committed_offset": 6, "committed_metadata": "x" * 4097},
        {"partition_index": 2, "committed_offset": 7, "committed_metadata": None},
        {"partition_index": 3, "committed_offset": 8, "committed_metadata": ""},
    ]
    nowhere = [{"partition_index": 0, "committed_offset": 8, "committed_metadata": ""}]
    topics = [{"name": topic, "partitions": parts}, {"name": s.name("absent"), "partitions": nowhere}]
    answer = s.wire.call("OffsetCommit", 8, group_id=group, topics=topics)
    s.tell("commit", *in_order(answer))
    asked = [{"name": topic, "partition_indexes": [0, 1, 2, 3]}, {"name": s.name("absent"), "partition_indexes": [0]}]
    for version in (1, 5, 7):
        found = s.wire.call("OffsetFetch", version, group_id=group, topics=asked)
        for t in found.topics:
            lines = [(p.committed_offset, p.committed_leader_epoch, len(p.metadata or "")) for p in t.partitions]
            s.tell(f"fetch v{version}", found.error_code, *lines, *[p.error_code for p in t.partitions])
    everything = s.wire.call("OffsetFetch", 2, group_id=group, topics=None)
    stored = sorted((p.partition_index, p.committed_offset) for t in everything.topics for p in t.partitions)
    s.tell("fetch everything", everything.error_code, *stored)
    groups = [{"group_id": group, "topics": None}, {"group_id": s.name("absent"), "topics": None},
              {"group_id": s.name("absent2"), "topics": [{"name": topic, "partition_indexes": [0]}]}]  # fmt: skip
    for found in s.wire.call("OffsetFetch", 8, groups=groups).groups:
        stored = sorted((p.partition_index, p.committed_offset) for t in found.topics for p in t.partitions)
        s.tell("several groups", found.error_code, *stored)
    s.tell("a lower offset", *s.commit(group, {(topic, 0): 2}), s.fetched(group, topic))
    s.tell("a negative offset", *s.commit(group, {(topic, 0): -1}), s.fetched(group, topic))
    s.tell("no topics", *s.commit(group, {}))


def topics_by_id(s: Story) -> None:
    group, topic = s.name("g"), s.topic("t")
    s.ready(0, group)
    known, unknown = s.topic_id(topic), uuid.UUID(int=12345)
    line = {"committed_offset": 5, "committed_metadata": "m"}
    topics = [
        {"topic_id": known, "partitions": [{"partition_index": 0, **line}, {"partition_index": 9, **line}]},
        {"topic_id": unknown, "partitions": [{"partition_index": 0, **line}]},
    ]
    answer = s.wire.call("OffsetCommit", 10, group_id=group, topics=topics)
    s.tell("commit", *in_order(answer))
    s.tell("ids", [t.topic_id == known for t in answer.topics])
    asked = [{"topic_id": t, "partition_indexes": [0, 9]} for t in (known, unknown)]
    for topics_asked in (asked, None):
        found = s.wire.call("OffsetFetch", 10, groups=[{"group_id": group, "topics": topics_asked}]).groups[0]
        for t in found.topics:
            lines = [(p.committed_offset, p.committed_leader_epoch, p.metadata) for p in t.partitions]
            s.tell("fetch", t.topic_id == known, found.error_code, *lines, *[p.error_code for p in t.partitions])


def deleted_offsets(s: Story) -> None:
    group, one, two = s.name("g"), s.topic("one"), s.topic("two")
    s.ready(0, group)
    s.tell("commit", *s.commit(group, {(one, 0): 5, (two, 0): 6}))
    subscription = b"\0\0\0\0\0\1" + len(one).to_bytes(2, "big") + one.encode() + b"\xff\xff\xff\xff"
    member, _ = s.member_of(group, protocols=[{"name": "range", "metadata": subscription}])
    wanted = [{"name": name, "partitions": [{"partition_index": 0}, {"partition_index": 9}]} for name in (one, two)]
    answer = s.wire.ask("OffsetDelete", group_id=group, topics=wanted)
    s.tell("subscribed, not", answer.error_code, *in_order(answer))
    s.tell("left", s.fetched(group, one), s.fetched(group, two))
    s.wire.call("LeaveGroup", 3, group_id=group, members=[{"member_id": member}])
    answer = s.wire.ask("OffsetDelete", group_id=group, topics=wanted)
    s.tell("empty group", answer.error_code, *in_order(answer))
    s.tell("left", s.fetched(group, one))
    other = s.name("connect")
    s.member_of(other, protocol_type="connect")
    answer = s.wire.ask("OffsetDelete", group_id=other, topics=wanted)
    s.tell("another kind of group with members", answer.error_code, str(len(answer.topics)))
    s.tell("commit", *s.commit(group, {(one, 0): 5, (one, 1): 6}))
    s.wire.call("DeleteTopics", 4, topic_names=[one], timeout_ms=20_000)
    s.until("the offsets of a deleted topic to go", lambda: s.fetched(group, one)[0] == -1)
    s.tell("after the topic was deleted", s.fetched(group, one, 1))


def finding_coordinators(s: Story) -> None:
    s.ready(0, "g")
    s.ready(1, "x")
    for version in (0, 1, 2, 3):
        found = s.wire.call("FindCoordinator", version, key="g", key_type=0)
        s.tell(f"v{version}", found.error_code, found.error_message, found.host, found.port > 0)
    for kind in (0, 1, 7):
        for found in s.wire.call("FindCoordinator", 4, key_type=kind, coordinator_keys=["g", ""]).coordinators:
            s.tell(f"type {kind}", found.key, found.error_code, found.error_message, found.host, found.port > 0)


SCENARIOS: list[Scenario] = [
    empty_group_ids, absent_groups, session_timeouts, the_way_in, no_common_protocol, a_rebalance_of_two,
    a_member_that_leaves_and_hangs_up_while_its_join_waits, static_members, descriptions,
    offsets_and_metadata, topics_by_id, deleted_offsets, finding_coordinators,
]  # fmt: skip
