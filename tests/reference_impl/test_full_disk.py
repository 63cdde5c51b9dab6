"""The disk is full: clients are told so in Kafka's codes, and what was acknowledged is there after kill -9."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.control.journal import MetadataJournal
from brokertrial.reference_impl.log.batch import read_header
from brokertrial.reference_impl.log.epochs import LeaderEpochs
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.log.segment import Aborted, Segment
from brokertrial.reference_impl.settings.config import BrokerConfig, LogSettings
from brokertrial.wire import errors
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, batches, build_batch
from tests.reference_impl.brokers import BrokerProcess, Deadline

OF_ITS_OWN = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
"""A mount that nobody else sees, and that is gone with the process."""
_MIB = 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 4 MiB, seen through the process that holds it."""
    mount = f"mount -t tmpfs -o size={_MIB}m tmpfs {tmp_path} && echo mounted && exec cat"
    holder = subprocess.Popen(
        [*OF_ITS_OWN, "sh", "-c", mount], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdin is not None
    try:
        if holder.stdout.readline() != "mounted\n":
            pytest.skip("no small disk can be mounted here")
        yield Path(f"/proc/{holder.pid}/root{tmp_path}")
    finally:
        holder.stdin.close()
        holder.wait(20)
        holder.stdout.close()


class Client:
    """Writes batches of 50 kB and remembers which were acknowledged."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker, self.acknowledged = broker, dict[int, int]()

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        with Connection("127.0.0.1", self._broker.port, timeout_s=30) as line:
            return line.call(request(api, **fields), version)

    def create(self, name: str) -> int:
        wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
        return int(self.ask("CreateTopics", 5, topics=wanted, timeout_ms=5000).topics[0].error_code)

    def write(self, value: int) -> int:
        """The error code."""
        now_ms = int(time.time() * 1000)
        batch = build_batch([Record(None, b"%d " % value + bytes(50_000), timestamp=now_ms)])
        data = [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]
        part = self.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data).responses[0].partition_responses[0]
        if not part.error_code:
            self.acknowledged[value] = part.base_offset
        return int(part.error_code)

    def commit(self, offset: int) -> int:
        part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m" * 2000}
        asked = {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": [{"name": "t", "partitions": [part]}]}
        return int(self.ask("OffsetCommit", 8, **asked).topics[0].partitions[0].error_code)

    def committed(self) -> int:
        groups = [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}]
        return int(self.ask("OffsetFetch", 8, groups=groups).groups[0].topics[0].partitions[0].committed_offset)

    def read(self) -> dict[int, int]:
        """Everything that is there, value and offset."""
        found: dict[int, int] = {}
        while data := self._fetched(len(found)):
            for batch in batches(data):
                found |= {int(bytes(one.value or b"").split()[0]): one.offset for one in batch.records()}
        return found

    def _fetched(self, offset: int) -> Any:
        part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        asked = {"max_wait_ms": 0, "max_bytes": 1 << 20, "topics": [{"topic": "t", "partitions": [part]}]}
        return self.ask("Fetch", 12, **asked).responses[0].partitions[0].records


def test_a_node_killed_on_a_full_disk_comes_back_with_all_it_acknowledged(small_disk: Path, tmp_path: Path) -> None:
    broker = BrokerProcess(small_disk / "data", "--set", "offsets.topic.num.partitions=1")
    broker.log = tmp_path.parent / f"{tmp_path.name}.log"
    (small_disk / "ballast").write_bytes(bytes(1 << 20))
    broker.start()
    try:
        client = Client(broker)
        assert client.create("t") == 0 and client.commit(1) == 0
        refused = next(code for value in range(1000) if (code := client.write(value)))
        assert refused == errors.KAFKA_STORAGE_ERROR and len(client.acknowledged) > 20
        committed = next(at for at in range(2, 1000) if client.commit(at)) - 1
        assert client.commit(committed + 1) == errors.NOT_COORDINATOR
        fill_up(small_disk / "the rest")
        assert client.read() == client.acknowledged, "reads go on"
        for _ in range(2):  # the second start finds what the first one could not write
            broker.kill()
            broker.start()
            assert client.read() == client.acknowledged
            assert client.committed() == committed
            assert client.write(5000) in (errors.NONE, errors.KAFKA_STORAGE_ERROR)
        (small_disk / "ballast").unlink()
        patience = Deadline("writes on a disk with room again")
        while patience and client.write(6000 + len(client.acknowledged)):
            pass
        assert client.commit(4711) == 0
        broker.kill()
        broker.start()
        assert client.read() == client.acknowledged and client.committed() == 4711
        assert "Traceback" not in broker.log.read_text()
    finally:
        broker.kill()


def fill_up(path: Path) -> None:
    """Takes what is left of the disk, to the last byte."""
    with path.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as full:
                assert full.errno == errno.ENOSPC


class NearlyFull:
    """`os.pwrite` on a disk that takes so many bytes more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room, self._write = room, os.pwrite
        monkeypatch.setattr(os, "pwrite", self)

    def __call__(self, fd: int, data: Any, at: int) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self._write(fd, bytes(data)[: self.room], at)
        self.room -= taken
        return taken


def test_half_a_batch_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build_batch([Record(None, b"x" * 500, timestamp=1)])
    segment = Segment(tmp_path, 0, 0)
    segment.append(batch, read_header(batch))
    NearlyFull(monkeypatch, 200)
    with pytest.raises(OSError, match="No space"):
        segment.append(batch, read_header(batch))
    assert segment.path.stat().st_size == segment.size == len(batch)
    segment.close()


def test_half_a_line_of_the_journal_does_not_hide_what_comes_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = MetadataJournal(tmp_path / "journal")
    journal.write({"kind": "cluster", "id": "c"})
    disk = NearlyFull(monkeypatch, 10)
    with pytest.raises(OSError, match="No space"):
        journal.write({"kind": "start"})
    disk.room = 1 << 20
    journal.write({"kind": "producer_ids", "next": 1000})
    journal.close()
    again = MetadataJournal(tmp_path / "journal")
    assert (again.image.cluster_id, again.image.starts, again.image.next_producer_id) == ("c", 0, 1000)
    again.close()


def test_an_aborted_transaction_is_indexed_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [Aborted(1, n, n + 1, n + 2) for n in range(0, 30, 10)]
    batch = build_batch([Record(None, b"x", timestamp=1)])
    segment = Segment(tmp_path, 0, 0)
    segment.append(batch, read_header(batch))
    segment.add_aborted(entries[0])
    disk = NearlyFull(monkeypatch, 7)
    segment.add_aborted(entries[1])
    disk.room = 1 << 20
    segment.add_aborted(entries[2])
    segment.write_index()
    segment.close()
    again = Segment(tmp_path, 0, 0)
    assert again.load_index() and again.aborted == entries


def test_epochs_that_cannot_be_written_are_read_off_the_batches_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs = LeaderEpochs(tmp_path / "leader-epochs")
    epochs.assign(1, 0)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    epochs.assign(2, 10)
    assert epochs.latest() == 2
    assert LeaderEpochs(tmp_path / "leader-epochs").latest() is None, "an old file would be believed"


def test_data_whose_label_is_torn_are_kept(tmp_path: Path) -> None:
    node = Node(BrokerConfig(tmp_path), ManualClock())
    node.recover()
    node.create_topic("t", 1, {})
    node.append_internal("t", 0, build_batch([Record(None, b"x", timestamp=node.clock.now_ms())]))
    node.replicas.close()
    node.journal.close()
    (tmp_path / "t-0" / "topic-id").write_text("")
    again = Node(BrokerConfig(tmp_path), ManualClock())
    again.recover()
    partition = again.partition("t", 0)
    assert partition is not None and partition.log.end_offset == 1
    again.replicas.close()
    again.journal.close()
    assert (tmp_path / "t-0" / "topic-id").read_text() == str(again.topics.get("t").id)  # type: ignore[union-attr]


def test_retention_makes_room_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path / "t-0", LogSettings(segment_bytes=1000, retention_bytes=1000), 0, clean=True)
    (tmp_path / "t-0").mkdir()
    for value in range(10):
        batch = bytearray(build_batch([Record(None, b"%d" % value + bytes(400), timestamp=1)], base_offset=value))
        log.append(batch, read_header(batch), 0)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        log.advance_start(1)
    assert log.start_offset == 0, "what cannot be kept is not promised"
    assert log.apply_retention(0, log.end_offset) > 0
    start, left = log.start_offset, sorted(path.name for path in log.folder.glob("*.log"))
    assert start > 0 and left[0] == f"{start:020d}.log"
    log.close(clean=False)
    again = open_log(tmp_path / "t-0", LogSettings(), 0, clean=False)
    assert (again.start_offset, again.end_offset) == (start, 10)
    again.close(clean=False)
