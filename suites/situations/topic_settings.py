"""The topics have other settings, which change nothing of what a case is about: a codec, or segments that roll early.

draw 1    the broker compresses with gzip
draw 2    the broker's time counts (LogAppendTime)
draw 3    the broker compresses with lz4, and records of more than an hour are in segments of their own
"""

from __future__ import annotations

from collections.abc import Mapping

from brokertrial.suites.situations.acting import ActingSituation

SETTINGS: Mapping[int, Mapping[str, str]] = {
    1: {"compression.type": "gzip"},
    2: {"message.timestamp.type": "LogAppendTime"},
    3: {"compression.type": "lz4", "segment.ms": "3600000", "index.interval.bytes": "64"},
}


class TopicSettings(ActingSituation):
    """What the case sets itself stays as it is."""

    def topic_settings(self, configs: Mapping[str, str]) -> Mapping[str, str]:
        self.effects += 1
        return {**SETTINGS[self.number], **configs}


SITUATION = TopicSettings
