"""Conversations with KIP-848 groups. Epochs are told relative to the first one, partitions as lists of numbers.

What a broker may decide in its own time (in which heartbeat a new target shows, which of two equal members gets what)
is waited for, not told.
"""

from __future__ import annotations

import uuid
from typing import Any

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct
from tests.reference_impl_coordinators.scenarios import Scenario, Story


class Member:
    """One member, driven by hand: it owns what it was last given, unless it is told to hold on to something."""

    def __init__(self, story: Story, group: str, *topics: str, **fields: Any) -> None:
        self.story, self.group = story, group
        self.id = str(uuid.uuid4())
        self.epoch = 0
        self.owned: set[tuple[uuid.UUID, int]] = set()
        self.holds: set[tuple[uuid.UUID, int]] = set()
        self.wishes: dict[str, Any] = {
            "rebalance_timeout_ms": 30_000, "subscribed_topic_names": list(topics) or None, **fields
        }  # fmt: skip

    def beat(self, version: int = 1, **changes: Any) -> Struct:
        """One heartbeat with everything it owns; takes over what it is told."""
        fields = {
            "group_id": self.group, "member_id": self.id, "member_epoch": self.epoch,
            "topic_partitions": listed(self.owned | self.holds), **(self.wishes if self.epoch == 0 else {}), **changes,
        }  # fmt: skip
        if "instance_id" in self.wishes:
            fields.setdefault("instance_id", self.wishes["instance_id"])
        answer = self.story.wire.call("ConsumerGroupHeartbeat", version, **fields)
        if not answer.error_code and answer.member_epoch >= 0:
            self.id, self.epoch = answer.member_id, answer.member_epoch
            if answer.assignment is not None:
                self.owned = {(t.topic_id, i) for t in answer.assignment.topic_partitions for i in t.partitions}
        return answer

    def leave(self, epoch: int = -1) -> Struct:
        return self.beat(member_epoch=epoch)

    def indexes(self) -> list[int]:
        return sorted(index for _, index in self.owned)


def listed(parts: set[tuple[uuid.UUID, int]]) -> list[dict[str, Any]]:
    found: dict[uuid.UUID, list[int]] = {}
    for topic, index in sorted(parts):
        found.setdefault(topic, []).append(index)
    return [{"topic_id": topic, "partitions": indexes} for topic, indexes in found.items()]


def settle(story: Story, *members: Member, want: int) -> None:
    """Heartbeats go round until all partitions are owned, evenly, and nothing has moved for a round."""

    def settled() -> bool:
        before = [(m.epoch, m.owned) for m in members]
        codes = [m.beat().error_code for m in members]
        assert not any(codes), [errors.name(code) for code in codes]
        after = [(m.epoch, m.owned) for m in members]
        sizes = [len(m.owned) for m in members]
        return before == after and sum(sizes) == want and max(sizes) - min(sizes) <= 1

    story.until(f"{want} partitions shared by {len(members)} members", settled)


def described(story: Story, group: str) -> Struct:
    return story.wire.call("ConsumerGroupDescribe", 1, group_ids=[group]).groups[0]


def a_member_joins_and_leaves(story: Story) -> None:
    topic, group = story.topic("t", 3), story.name("g")
    story.ready(0, group)
    one = Member(story, group, topic)
    first = one.beat()
    story.tell("joins", first.error_code, first.member_epoch > 0, first.heartbeat_interval_ms > 0)
    settle(story, one, want=3)
    story.tell("owns", one.indexes())
    quiet = one.beat()
    story.tell("nothing new", quiet.error_code, quiet.assignment is None)
    full = one.beat(**one.wishes)
    story.tell("a full request is told all", full.error_code, full.assignment is not None)
    found = described(story, group)
    story.tell("described", found.error_code, found.group_state, found.assignor_name, str(len(found.members)))
    listing = story.wire.call("ListGroups", 5, types_filter=["consumer"])
    (line,) = [g for g in listing.groups if g.group_id == group]
    story.tell("listed", line.protocol_type, line.group_state, line.group_type)
    story.tell("delete while it lives", delete(story, group))
    left = one.leave()
    story.tell("leaves", left.error_code, left.member_epoch == -1, left.assignment is None)
    story.tell("again", one.leave().error_code)
    story.tell("then", described(story, group).group_state)
    story.tell("delete", delete(story, group))
    story.tell("gone", described(story, group).error_code)


