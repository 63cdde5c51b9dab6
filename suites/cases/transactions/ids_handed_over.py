"""Transactional ids that receive drawn requests while their coordinators hand them over; no node stops."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import (
    STATE_TOPIC,
    hand_over,
    must_not_be_known_to,
)
from brokertrial.suites.cases.transactions._drawn_ids import APIS, STEPS, DrawnIds
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.wire.messages import request

TRANSACTION = 1
WITHIN_S = 30


@case(
    "transactions/ids-asked-while-handed-over",
    guarantees=["txn-007", "txn-009", "txn-010", "txn-011", "txn-012", "txn-026"],
    apis=APIS | MOVES,
    needs=["started", "three-nodes", "leaders", "partitions", "kill", "restart"],
    detects=["K39", "X12"],
)
def each_id_goes_from_node_to_node(wire, topic_of, group, rng, nodes):
    """A transactional id whose coordinator hands it to another node, and gets it back, MUST keep its producer id,
    epoch, timeout, state, partitions and start at each of them; and the former coordinator MUST NOT describe or list
    it. Its staged offsets MUST be kept too, when their coordinator changes.

    All nodes stay up. What is open goes on elsewhere, and ends there.
    """
    ids = DrawnIds(wire, topic_of(partitions=3), group, rng)
    of_ids, of_group = Homes(), Homes()
    for turn in range(32):
        ids.end_what_is_old()
        one = rng.choice(ids.all)
        getattr(ids, f"step_{rng.choice(STEPS).replace(' ', '_')}")(one)
        ids.must_be_described(one)
        if turn in (6, 12, 18, 24):
            ids.come_to_every_state()
            _handed_over(wire, ids, one, of_ids, rng)
            for each in ids.all:
                ids.must_be_described(each)
        if turn in (9, 21):
            _group_handed_over(wire, nodes, group, of_group, rng)
        ids.must_be_listed()


def _handed_over(wire, ids, one, homes, rng):
    """To another node, and the next time back to the one before."""
    wire.forget_coordinator(one.name, TRANSACTION)
    former = wire.coordinator(one.name, TRANSACTION)
    to = homes.next(wire, former, rng)
    gone = [each for each in ids.all if wire.coordinator(each.name, TRANSACTION) == former]
    hand_over(wire, STATE_TOPIC, former, to)
    for each in ids.all:
        wire.forget_coordinator(each.name, TRANSACTION)
    ids.unknown.clear()
    names = [each.name for each in gone]
    must_not_be_known_to(
        wire,
        former,
        request("DescribeTransactions", transactional_ids=names),
        lambda response: [row.error_code for row in response.transaction_states],
    )
    ids.are_read_back()


def _group_handed_over(wire, nodes, group, homes, rng):
    former = nodes.of_group(group)
    hand_over(wire, OFFSETS_TOPIC, former, homes.next(wire, former, rng))
    wire.forget_coordinator(group)
    must_not_be_known_to(
        wire,
        former,
        request("DescribeGroups", groups=[group]),
        lambda response: [row.error_code for row in response.groups],
    )


class Homes:
    """Who coordinated before, and is to have it back."""

    before: int | None = None

    def next(self, wire, former, rng):
        to, self.before = self.before, None
        if to in (None, former):
            self.before = former
            to = rng.choice([node for node in wire.nodes if node != former])
        return to
