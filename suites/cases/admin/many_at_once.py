"""Admin requests of many rows, drawn, good and bad ones mixed: each row is judged separately, over restarts too."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin._topics_in_rows import FollowedTopics

APIS = {
    "CreateTopics": 2,
    "DeleteTopics": 1,
    "CreatePartitions": 0,
    "IncrementalAlterConfigs": 0,
    "AlterConfigs": 0,
    "DescribeConfigs": 1,
    "Metadata": 10,
}
STEPS = ("make", "make", "delete", "grow", "change", "change", "replace")


@case(
    "admin/many-in-one-request",
    guarantees=["adm-001", "adm-002", "adm-003", "adm-006", "adm-007", "adm-008", "adm-009"],
    apis=APIS,
    needs=["partitions", "topic-settings"],
    detects=["A01", "A02", "A03"],
)
def each_row_has_its_own_fate(wire, rng):
    """Each topic that one CreateTopics, DeleteTopics, CreatePartitions, IncrementalAlterConfigs or AlterConfigs names,
    in whatever version, MUST be judged separately. A valid row is carried out in full and reported as it was carried
    out; an invalid one (a bad name, one that exists already or is unknown, impossible numbers, nodes or values, an
    entry given twice) is refused with its own error code and changes nothing; and nothing changes where only validation
    is asked for.

    Up to six topics, 50 drawn requests; topics and settings are read back, in some way, after each.
    """
    topics = FollowedTopics(wire, rng)
    for _ in range(50):
        topics.step(rng.choice(STEPS))
        topics.must_be_described()


@case(
    "admin/many-in-one-request-over-restarts",
    guarantees=["adm-001", "adm-006", "adm-007", "adm-009"],
    apis=APIS,
    needs=["partitions", "topic-settings", "kill", "terminate", "restart"],
    detects=["A04"],
)
def what_was_done_stays_done(wire, rng, nodes):
    """Each topic that one admin request names MUST be judged separately, also where the nodes are stopped cleanly or
    killed in between: topics, partitions, nodes, settings and records stay as they were created, and what was deleted
    or refused does not exist.
    """
    topics = FollowedTopics(wire, rng)
    acts = {8: nodes.stop_and_start, 16: nodes.crash, 24: rng.choice((nodes.stop_and_start, nodes.crash))}
    for turn in range(30):
        topics.step(rng.choice(STEPS))
        if turn in acts:
            acts[turn](rng.choice(wire.nodes))
            for name in topics.there:
                wire.await_topic(name)
        topics.must_be_described()
