"""From an anomaly of a log to the few operations that show it: its pair, and the pair with what went on around it."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.linearizability.log import APPEND, EXACT, LogOperations
from brokertrial.checkers.linearizability.log_rows import APPENDS, ENDS, PARTITIONS, SIGHTS, logs
from brokertrial.checkers.linearizability.precedence import NEVER
from brokertrial.checkers.linearizability.search.question import Op, Question

NAMES = ("append-order", "read-from-future", "torn-batch", "stale-read", "end-regression")
PROJECTIONS = {"partitions": PARTITIONS, "appends": APPENDS, "ends": ENDS, "sights": SIGHTS}

WIDTH = 40
"""Operations of a picture: more cannot be read."""

BESIDE = 3
"""Offsets on either side of the contradiction within which other operations are shown."""


def questions(tables: Mapping[str, pa.Table], anomaly: Anomaly) -> list[Question]:
    """The window around the pair that proves the anomaly, and the pair alone."""
    log = _log_of(tables, anomaly)
    if log is None:
        return []
    pair = np.isin(log.op, anomaly.operations)
    if len(set(log.op[pair])) < len(set(anomaly.operations)):
        return []
    near = _near(log, pair)
    wide = np.flatnonzero(near & ~pair)[: WIDTH - int(pair.sum())]
    window = np.concatenate([np.flatnonzero(pair), wide])
    return [question(_chosen(log, window), anomaly.name), question(_chosen(log, pair), anomaly.name)]


def question(log: LogOperations, name: str = "") -> Question:
    """The log for a search engine. What fills the holes between its appends was appended by somebody unknown."""
    is_append = log.kind == APPEND
    appends = sorted({(int(low), int(high)) for low, high in zip(log.low[is_append], log.high[is_append], strict=True)})
    told = sorted({int(end) for end in log.low[~is_append]})
    begin = min([span[0] for span in appends[:1]] + told[:1])
    foreign = [
        Op(-number, "append", None, None, {"count": high - low}, {"base": low}, 0, "by somebody unknown")
        for number, (low, high) in enumerate(_holes(begin, appends, told), start=1)
    ]
    return Question("log", [*map(_op, *log), *foreign], {"end": begin}, name)


def _log_of(tables: Mapping[str, pa.Table], anomaly: Anomaly) -> LogOperations | None:
    for place in tables["partitions"].to_pylist():
        if (place["topic"], place["partition"]) == (anomaly.topic, anomaly.partition):
            return logs(tables).get(place["log"])
    return None


def _near(log: LogOperations, pair: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """What ran while the pair did, at offsets beside it."""
    begin = log.call[pair].min()
    end = max(log.call[pair].max(), max((int(ret) for ret in log.ret[pair] if ret != NEVER), default=0))
    low, high = log.low[pair].min() - BESIDE, log.high[pair].max() + BESIDE
    chosen: npt.NDArray[np.bool_] = (log.ret >= begin) & (log.call <= end) & (log.low >= low) & (log.high <= high)
    return chosen


def _chosen(log: LogOperations, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> LogOperations:
    return LogOperations(*(column[which] for column in log))


def _holes(begin: int, appends: Sequence[tuple[int, int]], told: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where the log grew and nobody says how, cut at the ends that were told: in order, as all the arguments are."""
    far = max([high for _, high in appends[-1:]] + list(told[-1:]))
    place, reached = 0, begin
    for low, high in [*appends, (far, far)]:
        while place < len(told) and told[place] <= reached:
            place += 1
        while place < len(told) and told[place] < low:
            yield reached, told[place]
            reached, place = told[place], place + 1
        if reached < low:
            yield reached, low
        reached = max(reached, high)


def _op(kind: int, op: int, call: int, ret: int, low: int, size: int) -> Op:
    returned = None if ret == NEVER else int(ret)
    if kind == APPEND:
        return Op(int(op), "append", int(call), returned, {"count": int(size)}, {"base": int(low)}, int(op))
    return Op(int(op), "end" if kind == EXACT else "saw", int(call), returned, {}, {"end": int(low)}, int(op))
