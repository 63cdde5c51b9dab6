"""What ConsumerGroupDescribe tells of a group that its last member has left."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.reference_impl_coordinators.local import Local
from wire import errors


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
