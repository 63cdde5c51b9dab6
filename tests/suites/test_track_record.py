"""The list of bugs that released brokers had: whole, and about promises and areas that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.case import own_cases
from brokertrial.suites.guarantees import registry
from brokertrial.suites.proving.track_record.bugs import bugs
from brokertrial.suites.proving.track_record.page import counted, page
from brokertrial.suites.proving.track_record.record import Missed, ReleaseRecord

ROW = """[[bug]]
id = "one"
issue = "KAFKA-1"
suffers = "It is slow."
requests = "Metadata"
has = "kafka:1.0"
mended = "{mended}"
areas = ["admin"]
guarantees = []
checked = "source"
"""


def test_the_list_is_of_promises_and_areas_that_there_are() -> None:
    areas = {case.area for case in own_cases()}
    for bug in bugs():
        assert set(bug.areas) <= areas, bug.id
        assert set(bug.guarantees) <= set(registry()), bug.id


def test_the_list_is_long_and_of_several_brokers() -> None:
    assert len(bugs()) >= 40
    assert {bug.has.partition(":")[0] for bug in bugs()} == {"kafka", "kfake"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ROW.format(mended="kafka:1.0"), "two targets"),
        (ROW.format(mended="kafka:2.0") * 2, "given twice: one"),
        (ROW.format(mended="kafka:2.0") + "fixed = true\n", "unknown field"),
    ],
)
def test_a_row_that_is_not_whole_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bugs.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        bugs(path)


def test_a_page_keeps_the_counts_of_notes_that_are_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "bugs.toml"
    path.write_text(ROW.format(mended="kafka:2.0"), encoding="utf-8")
    written = page(bugs(path), ReleaseRecord(tmp_path), [], [Missed("one", "nothing is found")], {"one": 17})
    assert counted(written) == {"one": 17}
