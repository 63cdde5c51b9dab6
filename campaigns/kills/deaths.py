"""Kills brokers and writes down what stood where: leaders, in-sync sets, what the dead one's disk has and keeps."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import msgspec

from brokertrial.histories.recorder import Recorder
from brokertrial.reference_impl.broker.cluster import Cluster
from brokertrial.reference_impl.log import powercut, synced
from brokertrial.reference_impl.log.batch import HEADER_SIZE, read_header
from campaigns.kills.judgement import DEATH, Death, Standing
from campaigns.kills.support import control, wait_for


class Deaths:
    """The killing of one run; each death becomes an event of the history when the broker is started again."""

    def __init__(self, cluster: Cluster, recorder: Recorder, rng: Random, *, power_cut: bool) -> None:
        self._cluster, self._recorder, self._rng, self._power_cut = cluster, recorder, rng, power_cut
        self.count = 0

    def strike(self, node: int) -> Death:
        """Kills a broker with kill -9, waits until the controller knows, and cuts its power if that is asked for.

        An in-sync set that its leader proposed while it died is settled by then: what is left is what counts.
        """
        self.count += 1
        before = control(self._cluster, 0, do="dump")
        self._cluster.kill(node)
        at_ns = time.monotonic_ns()
        after = before

        def noticed() -> bool:
            nonlocal after
            after = control(self._cluster, 0, do="dump")
            return any(one["id"] == node and one["fenced"] for one in after["brokers"])

        wait_for(f"the controller to notice that broker {node} is dead", noticed)
        partitions = self._standings(node, before["partitions"], after["partitions"])
        if self._power_cut:
            powercut.cut(self._cluster.data_of(node), self._rng)
        return Death(
            number=self.count, node=node, at_ns=at_ns, again_ns=0, power_cut=self._power_cut, partitions=partitions
        )

    def again(self, death: Death) -> None:
        """Starts the broker again; returns when it may lead."""
        told = msgspec.structs.replace(death, again_ns=time.monotonic_ns())
        self._recorder.event(DEATH, node=death.node, fields=msgspec.json.encode(told).decode())
        self._cluster.restart(death.node)

    def _standings(self, node: int, before: list[dict], after: list[dict]) -> tuple[Standing, ...]:  # type: ignore[type-arg]
        left = {(one["topic"], one["partition"]): one["isr"] for one in after}
        found = []
        for one in before:
            where = one["topic"], one["partition"]
            end, kept = reach(self._cluster.data_of(node) / f"{one['topic']}-{one['partition']}")
            found.append(
                Standing(
                    topic=one["topic"], partition=one["partition"], leader=one["leader"],
                    leader_epoch=one["leader_epoch"], isr=tuple(one["isr"]), left=tuple(left[where]),
                    end=end, kept=kept if self._power_cut else end,
                )
            )  # fmt: skip
        return tuple(found)


def reach(folder: Path) -> tuple[int, int]:
    """Where the log of a dead broker ends, and where it would end after a power cut."""
    end = kept = 0
    cut = False
    logs = sorted(folder.glob("*.log"))
    for log in logs:
        end = max(end, int(log.stem))
        if not cut:
            kept = end
        size, safe = log.stat().st_size, synced.length(log)
        if size <= safe and log != logs[-1]:
            continue  # whole and safe: the next one begins where it ends
        for last, behind in _batches(log.read_bytes()):
            end = last + 1
            cut = cut or behind > safe
            if not cut:
                kept = end
        cut = cut or size > safe
    return end, kept


def _batches(data: bytes) -> list[tuple[int, int]]:
    """The last offset of each whole batch, and the position behind it."""
    found, position = [], 0
    while position + HEADER_SIZE <= len(data):
        header = read_header(data, position)
        position += header.size
        if header.magic != 2 or header.size < HEADER_SIZE or position > len(data):
            break
        found.append((header.last_offset, position))
    return found
