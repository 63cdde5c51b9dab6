"""Logs of every kind after a stop and a kill: each answer of Fetch and ListOffsets says what the log held before."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.fetch import drawn as fetched
from brokertrial.suites.cases.fetch._drawn_logs import DrawnLogs, learn
from brokertrial.suites.cases.offsets import drawn as asked

QUESTIONS = 25
SMALL = {"segment.ms": "60000", "index.interval.bytes": "1"}
"""Indexes have room: where a stop made one sparser, Apache Kafka cannot rebuild it within its size after a kill, and
does not start."""
ONE_REPLICA = {"replicas": 1}
"""So that no leader moves."""


@case(
    "fetch/log-read-after-restarts",
    guarantees=["fetch-002", "fetch-003", "fetch-005", "offs-002", "offs-005", "txn-002", "rec-001"],
    needs=["topic-settings", "leaders", "kill", "terminate", "restart"],
    apis={**fetched.APIS, **asked.APIS},
    detects=["M16", "M02a", "M02b"],
)
def a_restart_changes_nothing_of_what_a_log_returns(wire, topic_of, rng, nodes):
    """Whatever a log holds, each row of each answer of Fetch and ListOffsets, in each version, MUST be the same after a
    stop and after a kill: bytes, ends, start, times, aborted and open transactions, in closed segments and in the
    newest one.

    Three logs as in fetch/log-read-in-every-way, with a transaction open at each restart; nothing is deleted between a
    stop and a kill, because Apache Kafka writes down only now and then what it has deleted.
    """
    logs = DrawnLogs(wire, topic_of, rng, small=SMALL, **ONE_REPLICA)
    for act, cuts in ((nodes.stop_and_start, True), (nodes.crash, False), (nodes.stop_and_start, True)):
        logs.cuts = cuts
        logs.write(16)
        logs.must_have_been_busy()
        for log in logs.logs:
            learn(wire, log)
        logs.come_back(act)
        fetched.ask_in_every_way(logs, QUESTIONS)
        asked.ask_in_every_way(logs, QUESTIONS)
    for number in (0, 1):
        logs.finish(number, number == 0)
    logs.come_back(nodes.crash)
    fetched.ask_in_every_way(logs, QUESTIONS)
