"""Who owned what: one row for each ownership, told when it ends."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brokertrial.wire.codec import encode_versioned
from brokertrial.wire.messages import data, request, response

TOPIC_ID = UUID(int=7)


def assignment(*partitions: int) -> bytes:
    topics = [{"topic": "t", "partitions": list(partitions)}]
    return encode_versioned(data("ConsumerProtocolAssignment", assigned_partitions=topics), 1)


def sync(client: Any, fake: Any, member: str, generation: int, *partitions: int) -> None:
    fake.answers["SyncGroup"] = lambda *_: response("SyncGroup", assignment=assignment(*partitions))
    client.call(request("SyncGroup", group_id="g", member_id=member, generation_id=generation), 4)


def told(seen: Any, links: Any) -> list[tuple[str, int, int, str | None]]:
    links.flush(last=True)
    return sorted((row.member, row.generation, row.partition, row.ended_by) for row in seen("membership"))


def test_a_classic_group_changes_hands(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    client = connect()
    sync(client, fake, "a", 1, 0, 1)
    sync(client, fake, "a", 2, 0)
    sync(client, fake, "b", 2, 1)
    client.call(request("LeaveGroup", group_id="g", members=[{"member_id": "b"}]), 3)
    sync(client, fake, "c", 3, 0, 1)
    assert told(seen, links) == [
        ("a", 1, 0, "fenced"),
        ("a", 1, 1, "revoked"),
        ("b", 2, 1, "closed"),
        ("c", 3, 0, None),
        ("c", 3, 1, None),
    ]


def test_the_same_partition_given_twice_in_one_generation_stays_visible(
    fake: Any, links: Any, connect: Any, seen: Any
) -> None:
    client = connect()
    sync(client, fake, "a", 4, 0)
    sync(client, fake, "a", 5, 0)
    sync(client, fake, "b", 5, 0)
    assert told(seen, links) == [("a", 4, 0, None), ("b", 5, 0, None)]


def test_a_member_of_the_new_protocol(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    topic = {"name": "t", "topic_id": TOPIC_ID}
    fake.answers["Metadata"] = lambda *_: response("Metadata", brokers=fake.brokers(), topics=[topic])
    client = connect()
    client.call(request("Metadata", topics=[{"name": "t"}]), 12)

    def beat(epoch: int, given: list[int] | None, sent: int, code: int = 0) -> None:
        parts = None if given is None else {"topic_partitions": [{"topic_id": TOPIC_ID, "partitions": given}]}
        fake.answers["ConsumerGroupHeartbeat"] = lambda *_: response(
            "ConsumerGroupHeartbeat", error_code=code, member_id="m", member_epoch=epoch, assignment=parts
        )
        client.call(request("ConsumerGroupHeartbeat", group_id="g", member_id="m", member_epoch=sent), 0)

    beat(1, [0, 1], 0)
    beat(2, [1], 1)
    beat(2, None, 2)
    beat(0, None, 2, code=110)
    assert told(seen, links) == [("m", 1, 0, "revoked"), ("m", 1, 1, "fenced")]