def delete(story: Story, group: str) -> int:
    return int(story.wire.call("DeleteGroups", 2, groups_names=[group]).results[0].error_code)


def what_a_heartbeat_must_hold(story: Story) -> None:
    topic, group = story.topic("t"), story.name("g")
    story.ready(0, group)
    part = [{"topic_id": story.topic_id(topic), "partitions": [0]}]

    def ask(what: str, version: int = 1, **changes: Any) -> None:
        fields = {
            "group_id": group, "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 30_000,
            "subscribed_topic_names": [topic], "topic_partitions": [], **changes,
        }  # fmt: skip
        story.tell(what, story.wire.call("ConsumerGroupHeartbeat", version, **fields).error_code)

    ask("no group id", group_id="")
    ask("a blank group id", group_id="  ")
    ask("an empty instance id", instance_id="")
    ask("an empty rack", rack_id="")
    ask("no member id", member_id="")
    ask("no member id, v0, but an epoch", version=0, member_id="", member_epoch=5)
    ask("no timeout", rebalance_timeout_ms=-1)
    ask("owned is null", topic_partitions=None)
    ask("owned is not empty", topic_partitions=part)
    ask("no subscription", subscribed_topic_names=None)
    ask("epoch -3", member_epoch=-3)
    ask("leaves for a while without an instance id", member_epoch=-2)
    ask("an assignor that there is not", server_assignor="nope")
    ask("a pattern that is none", subscribed_topic_names=None, subscribed_topic_regex="[a")
    ask("leaves a group that there is not", member_epoch=-1)
    ask("stays in a group that there is not", member_epoch=7)
    story.tell("no group came of it", described(story, group).error_code)
    ask("an empty list of names is a subscription", subscribed_topic_names=[])
    ask("an unknown member", member_id="other", member_epoch=1)
    ask("an unknown member leaves", member_id="other", member_epoch=-1)


def epochs_are_checked(story: Story) -> None:
    topic, group = story.topic("t", 4), story.name("g")
    story.ready(0, group)
    one = Member(story, group, topic)
    one.beat()
    settle(story, one, want=4)
    story.tell("an epoch of the future", one.beat(member_epoch=one.epoch + 5).error_code)
    again = Member(story, group, topic)
    again.id = one.id
    back = again.beat()
    story.tell("joins again under its id", back.error_code, back.member_epoch > 0)
    settle(story, again, want=4)
    story.tell("and owns", again.indexes())
    two = Member(story, group, topic)
    two.beat()
    before = again.epoch
    held = set(again.owned)

    def moved() -> bool:
        again.beat()
        two.beat()
        return again.epoch > before

    story.until("the epoch rises", moved)
    retry = again.beat(member_epoch=before, topic_partitions=listed(again.owned))
    story.tell("a repeated heartbeat of the epoch before", retry.error_code, retry.member_epoch > before)
    other = again.beat(member_epoch=before, topic_partitions=listed(held))
    story.tell("the same with partitions that are gone", other.error_code)


def nobody_gets_what_is_still_owned(story: Story) -> None:
    topic, group = story.topic("t", 2), story.name("g")
    story.ready(0, group)
    one, two = Member(story, group, topic), Member(story, group, topic)
    one.beat()
    settle(story, one, want=2)
    everything = set(one.owned)
    two.beat()

    def asked_to_give() -> bool:
        one.holds = everything
        assert not one.beat().error_code
        assert not two.beat().error_code
        return len(one.owned) == 1

    story.until("the first is asked to give one up", asked_to_give)
    for _ in range(5):
        one.beat()
        two.beat()
    story.tell("held on to", str(len(one.owned)), two.indexes())
    story.tell("state", described(story, group).group_state)
    one.holds = set()
    settle(story, one, two, want=2)
    story.tell("then shared", sorted(one.indexes() + two.indexes()), not one.owned & two.owned)
    story.tell("state", described(story, group).group_state)
    one.leave()
    settle(story, two, want=2)
    story.tell("taken over", two.indexes())


