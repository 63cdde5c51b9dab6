"""Transactional ids under drawn requests: who may go on, what is open, and how each is described."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions._drawn_ids import APIS, OLD_MS, STEPS, DrawnIds


@case(
    "transactions/whatever-is-asked-of-ids",
    guarantees=["txn-007", "txn-010", "txn-012", "txn-015", "txn-026", "txn-028", "txn-029"],
    apis=APIS,
    needs=["partitions"],
    detects=["C05", "C06", "C07", "Z10"],
)
def each_id_is_as_it_was_last_made(wire, topic_of, group, rng):
    """Whatever is requested of transactional ids, in whatever order and version, each MUST have the producer id, the
    epoch, the timeout, the state, the partitions and the start that follow from what was accepted: InitProducerId with
    another timeout, without or with an id and epoch (KIP-360), partitions and offsets that join, ends. A request that
    is refused, for one bad partition, an old epoch, a wrong id or a wrong member, MUST change nothing. ListTransactions
    MUST list by each filter exactly what it names.

    Four ids, which go by both transaction protocols where the cluster has the newer one too; 70 drawn steps.
    """
    ids = DrawnIds(wire, topic_of(partitions=3), group, rng)
    for _ in range(70):
        for old in ids.all:
            if old.state == "Ongoing" and wire.now_ms() > old.began_ms + OLD_MS:
                ids.step_end(old)
                ids.must_be_described(old)
        one = rng.choice(ids.all)
        getattr(ids, f"step_{rng.choice(STEPS).replace(' ', '_')}")(one)
        ids.must_be_described(one)
        ids.must_be_listed()
    for one in ids.all[:3]:
        ids.step_init(one)
    for one in ids.all:
        ids.must_be_described(one)
    ids.must_be_listed_by_two_filters()
    ids.step_end_nothing(ids.all[0])
    ids.must_be_described(ids.all[0])


@case(
    "transactions/ids-asked-over-restarts",
    guarantees=["txn-007", "txn-009", "txn-010", "txn-011", "txn-012", "txn-026"],
    apis=APIS,
    needs=["partitions", "kill", "terminate", "restart"],
    detects=["T07"],
)
def each_id_is_as_it_was_after_restarts(wire, topic_of, group, rng, nodes):
    """Where coordinators are stopped cleanly and killed, each transactional id MUST keep its producer id, epoch,
    timeout, state, partitions and start, and repeated requests of its producer MUST be answered as before.
    """
    follow(wire, topic_of, group, rng, nodes)


def follow(wire, topic_of, group, rng, nodes):
    """Drawn steps, and three times a coordinator that goes down."""
    ids = DrawnIds(wire, topic_of(partitions=3), group, rng)
    for turn in range(40):
        ids.end_what_is_old()
        one = rng.choice(ids.all)
        getattr(ids, f"step_{rng.choice(STEPS).replace(' ', '_')}")(one)
        ids.must_be_described(one)
        if turn in (10, 20, 30):
            ids.come_to_every_state()
            act = nodes.crash if turn == 20 else nodes.stop_and_start
            act(wire.coordinator(one.name, 1))
            ids.are_read_back()
            for each in ids.all:
                ids.must_be_described(each)
        ids.must_be_listed()
