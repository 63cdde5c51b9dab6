"""Commits of many clients at the same moment, each on its own connection."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.probe.at_once import at_once

CLIENTS, GROUPS, COMMITS = 16, 4, 6
PLACES, ROUNDS = 12, 4
OFFSETS = {"AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 7}
WITHIN_S = 20


@case(
    "commits/many-at-once",
    guarantees=["cmt-001", "cmt-002"],
    apis={"OffsetCommit": 2, "OffsetFetch": 1},
    needs=["partitions", "kill", "restart"],
    detects=["M21"],
)
def each_of_many_commits_at_once_counts(wire, topic_of, nodes, rng):
    """However many clients commit at the same moment, the last commit of each MUST be in force in the end, for its own
    group and partition alone, and MUST still be once the coordinators have read their logs again.

    Sixteen clients of four groups send six commits each, without waiting, and then ask all at once.
    """
    topic = topic_of(partitions=CLIENTS)
    groups = [wire.name("g") for _ in range(GROUPS)]
    asks, last = [], {}
    for turn in range(COMMITS):
        for client in range(CLIENTS):
            place = groups[client % GROUPS], client
            last[place] = 1_000 * client + turn, f"{client} {turn} {'m' * rng.randint(0, 900)}"
            how = {"offset": last[place][0], "metadata": last[place][1], "via": f"client {client}"}
            asks.append(partial(wire.commit, place[0], topic, client, **how))
    for answer in at_once(wire, asks):
        answer.must_succeed()
    _must_be_in_force(wire, topic, last)
    for node in dict.fromkeys(nodes.of_group(group) for group in groups):
        nodes.crash(node)
    wire.await_topic(topic)
    wire.eventually(lambda: _must_be_in_force(wire, topic, last), within=WITHIN_S)


def _must_be_in_force(wire, topic, last):
    asks = [partial(wire.committed, group, topic, client, via=f"client {client}") for group, client in last]
    for answer, (offset, metadata) in zip(at_once(wire, asks), last.values(), strict=True):
        answer.must_be(offset, metadata=metadata)


@case(
    "commits/plain-and-in-a-transaction-at-once",
    guarantees=["txn-025", "cmt-010"],
    apis=OFFSETS,
    needs=["partitions", "kill", "restart"],
    detects=["M21"],
)
def what_is_in_force_is_what_the_log_says(wire, topic_of, group, transactional_id, nodes, rng):
    """Where an offset is committed plainly and in a transaction at the same moment, the one that is in force once the
    transaction has committed MUST be in force too after the coordinator has read its log again, and is one of both.

    Four transactions, each with the offsets of twelve partitions, and the plain commits around each.
    """
    topic = topic_of(partitions=PLACES)
    producers = [
        wire.producer(transactional_id if n == 0 else wire.name("x"), via=f"copier {n}") for n in range(ROUNDS)
    ]
    in_force = {}
    for turn, producer in enumerate(producers):
        staged = {(topic, place): 100_000 + 100 * turn + place for place in range(PLACES)}
        asks = [
            partial(wire.commit, group, topic, place, offset=1_000 * turn + place + 1, via=f"client {place}")
            for place in range(PLACES)
        ]
        staging = producer.prepared_offsets(group, staged)
        asks.insert(rng.randrange(PLACES), staging)
        for answer in at_once(wire, asks):
            answer.must_succeed()
        producer.commit().must_succeed()
        wire.until(
            lambda: not wire.committed(group, topic, require_stable=True).error,
            within=WITHIN_S,
            what="the offsets are stable",
        )
    for place in range(PLACES):
        found = wire.committed(group, topic, place, require_stable=True)
        in_force[place] = found.offset
        allowed = (1_000 * (ROUNDS - 1) + place + 1, 100_000 + 100 * (ROUNDS - 1) + place)
        found.must(found.offset in allowed, f"offset {found.offset} is in force; it must be one of {allowed}")
    nodes.crash(nodes.of_group(group))
    wire.await_topic(topic)
    for place, offset in in_force.items():
        wire.eventually(
            lambda place=place, offset=offset: wire.committed(group, topic, place).must_be(offset), within=WITHIN_S
        )
