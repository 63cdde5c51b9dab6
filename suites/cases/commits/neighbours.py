"""Groups in one partition of the offsets topic: what is done with one leaves the others alone."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits.drawn_over_restarts import APIS, NODES, STEPS, FollowedGroups
from brokertrial.suites.probe.coordinator_writes import (
    OFFSETS_TOPIC,
    coordinator_partition,
    make_coordinator_write,
    names_in,
)

GROUPS, TURNS = 3, 30


@case(
    "commits/of-groups-in-one-partition",
    guarantees=["cmt-001", "cmt-002", "cmt-014", "txn-012", "grp-016"],
    apis={**APIS, "DeleteGroups": 0},
    needs=NODES,
    detects=["D90"],
)
def groups_in_one_partition_have_their_own_offsets(wire, topic_of, rng, nodes):
    """Of several groups that lie in one partition of the offsets topic each MUST have its own offsets, whatever the
    others commit, stage in the same transaction, and remove, also where one of them is deleted, and after a clean stop
    and a kill of their coordinator.

    Three groups, two producers, one topic of four partitions; 30 drawn steps.
    """
    groups = Neighbours(wire, [topic_of(partitions=2), topic_of(what="other", partitions=2)], rng)
    acts = {TURNS // 3: nodes.stop_and_start, 2 * TURNS // 3: nodes.crash}
    for turn in range(TURNS):
        if act := acts.get(turn):
            groups.stage_in_all(turn % 2)
            _over(act, groups, nodes)
            groups.end(turn % 2, commit=act == nodes.crash)
            groups.delete_one()
        groups.end_old()
        _step(groups, rng)
        for group in groups.names:
            groups.must_be_returned(group, *rng.choice(groups.questions()))
    for number in range(2):
        groups.stage_in_all(number)
        groups.end(number, commit=True)
    _over(nodes.stop_and_start, groups, nodes)


class Neighbours(FollowedGroups):
    """As many groups as are asked for, all in the partition of the first."""

    def __init__(self, wire, topics, rng):
        super().__init__(wire, topics, rng)
        first = self.names[0]
        wire.coordinator(first)
        rows = wire.metadata(OFFSETS_TOPIC).struct.topics
        partitions = next((len(row.partitions) for row in rows if row.name == OFFSETS_TOPIC), 0) or 1
        self.names = [first, *islice(names_in(wire, coordinator_partition(first, partitions), partitions), GROUPS - 1)]
        self.force = {group: {} for group in self.names}

    def stage_in_all(self, number):
        """One transaction for all groups, for some partitions of each, in a drawn order."""
        for group in self.rng.sample(self.names, GROUPS):
            self.stage(number, group)

    def delete_one(self):
        """Of which nothing is staged."""
        staged = {group for each in self.staged for group, _ in each}
        if alone := [group for group in self.names if group not in staged and self.force[group]]:
            gone = self.rng.choice(alone)
            self.wire.delete_groups(gone).must_succeed()
            self.force[gone] = {}


def _step(groups, rng):
    step, group = rng.choice(STEPS), rng.choice(groups.names)
    if step == "commit":
        groups.commit(group)
    elif step == "stage":
        groups.stage(rng.randrange(2), group)
    elif step == "end":
        groups.end(rng.randrange(2), rng.random() < 0.6)
    elif groups.force[group]:
        groups.delete(group, rng.sample(groups.there(), rng.choice((1, 2))), buries=False)


def _over(act, groups, nodes):
    act(nodes.of_group(groups.names[0]))
    for topic in groups.topics:
        groups.wire.await_topic(topic)
    for group in groups.names:
        make_coordinator_write(groups.wire, group)
    groups.must_be_returned_in_every_version()
