"""What is left of a KIP-848 group that its last member has left."""

from __future__ import annotations

import contextlib
from pathlib import Path

from brokertrial.wire import errors
from tests.reference_impl_coordinators.local import Local


def test_an_empty_group_has_nothing_to_hand_round_and_its_target_is_up_to_date(tmp_path: Path) -> None:
    with contextlib.closing(Local(tmp_path)) as local:
        who = {"group_id": "g", "member_id": "m"}
        wishes = {"rebalance_timeout_ms": 1000, "topic_partitions": [], "subscribed_topic_names": ["t"]}
        local.call("ConsumerGroupHeartbeat", 1, member_epoch=0, **who, **wishes)
        (group,) = local.call("ConsumerGroupDescribe", 1, group_ids=["g"]).groups
        assert [member.subscribed_topic_regex for member in group.members] == [""], "no pattern is an empty one"
        assert local.call("ConsumerGroupHeartbeat", 1, member_epoch=-1, **who).error_code == errors.NONE

        before = local.call("ConsumerGroupDescribe", 1, group_ids=["g"]).groups[0]
        local.crash()
        after = local.call("ConsumerGroupDescribe", 1, group_ids=["g"]).groups[0]

    assert (before.group_state, before.members) == ("Empty", [])
    assert before.assignment_epoch == before.group_epoch > group.group_epoch
    assert (after.group_epoch, after.assignment_epoch) == (before.group_epoch, before.assignment_epoch)


def test_what_only_a_gone_member_wanted_is_subscribed_to_no_more(tmp_path: Path) -> None:
    with contextlib.closing(Local(tmp_path)) as local:
        for member, names in (("m", ["t"]), ("n", ["u"])):
            local.call(
                "ConsumerGroupHeartbeat", 1, group_id="g", member_id=member, member_epoch=0, topic_partitions=[],
                rebalance_timeout_ms=1000, subscribed_topic_names=names,
            )  # fmt: skip
        local.call("ConsumerGroupHeartbeat", 1, group_id="g", member_id="m", member_epoch=-1)
        topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("t", "u")]
        answer = local.call("OffsetDelete", 0, group_id="g", topics=topics)

    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"t": errors.NONE, "u": errors.GROUP_SUBSCRIBED_TO_TOPIC}
