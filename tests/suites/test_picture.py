"""The picture of what a case made: what may change by itself over a stop, a crash or a move, and what may not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from brokertrial.suites.closing_look.picture import (
    ClusterPicture,
    GroupPicture,
    PartitionPicture,
    TopicPicture,
    changes,
    group_changes,
    partition_changes,
)

LOG = PartitionPicture(start=2, stable=6, end=6, batches={2: (3, 11), 4: (5, 12)})
TOPIC = TopicPicture("id-1", {"cleanup.policy": "delete"}, {0: LOG})


@pytest.mark.parametrize(
    ("now", "sentences"),
    [
        (LOG, []),
        (replace(LOG, start=4, batches={4: (5, 12)}), []),
        (replace(LOG, stable=7, end=7, batches={**LOG.batches, 6: (6, 13)}), []),
        (replace(LOG, end=4, stable=4, batches={2: (3, 11)}), ["stable was 6", "end was 6", "offset 4 is gone"]),
        (replace(LOG, batches={2: (3, 11), 4: (5, 99)}), ["offset 4 is another"]),
        (replace(LOG, start=0), ["start was 2 and is 0"]),
        (replace(LOG, stable=5), ["stable was 6 and is 5"]),
        (replace(LOG, batches={4: (5, 12)}), ["offset 2 is gone"]),
    ],
    ids=["the same", "retention", "a marker", "a tail cut", "altered", "a start that fell", "unstable again", "a hole"],
)
def test_a_log_keeps_what_it_had(now: PartitionPicture, sentences: list[str]) -> None:
    found = list(partition_changes(LOG, now))
    assert len(found) == len(sentences)
    assert all(part in sentence for part, sentence in zip(sentences, found, strict=True))


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        ({}, "the topic is gone"),
        ({"t": TopicPicture("id-2", TOPIC.settings, TOPIC.partitions)}, "its id was id-1 and is id-2"),
        ({"t": TopicPicture("id-1", {}, TOPIC.partitions)}, "setting cleanup.policy was delete and is None"),
        ({"t": TopicPicture("id-1", TOPIC.settings, {0: LOG, 1: LOG})}, "had 1 partitions and has 2"),
    ],
)
def test_a_topic_keeps_what_it_was(now: dict[str, TopicPicture], sentence: str) -> None:
    ((subject, said),) = changes(ClusterPicture(topics={"t": TOPIC}), ClusterPicture(topics=now))
    assert subject == "t" and sentence in said
    assert not list(changes(ClusterPicture(topics={"t": TOPIC}), ClusterPicture(topics={"t": TOPIC, "other": TOPIC})))


STABLE = GroupPicture("consumer", "Stable", 3, frozenset({"a", "b"}))


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        (STABLE, ""),
        (replace(STABLE, epoch=4, members=frozenset({"a"})), ""),
        (replace(STABLE, state="Empty", members=frozenset()), ""),
        (None, "not known any more"),
        (replace(STABLE, protocol="classic"), "not known any more"),
        (replace(STABLE, epoch=2), "its epoch was 3 and is 2"),
        (replace(STABLE, members=frozenset({"a"})), "its members were"),
    ],
    ids=["the same", "a session over", "all sessions over", "gone", "of the other protocol", "an older epoch", "lost"],
)
def test_a_group_is_the_group_that_it_was(now: GroupPicture | None, sentence: str) -> None:
    found = list(group_changes(STABLE, now))
    assert len(found) == bool(sentence) and all(sentence in said for said in found)


def test_a_classic_group_of_which_nothing_was_written_may_go() -> None:
    empty = GroupPicture("classic", "Empty", -1, frozenset())
    assert not list(group_changes(empty, None))
    assert list(group_changes(replace(empty, members=frozenset({"a"})), None))


def test_a_group_keeps_its_offsets() -> None:
    before = ClusterPicture(committed={"g": {("t", 0): 5, ("t", 1): 6}})
    assert not list(changes(before, ClusterPicture(committed={"g": {("t", 0): 5, ("t", 1): 6, ("t", 2): 1}})))
    ((subject, said),) = changes(before, ClusterPicture(committed={"g": {("t", 0): 5}}))
    assert (subject, said) == ("group g", "its offset of t-1 was 6 and is -1")
