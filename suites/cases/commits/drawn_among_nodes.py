"""Offsets of groups of several coordinators in drawn steps, while nodes go and come back and coordinators move."""

from collections.abc import Callable
from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits._among_nodes import GroupsAmongNodes
from brokertrial.suites.cases.commits.drawn_over_restarts import APIS
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC, hand_over, must_not_be_known_to
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, reassign
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, make_coordinator_write
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire.messages import request

STEPS = (*["commit"] * 4, *["stage"] * 4, *["end"] * 2, "anew", *["delete"] * 2, "deleted", "refused", "joins")
BETWEEN = 4


@case(
    "commits/whatever-comes-next-among-nodes",
    guarantees=["cmt-001", "cmt-002", "cmt-004", "cmt-012", "cmt-016", "txn-012", "grp-016", "prot-019"],
    apis={**APIS, **MOVES, "JoinGroup": 2, "DeleteGroups": 0, "ListGroups": 0},
    needs=["three-nodes", "leaders", "partitions", "kill", "terminate", "restart"],
    detects=["X11", "M21c", "M19b", "K11", "B130", "B131"],
)
def every_coordinator_has_what_is_committed(wire, topic_of, rng, nodes):
    """Whatever is committed by members and others, staged in transactions, and deleted, each group MUST have exactly
    the offsets that are in force, whichever node coordinates it, and also while others of its groups move. A node that
    does not coordinate a group MUST refuse all that is asked about it, MUST change nothing, and MUST answer for the
    other groups of the request.

    Two groups of each partition of the log and groups with members; a partition gets another leader, loses its leader's
    replica or another one, all that a node leads goes to another, and a node is killed or stopped and away: each once,
    in a drawn order.
    """
    groups = GroupsAmongNodes(wire, [topic_of(what="one", partitions=2), topic_of(what="two", partitions=2)], rng)
    among = AmongCoordinators(wire, nodes, groups, rng)
    acts: list[Callable[[], None]] = [
        among.another_leads,
        among.loses_its_leader,
        among.loses_another,
        among.all_go,
        among.transactions_go,
        partial(among.is_away, nodes.kill),
        partial(among.is_away, nodes.terminate),
    ]
    for act in rng.sample(acts, len(acts)):
        among.go_on()
        act()
    among.go_on()
    for number in range(2):
        groups.end(number, commit=True)
    among.goes_where_it_was_deleted()
    for group in groups.names:
        groups.refused(group)
    for group in [*groups.members]:
        groups.leaves(group)
    groups.must_be_known_to_all()


