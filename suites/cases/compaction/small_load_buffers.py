"""Coordinators that read back compacted logs a batch at a time, each larger than their buffer."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.load_buffer import BUFFERS
from brokertrial.suites.cases.compaction import _coordinators_logs as logs
from brokertrial.suites.cases.compaction._coordinators_logs import compacted_first
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write

SIZE = "100"
"""Bytes: less than a batch of two offsets."""
GROUPS, PARTITIONS, TURNS = 3, 6, 8


@case(
    "compaction/more-than-the-load-buffer-holds",
    guarantees=["grp-016", "cmt-002", "comp-001"],
    apis={"OffsetCommit": 2, "OffsetFetch": 2, **logs.APIS},
    needs=["chosen-settings", "partitions", "settings", "started", "kill", "terminate", "restart"],
    detects=["Z54"],
)
def batches_that_are_thinned_are_read_with_small_buffers(wire, topic_of, rng, nodes):
    """A coordinator MUST read back all that compaction has left of its log, however large a batch is beside the buffer
    that it reads with, and whichever records compaction took out of it: all that was committed last is in force after
    a clean stop and after a kill.

    With buffers of 100 bytes (offsets.load.buffer.size, transaction.state.log.load.buffer.size): each commit is of two
    to five of six partitions, and later ones replace some of its offsets.
    """
    nodes.start_with(dict.fromkeys(BUFFERS, SIZE))
    topic = topic_of(partitions=PARTITIONS)
    force: dict[str, dict[int, int]] = {wire.name("g"): {} for _ in range(GROUPS)}
    with compacted_first(wire, nodes) as compacted:
        for turn, act in enumerate((compacted.stop_and_start, compacted.crash)):
            for number in range(turn * TURNS, (turn + 1) * TURNS):
                for group, offsets in force.items():
                    partitions = rng.sample(range(PARTITIONS), rng.randint(2, PARTITIONS - 1))
                    wire.commit_all(group, {(topic, one): number for one in partitions}).must_succeed()
                    offsets.update(dict.fromkeys(partitions, number))
            act(nodes.of_group(rng.choice(list(force))))
            wire.await_topic(topic)
            for group, offsets in force.items():
                make_coordinator_write(wire, group)
                answer = wire.committed_all(group, [(topic, one) for one in offsets])
                found = {partition: offset for (_, partition), offset in answer.offsets.items()}
                answer.must(found == offsets, f"the offsets are {found}; they must be {offsets}", "groups")