def who_does_not_give_back_is_expelled(story: Story) -> None:
    topic, group = story.topic("t", 2), story.name("g")
    story.ready(0, group)
    one = Member(story, group, topic, rebalance_timeout_ms=1_500)
    two = Member(story, group, topic)
    one.beat()
    settle(story, one, want=2)
    one.holds = set(one.owned)
    two.beat()
    codes: list[int] = []

    def expelled() -> bool:
        codes.append(one.beat().error_code)
        assert not two.beat().error_code
        return codes[-1] != 0

    story.until("the first is expelled", expelled)
    story.tell("who holds on hears", codes[-1])
    settle(story, two, want=2)
    story.tell("the other owns", two.indexes())


def static_consumers(story: Story) -> None:
    topic, group = story.topic("t", 2), story.name("g")
    story.ready(0, group)
    one = Member(story, group, topic, instance_id="i-1")
    two = Member(story, group, topic, instance_id="i-2")
    one.beat()
    two.beat()
    settle(story, one, two, want=2)
    rival = Member(story, group, topic, instance_id="i-1")
    story.tell("a second holder", rival.beat().error_code)
    stranger = Member(story, group, topic, instance_id="i-9")
    story.tell("an unknown instance with an epoch", stranger.beat(member_epoch=3).error_code)
    rival.epoch = one.epoch
    story.tell("the same instance under another id", rival.beat().error_code)
    had = one.indexes()
    away = one.leave(-2)
    story.tell("leaves for a while", away.error_code, away.member_epoch == -2)
    for _ in range(5):
        two.beat()
    story.tell("nothing moves", str(len(two.owned)))
    back = Member(story, group, topic, instance_id="i-1")
    back.beat()
    settle(story, back, two, want=2)
    story.tell("comes back to what it had", back.indexes() == had)
    story.tell("its old id", one.beat().error_code)
    gone = back.leave()
    story.tell("leaves for good", gone.error_code)
    settle(story, two, want=2)
    story.tell("the other takes over", two.indexes())


def commits_carry_the_member_epoch(story: Story) -> None:
    topic, group = story.topic("t"), story.name("g")
    story.ready(0, group)
    where = {(topic, 0): 5}
    story.tell("no member, no group", story.commit(group, where, 9))
    one = Member(story, group, topic)
    one.beat()
    settle(story, one, want=2)

    def commit(what: str, member: str, epoch: int, version: int = 9) -> None:
        who = {"member_id": member, "generation_id_or_member_epoch": epoch}
        story.tell(what, story.commit(group, where, version, **who))

    commit("in its epoch", one.id, one.epoch)
    commit("a future epoch", one.id, one.epoch + 1)
    commit("a stranger", "x", one.epoch)
    commit("nobody", "", -1)
    commit("an old version", one.id, one.epoch, 8)

    def fetch(what: str, member: str | None, epoch: int) -> None:
        asked = [
            {"group_id": group, "member_id": member, "member_epoch": epoch,
             "topics": [{"name": topic, "partition_indexes": [0]}]}
        ]  # fmt: skip
        found = story.wire.call("OffsetFetch", 9, groups=asked).groups[0]
        shown = [p.committed_offset for t in found.topics for p in t.partitions]
        story.tell(f"fetch, {what}", found.error_code, str(shown))

    fetch("in its epoch", one.id, one.epoch)
    fetch("a future epoch", one.id, one.epoch + 1)
    fetch("a stranger", "x", one.epoch)
    fetch("nobody", None, -1)
    one.leave()
    commit("nobody, once it is empty", "", -1)
    fetch("a member that left", one.id, one.epoch)


def classic_and_consumer_take_turns(story: Story) -> None:
    topic, group = story.topic("t"), story.name("g")
    story.ready(0, group)
    story.commit(group, {(topic, 0): 3})
    one = Member(story, group, topic)
    story.tell("a group of offsets alone becomes one", one.beat().error_code)
    settle(story, one, want=2)
    story.tell("its offset is still there", str(story.fetched(group, topic)[0]))
    shown = story.wire.call("DescribeGroups", 6, groups=[group]).groups[0]
    story.tell("the classic question", shown.error_code, shown.group_state)
    beat = story.wire.call("Heartbeat", 4, group_id=group, generation_id=1, member_id="m")
    story.tell("a classic heartbeat", beat.error_code)
    one.leave()
    member, _ = story.member_of(group)
    shown = story.wire.call("DescribeGroups", 5, groups=[group]).groups[0]
    story.tell("an empty one becomes classic", shown.group_state)
    story.tell("the consumers' question", described(story, group).error_code)
    story.wire.call("LeaveGroup", 4, group_id=group, members=[{"member_id": member}])
    two = Member(story, group, topic)
    story.tell("and back", two.beat().error_code)
    settle(story, two, want=2)
    story.tell("the offset all along", str(story.fetched(group, topic)[0]))