class AmongCoordinators:
    """What is done between the moves, and the moves: what is under way meanwhile is asked again."""

    def __init__(self, wire, nodes, groups, rng):
        self.wire, self.nodes, self.groups, self.rng = wire, nodes, groups, rng
        self.away, self.every = NO_NODE, list(wire.nodes)

    def go_on(self, steps=BETWEEN):
        """Drawn steps, and after each what is in force, of one group and of several."""
        for _ in range(steps):
            self.groups.end_old()
            self._step(self.rng.choice(STEPS))
            group = self.rng.choice(self.groups.names)
            self.groups.must_be_returned(group, *self.rng.choice(self.groups.questions()))
            node = self.rng.choice([each for each in self._alive() if each != self.wire.coordinator(group)])
            self.groups.must_be_refused_elsewhere(group, node)
            self.groups.must_be_returned_together(self.rng.choice(self._alive()))
        self.groups.beat()

    def _step(self, step):
        groups, rng = self.groups, self.rng
        group, number = rng.choice(groups.names), rng.randrange(2)
        if step == "commit":
            groups.commit(group)
        elif step == "stage":
            for one in rng.sample(groups.names, rng.choice((1, 2, 3))):
                groups.stage(number, one)
        elif step == "end":
            groups.end(number, rng.random() < 0.6)
        elif step == "anew":
            groups.begun_anew(number)
        elif step == "refused":
            groups.refused(group)
        elif step == "delete" and groups.force[plain := rng.choice(groups.plain())]:
            groups.delete(plain, rng.sample(groups.there(), rng.choice((1, 2, 3))), groups.buries)
        elif step == "deleted":
            groups.deleted(rng.choice(groups.plain()))
        elif step == "joins" and len(groups.members) > 2:
            groups.leaves(rng.choice([*groups.members]))
        elif step == "joins":
            groups.joins(rng.choice(groups.plain()))

    def _meanwhile(self):
        """Nothing is said of who coordinates just now: who is busy is asked again."""
        number = self.rng.randrange(2)
        for one in self.rng.sample(self.groups.names, 3):
            self.rng.choice((self.groups.commit, partial(self.groups.stage, number)))(one)

    # moves

    def another_leads(self):
        """One partition; the others stay where they are."""
        index, former, others = self._drawn()
        self._is_led(index, [*others, former])

    def goes_where_it_was_deleted(self):
        """One partition once more, right after groups of it were deleted."""
        index, former, others = self._drawn()
        for group in self.groups.plain():
            if self.groups.partition_of(group) == index:
                self.groups.deleted(group)
        self._is_led(index, [*others, former], meanwhile=False)

    def loses_its_leader(self):
        """Its replica is taken away; later it begins anew, and leads again."""
        index, former, others = self._drawn()
        self._is_led(index, others)
        self.go_on(2)
        self._is_led(index, self.rng.choice(([*others, former], [former, *others])))

    def loses_another(self):
        """Its leader leads on in another epoch."""
        index, leader, (stays, goes) = self._drawn()
        self._is_led(index, [leader, stays])
        self._is_led(index, [leader, stays, goes])

    def all_go(self):
        """Whatever a node leads of the log, and back."""
        _, former, others = self._drawn()
        to = self.rng.choice(others)
        hand_over(self.wire, OFFSETS_TOPIC, former, to)
        self._settled()
        self.go_on(2)
        hand_over(self.wire, OFFSETS_TOPIC, to, former)
        self._settled()

    def transactions_go(self):
        """The coordinators of transactions are other nodes than before."""
        row = self.rng.choice(self.wire.metadata(STATE_TOPIC).struct.topics[0].partitions)
        hand_over(self.wire, STATE_TOPIC, row.leader_id, self.rng.choice(self._others(row.leader_id)))
        self._settled()

    @breaks("grp-016")
    def is_away(self, how):
        """A coordinator is gone for some steps."""
        _, node, _ = self._drawn()
        self.away = node
        how(node)
        for other in self._alive():
            self.wire.until(
                lambda other=other: all(row.leader_id not in (self.away, NO_NODE) for row in self._partitions(other)),
                within=WITHIN_S,
                what=f"node {node} leads nothing",
            )
        self._settled()
        self.go_on()
        self.nodes.start(node)
        self.away = NO_NODE
        self.wire.until(self._all_in_sync, within=WITHIN_S, what="all replicas are in sync")
        self.wire.refresh_metadata()
        await_leaders(self.wire)
        self._settled()

    @breaks("grp-016")
    def _is_led(self, index, order, *, meanwhile=True):
        """The replicas of a partition of the log are these, and the first of them leads; commits go on meanwhile."""
        reassign(self.wire, {OFFSETS_TOPIC: order}, self.wire.controller, index)
        rows = [{"topic": OFFSETS_TOPIC, "partitions": [index]}]
        asked = request("ElectLeaders", topic_partitions=rows, timeout_ms=10_000)
        elected = self.wire.ask(asked, to=self.wire.controller(), via="elects", wait=False)
        if meanwhile:
            self._meanwhile()
        _ = elected.error  # it may have come before the replicas were these
        for node in self._alive():
            comes_to_lead(self.wire, OFFSETS_TOPIC, order, node, index)
        self.wire.until(
            lambda: sorted(shown(self.wire, OFFSETS_TOPIC, order[0], index).isr_nodes) == sorted(order),
            within=WITHIN_S,
            what=f"{OFFSETS_TOPIC}-{index} is on {order}",
        )
        self._settled()

    # who is who

    def _drawn(self):
        """A partition of the log, its leader and the other nodes."""
        index = self.groups.partition_of(self.rng.choice(self.groups.names))
        leader = shown(self.wire, OFFSETS_TOPIC, self.wire.controller(), index).leader_id
        others = self._others(leader)
        self.rng.shuffle(others)
        return index, leader, others

    def _others(self, node):
        return [each for each in self.every if each != node]

    def _alive(self):
        return self._others(self.away)

    @breaks("prot-019", "grp-016")
    def _settled(self):
        """Who coordinates is asked again, until it has written (suites/probe/coordinator_writes.py)."""
        for kind, key in self.wire.known_coordinators:
            self.wire.forget_coordinator(key, kind)
        for topic in self.groups.topics:
            self.wire.refresh_metadata(topic)
        written = {self.groups.partition_of(group): group for group in self.groups.names}
        for group in written.values():
            self.wire.until(lambda group=group: self._agree(group), within=WITHIN_S, what="all name one coordinator")
            make_coordinator_write(self.wire, group)
            for node in self._alive():
                if node != self.wire.coordinator(group):
                    asked = request("DescribeGroups", groups=[group])
                    must_not_be_known_to(self.wire, node, asked, lambda said: [row.error_code for row in said.groups])

    def _agree(self, group):
        """All nodes name a coordinator that serves."""
        self.wire.forget_coordinator(group)
        node = self.wire.coordinator(group)
        for other in self._alive():
            answer = self.wire.find_coordinator(group, to=other)
            row = answer.struct.coordinators[0] if answer.version >= 4 else answer.struct
            if row.error_code or row.node_id != node:
                return False
        return True

    def _partitions(self, node=None):
        answer = self.wire.metadata(OFFSETS_TOPIC, STATE_TOPIC, *self.groups.topics, to=node)
        return [row for topic in answer.struct.topics for row in topic.partitions]

    def _all_in_sync(self):
        return all({*row.isr_nodes} == {*row.replica_nodes} for row in self._partitions())
