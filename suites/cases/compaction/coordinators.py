"""Coordinators that read back logs which were compacted: of each thing the last word, and tombstones or none."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.commits import drawn_over_restarts as commits
from brokertrial.suites.cases.compaction import _coordinators_logs as logs
from brokertrial.suites.cases.compaction._coordinators_logs import compacted_first
from brokertrial.suites.cases.groups import asked_over_restarts as classic
from brokertrial.suites.cases.groups import consumers_over_restarts as consumers
from brokertrial.suites.cases.transactions import ids_drawn as ids
from brokertrial.suites.cases.transactions._drawn_ids import APIS as IDS_APIS

NEEDS = ["partitions", "settings", "started", "kill", "terminate", "restart"]


@case(
    "compaction/offsets-that-were-committed",
    guarantees=["grp-016", "cmt-002", "cmt-014", "cmt-015", "txn-012"],
    apis={**commits.APIS, **logs.APIS},
    needs=NEEDS,
    detects=["Z32"],
)
def offsets_are_read_from_a_compacted_log(wire, topic_of, rng, nodes):
    """Offsets that were committed, staged in transactions, deleted, or removed with their topic MUST be in force as
    before, in each version of OffsetFetch, after the log of their coordinator was compacted and the coordinator was
    stopped or killed.

    The steps of commits/whatever-comes-next-over-restarts; segments of 0.3 s; tombstones stay for a while, then for no
    time.
    """
    topics = [topic_of(what="one", partitions=2), topic_of(what="two", partitions=2)]
    with compacted_first(wire, nodes) as kept:
        commits.follow(wire, topics, rng, kept, buries=False)


@case(
    "compaction/classic-groups",
    guarantees=["grp-016", "grp-015", "grp-020", "cmt-002"],
    apis={**classic.APIS, **logs.APIS},
    needs=NEEDS,
    detects=["Z32"],
)
def classic_groups_are_read_from_a_compacted_log(wire, topic_of, rng, nodes):
    """Classic groups, their generations, members and offsets, and that a deleted one is gone, MUST be as before after
    the log of their coordinator was compacted and the coordinator was stopped or killed.

    The steps of groups/asked-whatever-over-restarts.
    """
    with compacted_first(wire, nodes) as kept:
        classic.follow(wire, topic_of, rng, kept)


@case(
    "compaction/consumer-groups",
    guarantees=["grp-016", "g848-002", "g848-007", "g848-013"],
    apis={**consumers.APIS, **logs.APIS},
    features={"group.version": 1},
    needs=NEEDS,
    detects=["Z33"],
)
def consumer_groups_are_read_from_a_compacted_log(wire, topic_of, rng, nodes):
    """KIP-848 groups, their epochs, members, subscriptions and assignments, and that what has gone is gone, MUST be as
    before after the log of their coordinator was compacted and the coordinator was stopped or killed, also where of a
    group or member nothing but tombstones is left.

    The steps of groups/consumers-say-whatever-over-restarts.
    """
    with compacted_first(wire, nodes) as kept:
        consumers.follow(wire, topic_of, rng, kept)


@case(
    "compaction/transactional-ids",
    guarantees=["txn-007", "txn-010", "txn-021", "txn-026"],
    apis={**IDS_APIS, **logs.APIS},
    needs=NEEDS,
    detects=["Z32"],
)
def transactional_ids_are_read_from_a_compacted_log(wire, topic_of, group, rng, nodes):
    """Each transactional id MUST keep its producer id, epoch, timeout, state, partitions and start after the log of its
    coordinator was compacted and the coordinator was stopped or killed.

    The steps of transactions/ids-asked-over-restarts.
    """
    with compacted_first(wire, nodes) as kept:
        ids.follow(wire, topic_of, group, rng, kept)
