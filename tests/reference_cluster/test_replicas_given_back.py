"""A replica that is taken away and given back: it and its leader hear of it at different times."""

from __future__ import annotations

import uuid
from pathlib import Path

from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.control.image import Placement
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.replica.following import Following
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.serving import FollowerSession, as_response
from brokertrial.reference_impl.settings.config import BrokerConfig, TopicRules
from brokertrial.wire.records import Record, build_batch

LEADER, FOLLOWER = 1, 2
KEY = (uuid.UUID(int=7), 0)
CLOCK = ManualClock()


def replica(folder: Path, broker: int) -> Partition:
    rules = TopicRules.of(BrokerConfig(data=folder, settings={}), {})
    log = open_log(folder, rules.log, CLOCK.now_ms(), clean=False)
    folder.mkdir(exist_ok=True)
    return Partition("t", 0, log, rules, CLOCK, broker, KEY[0])


def hears_of(partition: Partition, replicas: list[int], partition_epoch: int) -> None:
    partition.settle(
        Placement(replicas=replicas, isr=[LEADER], leader=LEADER, leader_epoch=0, partition_epoch=partition_epoch)
    )


def exchanged(following: Following, session: FollowerSession) -> None:
    session.update(following.request(1, CLOCK.monotonic()))
    following.take(as_response(session.id, session.collect(1 << 20)), CLOCK.monotonic())


def test_it_comes_in_sync_though_it_fetched_before_its_leader_heard_of_it(tmp_path: Path) -> None:
    leader, follower = replica(tmp_path / "leader", LEADER), replica(tmp_path / "follower", FOLLOWER)
    hears_of(leader, [LEADER], 0)
    hears_of(follower, [LEADER, FOLLOWER], 1)
    following, session = Following(FOLLOWER, 100), FollowerSession(1, FOLLOWER, 1, lambda *_: leader)
    following.follow(KEY, follower)
    for _ in range(2):  # the first answer tells where the log ends; the next request is the last to name a position
        exchanged(following, session)
    hears_of(leader, [LEADER, FOLLOWER], 1)
    exchanged(following, session)
    proposal = leader.propose(1.0, {(FOLLOWER, 1)})
    assert proposal is not None and proposal.isr == (LEADER, FOLLOWER)


def test_an_answer_for_the_replica_before_it_is_not_taken(tmp_path: Path) -> None:
    leader, before = replica(tmp_path / "leader", LEADER), replica(tmp_path / "before", FOLLOWER)
    for partition in (leader, before):
        hears_of(partition, [LEADER, FOLLOWER], 1)
    following, session = Following(FOLLOWER, 100), FollowerSession(1, FOLLOWER, 1, lambda *_: leader)
    following.follow(KEY, before)
    leader.append_internal(bytes(build_batch([Record(None, b"first")])))
    exchanged(following, session)
    leader.append_internal(bytes(build_batch([Record(None, b"second")])))
    session.update(following.request(1, CLOCK.monotonic()))
    late = as_response(session.id, session.collect(1 << 20))

    following.leave(KEY)
    after = replica(tmp_path / "after", FOLLOWER)
    hears_of(after, [LEADER, FOLLOWER], 2)
    following.follow(KEY, after)
    following.take(late, CLOCK.monotonic())
    assert (before.log.end_offset, after.log.end_offset) == (1, 0), (
        "a log that begins with the second record has a hole"
    )


def test_a_log_that_begins_within_a_batch_outlives_a_hard_stop(tmp_path: Path) -> None:
    leader, follower = replica(tmp_path / "leader", LEADER), replica(tmp_path / "follower", FOLLOWER)
    for partition in (leader, follower):
        hears_of(partition, [LEADER, FOLLOWER], 1)
    leader.append_internal(
        bytes(build_batch([Record(None, b"deleted"), Record(None, b"first"), Record(None, b"second")]))
    )
    following, session = Following(FOLLOWER, 100), FollowerSession(1, FOLLOWER, 1, lambda *_: leader)
    following.follow(KEY, follower)
    follower.start_over(1)
    exchanged(following, session)
    assert (follower.log.start_offset, follower.log.end_offset) == (1, 3)
    follower.log.close(clean=False)
    again = replica(tmp_path / "follower", FOLLOWER).log
    assert (again.start_offset, again.end_offset) == (1, 3)
