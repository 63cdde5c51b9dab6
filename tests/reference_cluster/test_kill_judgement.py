"""A loss is excused by the power cut of its partition's last in-sync replica, and by nothing that only looks so."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec
import pytest

from brokertrial.histories.header import Header
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Batch, Client, Operation, Record
from brokertrial.reference_impl.log import powercut
from brokertrial.reference_impl.log.batch import read_header
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.settings.config import LogSettings
from brokertrial.wire.records import Record as WireRecord
from brokertrial.wire.records import build_batch
from campaigns.kills.deaths import reach
from campaigns.kills.judgement import DEATH, Death, Findings, Standing, find, losses
from campaigns.kills.support import rows_of_send

SECOND = 1_000_000_000
CUT_NS, AGAIN_NS = 10 * SECOND, 12 * SECOND
END, KEPT = 6, 2


def standing(**other: object) -> Standing:
    """Of t-1 when node 2, the last in-sync replica, was cut off: it had six records, the disk keeps two."""
    usual = {"topic": "t", "partition": 1, "leader": 2, "leader_epoch": 5, "isr": (2,), "left": (2,)}
    return Standing(**(usual | {"end": END, "kept": KEPT} | other))  # type: ignore[arg-type]


def death(*, power_cut: bool = True, at_ns: int = CUT_NS, again_ns: int = AGAIN_NS, **other: object) -> Death:
    place = standing(**other)
    return Death(number=1, node=2, at_ns=at_ns, again_ns=again_ns, power_cut=power_cut, partitions=(place,))


@dataclass
class Story:
    """Six records sent to t-1 and acknowledged, offset by offset; some are gone, and others took their place."""

    gone: tuple[int, ...] = ()
    deaths: list[Death] = field(default_factory=lambda: [death()])
    called_ns: int = 8 * SECOND
    answered_ns: int = 9 * SECOND
    later: int = 3
    """Records sent when all was over, from the first gone offset on."""

    def send(self, offset: int) -> tuple[Record, Operation]:
        operation, record = rows_of_send("p", offset + 1, ("t", 1), offset, offset, self.called_ns, offset)
        operation.return_ns = self.answered_ns
        return record, operation

    def seen(self) -> set[tuple[str, int, int]]:
        return {("t", 1, value) for value in range(END) if value not in self.gone}

    def told(self, folder: Path) -> Findings:
        with Recorder.create(folder / "history", Header(case="kills/cuts", target="reference:3", nodes=3)) as recorder:
            recorder.add(Client(client="p", library="librdkafka", acks=-1, idempotence=True))
            recorder.add(Client(client="r", library="wire", isolation="read_uncommitted", mode="assign"))
            for one in self.deaths:
                recorder.event(DEATH, node=one.node, fields=msgspec.json.encode(one).decode())
            log = {}
            for value in range(END):
                self._sent(recorder, value, value, self.called_ns, self.answered_ns)
                if value not in self.gone:
                    log[value] = value
            for value in range(END, END + self.later):
                offset = next(one for one in range(100) if one not in log)
                self._sent(recorder, value, offset, 20 * SECOND, 21 * SECOND)
                log[offset] = value
            self._read(recorder, log)
        return find(folder / "history", folder / "scratch")

    def _sent(self, recorder: Recorder, value: int, offset: int, called_ns: int, answered_ns: int) -> None:
        operation, record = rows_of_send("p", recorder.next_op(), ("t", 1), value, value, called_ns, offset)
        operation.return_ns = answered_ns
        recorder.add(operation)
        recorder.add(record)

    def _read(self, recorder: Recorder, log: dict[int, int]) -> None:
        op, end = recorder.next_op(), max(log) + 1
        shared = {"op": op, "client": "r", "topic": "t", "partition": 1, "outcome": "ok"}
        recorder.add(Operation(**shared, kind="fetch", call_ns=30 * SECOND, return_ns=31 * SECOND, high_watermark=end))  # type: ignore[arg-type]
        before = -1
        for place, (offset, value) in enumerate(sorted(log.items())):
            recorder.add(
                Record(
                    **shared, offset=offset, value=value, key=value, side="seen", stream=1, position=place,  # type: ignore[arg-type]
                    prev_offset=before,
                )
            )  # fmt: skip
            before = offset
        recorder.event("final-read", topic="t", partition=1, offset=end)


def test_nothing_lost_nothing_to_explain(tmp_path: Path) -> None:
    found = Story().told(tmp_path)
    assert (found.losses, found.judgement.anomalies, found.bad) == ([], [], False)
    assert len(found.lonely) == 1


def test_the_cut_of_the_last_in_sync_replica_explains_what_only_its_disk_had(tmp_path: Path) -> None:
    found = Story(gone=(2, 3, 4, 5)).told(tmp_path)
    assert [(loss.offset, loss.cut) for loss in found.losses] == [(offset, death()) for offset in (2, 3, 4, 5)]
    assert found.judgement.anomalies == [] and not found.bad
    assert "lost-write" in found.judgement.judged


SENT_AFTER = Story(gone=(2, 3, 4, 5), called_ns=CUT_NS + 1, answered_ns=CUT_NS + 2)
NEXT_LIFE = Story(gone=(2, 3, 4, 5), answered_ns=AGAIN_NS)


@pytest.mark.parametrize(
    ("story", "because"),
    [
        (Story(gone=(2, 3, 4, 5), deaths=[]), "was never cut"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(partition=0)]), "of t-1 was never cut"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(topic="u")]), "of t-1 was never cut"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(power_cut=False)]), "was never cut"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(isr=(2, 3), left=(3,))]), "was never cut"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(isr=(2, 3), left=(2, 3))]), "was never cut"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(left=(3,))]), "was never cut"),
        (SENT_AFTER, "kill 1: the record was sent after the cut"),
        (NEXT_LIFE, "kill 1: it was acknowledged when node 2 ran again"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(kept=END)]), "kill 1: the disk of node 2 kept everything below 6"),
        (Story(gone=(2, 3, 4, 5), deaths=[death(end=2)]), "kill 1: the log of node 2 ended at 2"),
    ],
    ids=[
        "no death", "of another partition", "of another topic", "a kill, not a cut", "not the last one",
        "a set in which nobody died", "out of the set before", "sent after it", "acknowledged in the next life",
        "the disk had it", "that disk had it never",
    ],
)  # fmt: skip
def test_nothing_else_explains_a_loss(story: Story, because: str) -> None:
    found = losses([story.send(offset) for offset in range(END)], story.seen(), story.deaths)
    assert [(loss.offset, loss.cut) for loss in found] == [(offset, None) for offset in story.gone]
    assert all(because in loss.why_not for loss in found)


def test_a_loss_without_a_cut_is_what_the_checkers_say_too(tmp_path: Path) -> None:
    found = Story(gone=(2, 3, 4, 5), deaths=[death(power_cut=False)]).told(tmp_path)
    assert [loss.offset for loss in found.unexplained] == [2, 3, 4, 5] and found.bad
    assert {one.name for one in found.judgement.anomalies} >= {"offset-reuse", "unseen"}


def test_one_loss_too_many_is_a_failure_beside_those_explained(tmp_path: Path) -> None:
    found = Story(gone=(1, 2, 3, 4, 5)).told(tmp_path)
    assert [loss.offset for loss in found.unexplained] == [1] and len(found.losses) == 5 and found.bad
    assert found.judgement.anomalies and all(1 in one.offsets for one in found.judgement.anomalies)


def test_a_record_that_fits_the_later_of_two_cuts_is_explained_by_that_one(tmp_path: Path) -> None:
    early = death(at_ns=5 * SECOND, again_ns=6 * SECOND)
    found = Story(gone=(2, 3, 4, 5), deaths=[early, death()]).told(tmp_path)
    assert {loss.cut for loss in found.losses} == {death()} and not found.bad


def test_an_explained_loss_excuses_no_duplicate(tmp_path: Path) -> None:
    story = Story(gone=(2, 3, 4, 5))
    told = story._read

    def doubled(recorder: Recorder, log: dict[int, int]) -> None:
        told(recorder, log | {max(log) + 1: 0})

    story._read = doubled  # type: ignore[method-assign]
    found = story.told(tmp_path)
    assert not found.unexplained and found.bad
    assert {one.name for one in found.judgement.anomalies} & {"duplicate", "offset-reuse", "moved-record"}


@pytest.mark.parametrize(("epoch", "sequence", "bad"), [(0, 0, True), (1, 0, False)])
def test_a_record_that_the_client_sent_as_a_new_one_is_no_duplicate_of_the_brokers(
    tmp_path: Path, epoch: int, sequence: int, bad: bool
) -> None:
    story = Story()
    told = story._read

    def doubled(recorder: Recorder, log: dict[int, int]) -> None:
        again = max(log) + 1
        told(recorder, log | {again: 0})
        for offset, of_epoch, its in ((0, 0, 0), (again, epoch, sequence)):
            recorder.add(Batch(topic="t", partition=1, base_offset=offset, last_offset=offset, producer_id=7,
                               producer_epoch=of_epoch, base_sequence=its, client="r", seen_at="final"))  # fmt: skip

    story._read = doubled  # type: ignore[method-assign]
    found = story.told(tmp_path)
    assert "duplicate" in {one.name for one in found.judgement.anomalies}
    assert ("duplicate" in {one.name for one in found.guilty}, found.bad) == (bad, bad)


@pytest.mark.parametrize("torn", [None, 7])
def test_what_a_disk_keeps_is_what_a_start_after_the_cut_finds(tmp_path: Path, torn: int | None) -> None:
    (tmp_path / "t-0").mkdir()
    log = open_log(tmp_path / "t-0", LogSettings(segment_bytes=1000), 0, clean=True)
    for offset in range(20):
        batch = bytearray(build_batch([WireRecord(None, b"%d" % offset + bytes(150), timestamp=1)], base_offset=offset))
        log.append(batch, read_header(batch), 0)
        if offset == 17:
            log.flush()
    log.close(clean=False)
    assert len(log.segments) > 2
    assert reach(log.folder) == (20, 18)
    powercut.cut(tmp_path, None if torn is None else Random(torn))
    again = open_log(tmp_path / "t-0", LogSettings(), 0, clean=False)
    assert again.end_offset == 18
    again.close(clean=False)


def test_a_log_that_was_never_synced_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    log = open_log(tmp_path / "t-0", LogSettings(), 0, clean=True)
    assert reach(tmp_path / "t-0") == (0, 0)
    batch = bytearray(build_batch([WireRecord(None, b"x", timestamp=1)]))
    log.append(batch, read_header(batch), 0)
    log.close(clean=False)
    assert reach(log.folder) == (1, 0)
