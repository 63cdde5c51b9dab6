"""How long the cleaner rests between two looks at the logs: a setting of the brokers that may change while they run."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import COMPACT, awaited, write
from brokertrial.suites.probe.admin import BROKER, DELETE, SET

BACKOFF, LONG, SHORT = "log.cleaner.backoff.ms", "600000", "200"
ALL, WITHIN_S = "", 40


@case(
    "compaction/rests-no-longer-than-it-may",
    guarantees=["adm-010"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "topic-settings", "compaction", "chosen-settings", "kill", "terminate", "restart"],
    detects=["K47"],
)
def the_cleaner_rests_as_it_was_last_set(wire, topic_of, nodes):
    """Where brokers were started with a log.cleaner.backoff.ms of ten minutes, and a short one was set for all since,
    logs MUST be cleaned soon: at once, and also after each broker was stopped cleanly, and killed.
    """
    if wire.setting("log.cleaner.enable") == "false":
        wire.not_applicable("log.cleaner.enable is false on this cluster: nothing is compacted", "cluster-setting")
    nodes.start_with({BACKOFF: LONG})
    wire.change_configs(BROKER, ALL, [(BACKOFF, SET, SHORT)]).must_succeed()
    try:
        for what, again in (("at-once", _not_at_all), ("stopped", nodes.stop_and_start), ("killed", nodes.crash)):
            for node in wire.nodes:
                again(node)
            topic = topic_of(configs=COMPACT, what=what)
            write(wire, topic, 3)
            log = awaited(wire, topic, b"k0", WITHIN_S)
            wire.must(log is not None, f"{what}: nothing is cleaned within {WITHIN_S} s, and {BACKOFF} is {SHORT}")
    finally:
        wire.change_configs(BROKER, ALL, [(BACKOFF, DELETE, None)]).must_succeed()


def _not_at_all(node):
    """What is done to the nodes at first."""
