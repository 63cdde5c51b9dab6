"""From an anomaly of a committed offset to the few operations that show it: the accesses to the two commits in it."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.checks import commit_order
from brokertrial.checkers.linearizability.registers import FOREVER, Access
from brokertrial.checkers.linearizability.search.question import Op, Question

NAMES = (commit_order.NAME,)
PROJECTIONS = commit_order.PROJECTIONS


def questions(tables: Mapping[str, pa.Table], anomaly: Anomaly) -> list[Question]:
    """The writes of the two values, and the accesses that returned first and were called last."""
    accesses = commit_order.accesses_of(tables, str(anomaly.group), str(anomaly.topic), int(anomaly.partition or 0))
    values = sorted({access.value for access in accesses if access.op in anomaly.operations})
    ops = [_op(access) for value in values for access in _bounds([each for each in accesses if each.value == value])]
    ops = [op for op in ops if op.op]
    return [Question("register", ops, {}, anomaly.name)] if ops else []


def _bounds(cluster: Sequence[Access]) -> list[Access]:
    """What the zone of a value is made of."""
    first = min(cluster, key=lambda access: (access.ret, access.op))
    last = max(cluster, key=lambda access: (access.call, access.op))
    return sorted({first, last, *(access for access in cluster if access.is_write)})


def _op(access: Access) -> Op:
    ret = None if access.ret == FOREVER else access.ret
    if access.is_write:
        return Op(access.op, "write", access.call, ret, {"value": access.value}, {}, access.op)
    value = None if access.value == commit_order.NOTHING else access.value
    return Op(access.op, "read", access.call, ret, {}, {"value": value}, access.op)
