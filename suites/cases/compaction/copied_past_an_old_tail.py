"""What a replica copies in the place of an old end of its log, which it had cleaned: that is cleaned as all else."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, WITHIN_S, awaited, cleanable, cleaned
from brokertrial.suites.cases.replication._roles import all_in_sync, partition, placed
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.suites.cases.replication.unclean_and_back import UNCLEAN
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record

ALONE = {"min.insync.replicas": "1"}
RESTS = {"log.cleaner.backoff.ms": "600000"}
"""What a follower has not cleaned itself comes from it with every record."""


@case(
    "compaction/copied-past-an-old-tail",
    guarantees=["comp-001", "comp-009", "repl-009"],
    level="must",
    needs=[
        *("three-nodes", "chosen-settings", "started", "leaders", "topic-settings", "compaction"),
        *("kill", "terminate", "restart"),
    ],
    apis={"CreateTopics": 5, "ElectLeaders": 1},
    detects=["B193"],
)
def what_is_copied_later_is_cleaned_too(wire, nodes, rng):
    """When a former leader has given up the end of its log, which it had cleaned, after an unclean election, and has
    copied more than it gave up, its log MUST be cleaned from there on: of each key the latest record stays, and no
    other but in its newest segment.

    The other replica, whose cleaner rests, writes one key often in the place of what was given up, and then others
    beyond that. The former leader leads again.
    """
    leads, follows = rng.sample(list(wire.nodes), 2)
    topic = cleanable(wire, lambda configs: placed(wire, "t", [leads, follows], **configs), **ALONE)
    nodes.start_with(RESTS, only=[follows])
    log = HourlyLog(wire, topic)
    first = [b"x%d" % number for number in range(rng.randint(2, 4))]
    all_in_sync(wire, topic)
    log.write(first)
    nodes.kill(follows)
    wire.until(lambda: follows not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{follows} is out")
    log.write([b"lost"] * rng.randint(8, 12) + [b"end"])
    cleaned(wire, topic, b"lost")

    (nodes.terminate if rng.random() < 0.5 else nodes.kill)(leads)
    nodes.start(follows)
    wire.until(lambda: _is_elected(wire, topic, follows, leads), within=WITHIN_S, what=f"node {follows} leads")
    log.end = len(first)
    often = rng.randint(4, 7)
    beyond = [b"d%d" % number for number in range(20 - often)]
    log.write([b"k"] * often + beyond)
    nodes.start(leads)
    all_in_sync(wire, topic)
    wire.until(lambda: leads_again(wire, topic, leads), within=WITHIN_S, what=f"node {leads} leads again")
    log.write([b"e0", b"e1", b"e2"])
    left = awaited(wire, topic, b"k", WITHIN_S)
    wire.must(
        left is not None,
        f"after {WITHIN_S} s key k has more than one record still, all below the newest segment; they were copied to "
        f"node {leads} after it had given up the end of its log",
    )
    keys = [record.key for record in left.records]
    left.must(
        keys == [*first, b"k", *beyond, b"e0", b"e1", b"e2"], f"the keys are {keys}; the latest of each must be there"
    )


def _is_elected(wire, topic, node, dead):
    """Asks for an unclean election, and whether the node leads; the controller may be named that has just died."""
    named = wire.controller()
    rows = [{"topic": topic, "partitions": [0]}]
    asked = request("ElectLeaders", election_type=UNCLEAN, topic_partitions=rows, timeout_ms=10_000)
    answer = wire.ask(asked, to=node if named == dead else named)
    return answer.error in (errors.NONE, errors.ELECTION_NOT_NEEDED) and partition(wire, topic).leader_id == node


class HourlyLog:
    """One record a batch, dated an hour after the one before: each batch is a segment."""

    def __init__(self, wire, topic):
        self.wire, self.topic = wire, topic
        self.end, self.time = 0, wire.now_ms() - 1_000 * HOUR_MS

    def write(self, keys):
        for key in keys:
            self.time += HOUR_MS
            made = batch(records=[Record(key, b"%d" % self.end, (), self.time)])
            self.wire.produce(self.topic, made).must_be_at(self.end)
            self.end += 1
