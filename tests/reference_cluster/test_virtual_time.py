"""Replication on virtual time: thousands of random steps, and nothing that was promised is ever lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.reference_impl.replica.leading import Leading
from brokertrial.reference_impl.replica.partition import Partition
from tests.reference_cluster.virtual import Cluster

STEPS = 2500


@pytest.mark.parametrize("seed", range(4))
def test_nothing_promised_is_lost(seed: int, tmp_path: Path) -> None:
    """Committed records stay, logs agree below the high watermark, no two brokers lead in one epoch."""
    cluster = Cluster(tmp_path, seed)
    for number in range(STEPS):
        cluster.step()
        if number % 100 == 0:
            cluster.check_agreement()
    cluster.heal()
    cluster.check_agreement()
    leader = cluster.brokers[cluster.topic.placements[0].leader].partition
    cluster.check_leader(leader)
    assert len(cluster.acked) > 30, "hardly anything was written"
    assert cluster.counts["elections"] > 3, cluster.counts


def test_the_steps_do_everything(tmp_path: Path) -> None:
    """All kinds of trouble happen, else the test above would prove little."""
    total = dict.fromkeys(("elections", "crashes", "truncations", "isr changes"), 0)
    for seed in range(10, 13):
        (tmp_path / str(seed)).mkdir()
        cluster = Cluster(tmp_path / str(seed), seed)
        for _ in range(STEPS):
            cluster.step()
        total = {kind: total[kind] + cluster.counts[kind] for kind in total}
    assert min(total.values()) > 3, total


def test_a_high_watermark_ahead_of_the_followers_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The near miss: a leader that calls its own end replicated loses something promised, and the checks say so."""
    monkeypatch.setattr(Leading, "high_watermark", lambda self, current, log_end, min_isr: log_end)
    _loses(tmp_path)


def test_truncation_to_the_high_watermark_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another: a follower that keeps its own tail where the epochs part ways."""
    monkeypatch.setattr(
        Partition, "part_ways", lambda self, epoch, end_offset: self.log.epochs.truncate_end(end_offset)
    )
    _loses(tmp_path)


def _loses(folder: Path) -> None:
    with pytest.raises((AssertionError, ValueError, RuntimeError)):
        for seed in range(20):
            (folder / str(seed)).mkdir()
            cluster = Cluster(folder / str(seed), seed)
            for number in range(STEPS):
                cluster.step()
                if number % 50 == 0:
                    cluster.check_agreement()
            cluster.heal()
            cluster.check_agreement()
            cluster.check_leader(cluster.brokers[cluster.topic.placements[0].leader].partition)
