"""What the target says of the topics of a trial: the settings that decide what it may delete and clean, and when."""

from __future__ import annotations

from collections.abc import Iterable

from brokertrial.histories.recorder import Recorder
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.wire import Wire

TOLD = ("cleanup.policy", "retention.ms", "retention.bytes", "min.compaction.lag.ms")


def tell_settings(wire: Wire, recorder: Recorder, topics: Iterable[str]) -> None:
    """An event `topic` for each; of a target that does not tell its settings nothing is written, and nothing that
    needs them is judged."""
    if not wire.versions("DescribeConfigs"):
        return
    for topic in topics:
        try:
            settings = wire.configs_of_topic(topic)
        except (BrokerAtFault, NotApplicable, Unclear):
            wire.drop_lines()
            continue
        told = {name.replace(".", "_"): value for name in TOLD if (value := settings.get(name)) is not None}
        if told:
            recorder.event("topic", topic=topic, **told)
