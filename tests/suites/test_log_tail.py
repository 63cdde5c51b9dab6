"""What a power failure leaves of the newest batch: the others stay as they are, and it is no batch any more."""

from pathlib import Path

import pytest

from brokertrial.suites.probe.log_tail import DAMAGES, damage
from brokertrial.wire.records import Record, RecordsMalformed, batches, build_batch

FIRST = build_batch([Record(key=None, value=b"first")])
LAST = build_batch([Record(key=None, value=b"last")], base_offset=1)


@pytest.mark.parametrize("how", DAMAGES)
def test_the_newest_batch_alone_is_spoiled(how: str, tmp_path: Path) -> None:
    segment = _segment(tmp_path, "00000000000000000000.log", FIRST + LAST)
    assert damage([str(tmp_path / "elsewhere"), str(tmp_path)], "t", 0, how) == ""
    left = segment.read_bytes()
    assert left.startswith(FIRST)
    assert left != FIRST + LAST
    assert [part.crc_ok() for part in batches(left)] in ([True], [True, False])


def test_an_empty_newest_segment_is_passed_by(tmp_path: Path) -> None:
    older = _segment(tmp_path, "00000000000000000000.log", FIRST)
    newer = _segment(tmp_path, "00000000000000000001.log", b"")
    assert damage([str(tmp_path)], "t", 0, "its last bytes are missing") == ""
    assert len(older.read_bytes()) < len(FIRST)
    assert newer.read_bytes() == b""


def test_a_log_that_is_not_here_is_left_alone(tmp_path: Path) -> None:
    other = _segment(tmp_path, "00000000000000000000.log", FIRST, topic="other")
    assert "in no folder" in damage([str(tmp_path)], "t", 0, "one bit of it is another")
    assert other.read_bytes() == FIRST


def test_what_is_cut_off_is_malformed_to_those_who_want_it_whole(tmp_path: Path) -> None:
    segment = _segment(tmp_path, "00000000000000000000.log", FIRST)
    damage([str(tmp_path)], "t", 0, "its last bytes are missing")
    with pytest.raises(RecordsMalformed):
        list(batches(segment.read_bytes(), cut_allowed=False))


def _segment(folder: Path, name: str, data: bytes, topic: str = "t") -> Path:
    log = folder / f"{topic}-0"
    log.mkdir(exist_ok=True)
    (log / name).write_bytes(data)
    return log / name
