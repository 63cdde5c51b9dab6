"""Every call of a workload that becomes an operation ticks once, so that `at_op` means the same in each of them."""

import types
from typing import Any

import pytest

from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.workloads.committing import commit_positions
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.transactional_session import TransactionalSession


@pytest.fixture
def context(tmp_path):
    case_context = CaseContext(prefix="x", case="tests/case", latency_ms=1.0)
    with Recorder.create(tmp_path / "history", Header(case="tests/ticks", target="nobody")) as recorder:
        yield WorkloadContext(
            case_context, "127.0.0.1:1", recorder, {"t": 1}, [], lambda what: f"x-{what}", lambda client, text: None
        )


@pytest.mark.parametrize("abort", [False, True])
def test_a_transaction_ticks_as_it_begins_and_as_it_ends(context, abort):
    session = TransactionalSession(context, "producer-1", "x")
    done = types.SimpleNamespace(
        begin_transaction=lambda: None,
        commit_transaction=lambda seconds: None,
        abort_transaction=lambda seconds: None,
        flush=lambda seconds: 0,
        poll=lambda seconds: 0,
    )
    session.writer.producer = done
    txn = session.begin()
    assert context.clock.operations() == 1
    session.end(txn, abort)
    assert context.clock.operations() == 2


def test_a_commit_of_a_group_ticks(context):
    consumer: Any = types.SimpleNamespace(commit=lambda **how: [])
    commit_positions(context, consumer, "member-1", "g", [])
    assert context.clock.operations() == 1
