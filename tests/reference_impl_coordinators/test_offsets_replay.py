"""Whatever was committed, staged, ended, deleted: after a crash the coordinators know exactly what they knew before."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference_impl_coordinators.local import Local

GROUPS, IDS, TOPICS = ("g", "h"), ("x", "y"), ("t", "u")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from(GROUPS), st.sampled_from(TOPICS), st.integers(0, 50)),
        st.tuples(st.just("stage"), st.sampled_from(IDS), st.sampled_from(GROUPS), st.integers(0, 50)),
        st.tuples(st.just("end"), st.sampled_from(IDS), st.booleans(), st.sampled_from((3, 5))),
        st.tuples(st.just("delete"), st.sampled_from(GROUPS)),
        st.tuples(st.just("forget"), st.sampled_from(GROUPS)),
        st.tuples(st.just("crash")),
    ),
    max_size=25,
)


def view(local: Local) -> dict[str, Any]:
    """All that a client can see of groups, offsets and transactions."""
    offsets = {
        (group, topic): (local.offset(group, topic), local.fetched(group, topic, stable=True).error_code)
        for group in GROUPS
        for topic in TOPICS
    }
    transactions = {
        t.transactional_id: (t.transaction_state, t.producer_id)
        for t in local.call("ListTransactions", 2).transaction_states
    }
    listed = sorted((g.group_id, g.group_state) for g in local.call("ListGroups", 5).groups)
    return {"offsets": offsets, "transactions": transactions, "groups": listed}


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_a_crash_changes_nothing_that_a_client_can_see(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Local(Path(folder))) as local:
        producers = {name: local.producer(name) for name in IDS}
        for step, *arguments in steps:
            _do(local, producers, step, arguments)
            local.clock.advance(0)
        before = view(local)
        local.crash()
        assert view(local) == before
        for name in IDS:
            _do(local, producers, "end", [name, True, 3])
        local.clock.advance(0)
        assert all(code == 0 for _, code in view(local)["offsets"].values()), "nothing stays unstable"


def _do(local: Local, producers: dict[str, tuple[int, int]], step: str, arguments: list[Any]) -> None:
    if step == "commit":
        group, topic, offset = arguments
        assert local.commit(offset, group, topic) == 0
        assert local.offset(group, topic) == offset
    elif step == "stage":
        name, group, offset = arguments
        before = local.offset(group)
        assert local.stage(producers[name], offset, name=name, group=group) == 0
        assert local.offset(group) == before
    elif step == "end":
        name, commit, version = arguments
        pid, epoch = producers[name]
        if local.state(name) == "Ongoing":
            assert local.end((pid, epoch), commit, name=name, version=version) == 0
            producers[name] = (pid, epoch + 1) if version == 5 else (pid, epoch)
    elif step == "delete":
        local.call("DeleteGroups", 2, groups_names=arguments)
        assert local.offset(arguments[0]) == -1
    elif step == "forget":
        topics = [{"name": "t", "partitions": [{"partition_index": 0}]}]
        local.call("OffsetDelete", 0, group_id=arguments[0], topics=topics)
        assert local.offset(arguments[0]) == -1
    else:
        local.crash()
