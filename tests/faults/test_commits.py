"""What members committed, under which generation: only the wire tells."""

from __future__ import annotations

from typing import Any

from brokertrial.faults.proxy.commit_observer import FIRST_OP, KIND
from brokertrial.wire.messages import request, response


def commit(client: Any, fake: Any, offset: int, generation: int, code: int = 0) -> None:
    topic = {"name": "t", "partitions": [{"partition_index": 3, "error_code": code}]}
    fake.answers["OffsetCommit"] = lambda *_: response("OffsetCommit", topics=[topic])
    asked = {"name": "t", "partitions": [{"partition_index": 3, "committed_offset": offset}]}
    client.call(request("OffsetCommit", group_id="g", generation_id_or_member_epoch=generation, topics=[asked]), 8)


def test_a_commit_of_a_member_is_told_with_its_generation(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    client = connect()
    commit(client, fake, 41, 5)
    commit(client, fake, 42, 4, code=22)
    first, second = seen(KIND)

    assert (first.group, first.generation, first.topic, first.partition) == ("g", 5, "t", 3)
    assert (first.committed_offset, first.outcome, first.error, first.commit_id) == (41, "ok", 0, None)
    assert (second.generation, second.outcome, second.error) == (4, "info", 22)
    assert FIRST_OP <= first.op < second.op and first.call_ns < first.return_ns < second.call_ns


def test_who_is_no_member_states_no_generation(fake: Any, links: Any, connect: Any, seen: Any) -> None:
    commit(connect(), fake, 41, -1)

    assert seen(KIND) == []