def topics_come_and_grow(story: Story) -> None:
    early, group = story.topic("early"), story.name("g")
    late = story.name("late")
    story.ready(0, group)
    one = Member(story, group, early, late)
    one.beat()
    settle(story, one, want=2)
    story.topic("late", 3)
    settle(story, one, want=5)
    story.tell("a topic came", str(len(one.owned)))
    grown = [{"name": early, "count": 4, "assignments": None}]
    story.wire.call("CreatePartitions", 3, topics=grown, timeout_ms=20_000)
    settle(story, one, want=7)
    story.tell("a topic grew", str(len(one.owned)))
    story.wire.call("DeleteTopics", 3, topic_names=[late], timeout_ms=20_000)
    settle(story, one, want=4)
    story.tell("a topic went", str(len(one.owned)))


def a_pattern_is_a_subscription(story: Story) -> None:
    story.topic("a-1", 1)
    story.topic("a-2", 1)
    story.topic("b-1", 1)
    group = story.name("g")
    story.ready(0, group)
    one = Member(story, group, subscribed_topic_regex=f"a-.*{story.run}")
    story.tell("joins", one.beat().error_code)
    settle(story, one, want=2)
    (shown,) = described(story, group).members
    named = str(len(shown.subscribed_topic_names))
    story.tell("described", shown.subscribed_topic_regex, named, shown.member_type == 1)
    one.beat(subscribed_topic_regex=f"b-.*{story.run}")
    settle(story, one, want=1)
    story.tell("another pattern", str(len(one.owned)))


def range_gives_blocks(story: Story) -> None:
    topic, group = story.topic("t", 6), story.name("g")
    story.ready(0, group)
    one = Member(story, group, topic, server_assignor="range")
    two = Member(story, group, topic, server_assignor="range")
    one.beat()
    two.beat()
    settle(story, one, two, want=6)
    blocks = sorted([one.indexes(), two.indexes()])
    story.tell("blocks", blocks)
    story.tell("described", described(story, group).assignor_name)


def groups_have_settings(story: Story) -> None:
    group = story.name("g")

    def alter(what: str, name: str, value: str) -> None:
        configs = [{"name": name, "config_operation": 0, "value": value}]
        resources = [{"resource_type": 32, "resource_name": group, "configs": configs}]
        answer = story.wire.call("IncrementalAlterConfigs", 1, resources=resources, validate_only=False)
        story.tell(what, answer.responses[0].error_code)

    alter("one that there is", "consumer.session.timeout.ms", "50000")
    alter("too small", "consumer.session.timeout.ms", "1")
    alter("too large", "consumer.session.timeout.ms", "10000000")
    alter("one that there is not", "nope", "1")
    wanted = [{"resource_type": 32, "resource_name": group, "configuration_keys": ["consumer.session.timeout.ms"]}]

    def shown() -> list[tuple[str, str | None, int]]:
        found = story.wire.call("DescribeConfigs", 4, resources=wanted).results[0]
        return [(c.name, c.value, c.config_source) for c in found.configs]

    story.until("the setting shows", lambda: any(value == "50000" for _, value, _ in shown()))
    story.tell("described", str(shown()))


SCENARIOS: list[Scenario] = [
    a_member_joins_and_leaves,
    what_a_heartbeat_must_hold,
    epochs_are_checked,
    nobody_gets_what_is_still_owned,
    who_does_not_give_back_is_expelled,
    static_consumers,
    commits_carry_the_member_epoch,
    classic_and_consumer_take_turns,
    topics_come_and_grow,
    a_pattern_is_a_subscription,
    range_gives_blocks,
    groups_have_settings,
]
