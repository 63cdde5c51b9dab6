"""The table of a series of kills: what was done, what it cost, what was lost and why. Made to be read by a stranger."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field

from campaigns.kills.judgement import Findings, Loss

NAMES = {
    "leaders": "leaders killed (kill -9)",
    "cuts": "leaders killed, and the power of their disks cut",
    "coordinators": "coordinators killed (kill -9) under a copy in transactions",
}
_EVERY, _SHOWN = 10, 20


@dataclass
class Course:
    """What is noted while the series runs."""

    kills: list[int] = field(default_factory=list)
    """The node of each."""
    resumed: list[float] = field(default_factory=list)
    """Seconds from a death to new acknowledgements, or to a new commit."""
    whole: list[float] = field(default_factory=list)
    """Seconds from a kill to all replicas in sync."""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    acked: int = 0
    unknown: int = 0
    stored: int = 0
    more: str = ""

    def killed(self, node: int, at: float, resumed: float | None, whole: float | None, *, alone: bool) -> None:
        """One kill is over; each tenth is told."""
        self.kills.append(node)
        if resumed is not None and whole is not None:
            self.resumed.append(resumed)
            self.whole.append(whole - at)
        if alone or len(self.kills) % _EVERY == 0:
            what = ", the last in-sync replica" if alone else ""
            print(f"  kill {len(self.kills):>4}  at {at - self.began:>6.1f} s  node {node}{what}", flush=True)

    def done(self, acked: int, unknown: int, more: str) -> None:
        """The load has ended."""
        self.seconds, self.acked, self.unknown, self.more = time.monotonic() - self.began, acked, unknown, more


def opening(options: argparse.Namespace) -> str:
    """What is about to happen."""
    waits = "at once or when all partitions acknowledge again" if options.without_wait else "when all are in sync again"
    return (
        f"{options.kills} {NAMES[options.series]}, the next one {waits}; seed {options.seed}, "
        f"flush.mode {options.flush}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )


def closing(course: Course, findings: Findings) -> str:
    """What was seen, then the losses, then what the checkers say."""
    lines = []
    if course.kills:
        each = course.seconds / len(course.kills)
        lines += [
            ("kills", f"{len(course.kills)} in {course.seconds:.0f} s, {each:.2f} s each"),
            ("killed until acknowledged again", _spread(course.resumed)),
            ("killed until all in sync again", _spread(course.whole)),
            ("acknowledged, not answered, stored", f"{course.acked}, {course.unknown}, {course.stored}"),
            ("clients", course.more),
        ]
    cuts = sum(death.power_cut for death in findings.deaths)
    explained = len(findings.losses) - len(findings.unexplained)
    judgement = findings.judgement
    lines += [
        ("deaths on record", f"{len(findings.deaths)}, {cuts} of them power cuts"),
        ("  of the last in-sync replica", str(len(findings.lonely))),
        ("acknowledged records lost", str(len(findings.losses))),
        ("  explained by such a cut", str(explained)),
        ("  not explained", str(len(findings.unexplained))),
        ("checks of checkers/", f"{len(judgement.judged)} judged, {len(judgement.anomalies)} anomalies"),
        ("  of the client's making", str(len(judgement.anomalies) - len(findings.guilty))),
    ]
    text = [f"{name:<37}{value}" for name, value in lines]
    text += _told(findings.losses, findings.began_ns)
    text += [f"anomaly {one.name} ({one.attribution}): {one.sentence}" for one in judgement.anomalies[:_SHOWN]]
    text += [f"inconclusive {name}: {why}" for name, why in judgement.inconclusive.items()]
    text.append(
        "FAILED" if findings.bad else "held: no loss, duplicate or disorder that is the brokers' and not explained"
    )
    return "\n".join(text)


def _told(losses: list[Loss], began_ns: int) -> list[str]:
    """The losses, those of one partition and one story on one line."""
    grouped: dict[tuple[str, int, int, str], list[Loss]] = defaultdict(list)
    for loss in losses:
        grouped[loss.topic, loss.partition, loss.cut.number if loss.cut else -1, loss.why_not].append(loss)
    lines = []
    for (topic, partition, _, why_not), found in sorted(grouped.items()):
        first, last = min(one.offset for one in found), max(one.offset for one in found)
        what = f"lost: {len(found)} records of {topic}-{partition}, offsets {first} to {last}"
        cut = found[0].cut
        if cut is None:
            lines.append(f"{what}: NOT EXPLAINED: {why_not}")
            continue
        standing = cut.standing(topic, partition)
        assert standing is not None
        lines.append(
            f"{what}: explained by kill {cut.number}: at {(cut.at_ns - began_ns) / 1e9:.1f} s the power of node "
            f"{cut.node} was cut, the last in-sync replica; its log went to {standing.end}, its disk to {standing.kept}"
        )
    return lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"... and {len(lines) - _SHOWN} lines more"]


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "not waited for"
    return f"median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s"
