"""The check of the example package on histories made by hand: an anomaly, and its near miss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial import extensions
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import Judgement, judge
from brokertrial.histories.header import Header
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation, Record
from tests.extensions.environment import EXAMPLE, install


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package, in this process."""
    install(EXAMPLE, tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    for known in (all_checks, extensions._installed_points):
        known.cache_clear()
    yield
    for known in (all_checks, extensions._installed_points):
        known.cache_clear()


def judged(folder: Path, *offsets: int) -> Judgement:
    """A history in which one reader was given these offsets."""
    with Recorder.create(folder, Header(case="tests/example", target="nobody", nodes=1)) as recorder:
        recorder.add(Client(client="r", library="librdkafka", isolation="read_uncommitted", mode="assign"))
        for op, offset in enumerate(offsets, 1):
            place = {"topic": "t", "partition": 0, "outcome": "ok"}
            recorder.add(Operation(op=op, client="r", kind="poll", call_ns=op * 10, return_ns=op * 10 + 5, **place))
            recorder.add(Record(op=op, client="r", offset=offset, value=op, side="seen", stream=1, **place))
    return judge(History.open(folder), ["negative-offset"])


@pytest.mark.usefixtures("installed")
def test_an_anomaly_and_its_near_miss(tmp_path: Path) -> None:
    found = judged(tmp_path / "anomaly", -1, 0, 1)
    assert [(each.name, each.guarantee, each.offsets) for each in found.anomalies] == [
        ("negative-offset", "example-001", (-1,))
    ]
    assert found.anomalies[0].sentence == "A record of t-0 was read at offset -1."
    clean = judged(tmp_path / "near-miss", 0, 1)
    assert (clean.anomalies, clean.judged) == ([], ["negative-offset"])


@pytest.mark.usefixtures("installed")
def test_it_is_asked_with_all_others(tmp_path: Path) -> None:
    assert "negative-offset" in all_checks() and "lost-write" in all_checks()
