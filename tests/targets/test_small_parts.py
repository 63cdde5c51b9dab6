"""Ports, log files, the cache: the parts that targets are made of."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from brokertrial.suites.targets.cache import make_once
from brokertrial.suites.targets.logs import LogWatch, last_lines
from brokertrial.wire.addresses import reached


@pytest.fixture
def watch() -> LogWatch:
    return LogWatch()


def test_lines_belong_to_the_time_at_which_they_were_written(watch: LogWatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch.follow(1, log)
    log.write_text("one\ntwo\n")
    watch.lines(0, 0)
    tick = threading.Event()
    tick.wait(0.02)  # file times have the kernel's tick
    between = time.monotonic_ns()
    tick.wait(0.02)
    with log.open("a") as stream:
        stream.write("three\n")
    after = watch.lines(between, time.monotonic_ns())
    before = watch.lines(0, between)
    watch.close()
    assert [line.text for line in before] == ["one", "two"]
    assert [line.text for line in after] == ["three"]


def test_half_a_line_waits_for_its_end(watch: LogWatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch.follow(1, log)
    log.write_text("whole\nha")
    assert [line.text for line in watch.lines(0, time.monotonic_ns())] == ["whole"]
    with log.open("a") as stream:
        stream.write("lf\n")
    assert [line.text for line in watch.lines(0, time.monotonic_ns())] == ["whole", "half"]
    watch.close()


def test_a_file_that_is_begun_anew_is_read_anew(watch: LogWatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch.follow(1, log)
    log.write_text("a long first line\n")
    watch.lines(0, 0)
    log.write_text("new\n")
    assert [line.text for line in watch.lines(0, time.monotonic_ns())] == ["new"]
    watch.close()


def test_an_endless_line_does_not_stop_the_watch(watch: LogWatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch.follow(1, log)
    log.write_bytes(b"x" * 200_000)
    watch.lines(0, 0)
    with log.open("a") as stream:
        stream.write("\nend\n")
    assert [line.text for line in watch.lines(0, time.monotonic_ns())][-1] == "end"
    watch.close()


def test_the_file_written_last_has_the_last_word(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    out.write_text("\n".join(f"out {number}" for number in range(30)))
    err.write_text("the reason")
    found = last_lines([err, out, tmp_path / "absent"])
    assert len(found) == 20 and "the reason" in found


def test_two_that_make_the_same_thing_leave_one(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=10)

    def make(folder: Path) -> None:
        (folder / "jar").write_text("content")
        both.wait()

    threads = [threading.Thread(target=make_once, args=(tmp_path / "place", make)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert (tmp_path / "place" / "jar").read_text() == "content"


def test_what_could_not_be_made_leaves_nothing(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        make_once(tmp_path / "shelf" / "place", make)
    assert list((tmp_path / "shelf").iterdir()) == []


def test_an_advertised_address_is_looked_up_with_its_port_first() -> None:
    table = {"broker-1:9092": "127.0.0.1:19092", "broker-1": "10.0.0.1", "broker-2": "127.0.0.1:29092"}
    assert reached("broker-1", 9092, table) == ("127.0.0.1", 19092)
    assert reached("broker-1", 9093, table) == ("10.0.0.1", 9093)
    assert reached("broker-2", 9092, table) == ("127.0.0.1", 29092)
    assert reached("broker-3", 9092, table) == ("broker-3", 9092)
