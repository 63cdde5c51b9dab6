"""The checks once more, naively: definitions as loops over lists, to hold against the queries on small histories."""

from collections.abc import Callable, Iterator

from checkers.oracle import commits, delivery, groups, offsets, order, transactions
from checkers.oracle.facts import Facts, Found

ORACLES: dict[str, Callable[[Facts], Iterator[Found]]] = {
    "aborted-read": transactions.aborted_read,
    "commit-changed": commits.commit_changed,
    "duplicate": delivery.duplicate,
    "exactly-once": groups.exactly_once,
    "group-lost": groups.group_lost,
    "inconsistent-offsets": offsets.inconsistent_offsets,
    "lost-write": delivery.lost_write,
    "nonmonotonic-poll": order.nonmonotonic_poll,
    "nonmonotonic-send": order.producer_order,
    "offset-reuse": offsets.offset_reuse,
    "phantom": delivery.phantom,
    "poll-skip": order.poll_skip,
    "precommitted-read": transactions.precommitted_read,
    "torn-transaction": transactions.torn_transaction,
    "two-owners": groups.two_owners,
    "unseen": delivery.unseen,
    "wrong-ack-offset": delivery.wrong_ack_offset,
}
