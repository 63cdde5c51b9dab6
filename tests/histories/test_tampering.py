"""Every file of a history, altered in every way: each is refused with one sentence."""

import shutil

import msgspec
import pytest

from brokertrial.histories.header import (
    FILE,
    Header,
    HistoryIncomplete,
    HistoryRefused,
    HistoryTampered,
    read_title,
    write_title,
)
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation, Record

FILES = ["history.json", "clients/00001.parquet", "operations/00001.parquet", "records/00001.parquet",
         "events/00001.parquet"]  # fmt: skip
PARTS = FILES[1:]


def record(folder, complete=True):
    recorder = Recorder.create(folder, Header(case="tests/tampering", target="nobody", seed=1))
    recorder.add(Client(client="p", library="wire"))
    for number in range(200):
        recorder.add(Operation(op=number, client="p", kind="send", call_ns=number, outcome="ok"))
        recorder.add(Record(op=number, client="p", topic="t", partition=0, value=number, side="sent", outcome="ok"))
    recorder.close(complete)
    return folder


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("histories")
    return record(folder / "one"), record(folder / "other")


@pytest.fixture
def pair(originals, tmp_path):
    """Two histories of the same case and seed, free to be spoilt."""
    return [shutil.copytree(original, tmp_path / original.name) for original in originals]


def refused(folder, **how):
    with pytest.raises(HistoryRefused) as caught:
        History.open(folder, **how)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence, sentence
    return caught.value


def test_untouched_ones_open(pair):
    assert [History.open(folder).arrow("records").num_rows for folder in pair] == [200, 200]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_a_hundred_bytes_cut_off(pair, file, place):
    path = pair[0] / file
    content = path.read_bytes()
    at = {"start": 0, "middle": len(content) // 2, "end": len(content) - 100}[place]
    path.write_bytes(content[:at] + content[at + 100 :])

    assert isinstance(refused(pair[0]), HistoryTampered)


@pytest.mark.parametrize("file", FILES)
def test_a_flipped_bit(pair, file):
    path = pair[0] / file
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)

    assert isinstance(refused(pair[0]), HistoryTampered)


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file(pair, file):
    (pair[0] / file).unlink()

    assert file in str(refused(pair[0]))


@pytest.mark.parametrize("file", FILES)
def test_a_file_swapped_between_two_runs(pair, file):
    one, other = (folder / file for folder in pair)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)

    for folder in pair:
        assert isinstance(refused(folder), HistoryTampered)


@pytest.mark.parametrize("file", PARTS)
def test_a_part_of_another_run_is_named_as_such(pair, file):
    shutil.copy(pair[1] / file, pair[0] / file)

    assert "another history" in str(refused(pair[0]))


@pytest.mark.parametrize("file", PARTS)
def test_a_part_too_many(pair, file):
    shutil.copy(pair[0] / file, (pair[0] / file).with_stem("00002"))

    assert "does not list it" in str(refused(pair[0]))


def test_a_missing_footer(pair):
    title = read_title(pair[0])
    write_title(pair[0], msgspec.structs.replace(title, parts=[], complete=False, closed_ns=None))

    assert isinstance(refused(pair[0]), HistoryIncomplete)


def test_a_footer_made_up_by_hand(pair):
    path = pair[0] / FILE
    path.write_text(path.read_text().replace('"rows": 200', '"rows": 199'))

    assert "checksum" in str(refused(pair[0], allow_incomplete=True))


def test_of_a_killed_run_a_gap_is_seen(tmp_path):
    folder = record(tmp_path / "h")
    title = read_title(folder)
    write_title(folder, msgspec.structs.replace(title, parts=[], complete=False, closed_ns=None))
    assert History.open(folder, allow_incomplete=True).arrow("records").num_rows == 200

    (folder / "records/00001.parquet").rename(folder / "records/00002.parquet")
    assert "missing" in str(refused(folder, allow_incomplete=True))


@pytest.mark.parametrize("file", PARTS)
def test_of_a_killed_run_a_foreign_part_is_seen(pair, file):
    title = read_title(pair[0])
    write_title(pair[0], msgspec.structs.replace(title, parts=[], complete=False, closed_ns=None))
    shutil.copy(pair[1] / file, pair[0] / file)

    assert "another history" in str(refused(pair[0], allow_incomplete=True))


def test_a_folder_without_a_history(tmp_path):
    assert "holds no history" in str(refused(tmp_path))


def test_a_format_from_the_future(pair):
    title = read_title(pair[0])
    write_title(pair[0], msgspec.structs.replace(title, format=99))

    assert "format 99" in str(refused(pair[0]))
