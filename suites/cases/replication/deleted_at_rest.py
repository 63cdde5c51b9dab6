"""Records that are deleted while nothing else happens to their partitions (KIP-107)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
TIMEOUT_MS, AT_REST_S, RECORDS, ROUNDS = 40_000, 1, 40, 6
ASKED_AGAIN_S = 6
"""Far more than a follower of any cluster waits before it asks its leader again (Kafka: 500 ms)."""


@case(
    "replication/deleted-at-rest",
    guarantees=["adm-011"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings"],
    apis={"CreateTopics": 5, "DeleteRecords": 0, "ListOffsets": 1},
    detects=["B275"],
)
def the_timeout_is_an_upper_bound(wire, rng):
    """DeleteRecords MUST be answered soon after the log begins there on each replica whose node is alive, also where
    the partition is not written to meanwhile: its timeout is an upper bound and no time to wait for. The answer names
    the new start of each partition, which consumers are shown, and what is left is there.

    Three topics of one leader, with one replica, two and three; some of them in each request, in drawn versions.
    """
    leader, *others = rng.sample(list(wire.nodes), 3)
    starts = {placed(wire, f"of {count + 1}", [leader, *others[:count]], **ALONE): 0 for count in range(3)}
    ends = dict.fromkeys(starts, RECORDS)
    for topic in starts:
        all_in_sync(wire, topic)
        wire.produce(topic, batch(*(f"{number}" for number in range(RECORDS)))).must_be_at(0)
    wire.rest(AT_REST_S)
    for turn in range(ROUNDS):
        chosen = list(starts) if turn == 0 else rng.sample(list(starts), rng.randint(1, len(starts)))
        front = {topic: min(starts[topic] + rng.randint(1, 7), ends[topic]) for topic in chosen}
        _must_be_deleted_soon(wire, leader, front, rng.choice(list(wire.versions("DeleteRecords"))))
        starts |= front
        wire.rest(rng.choice((0, AT_REST_S)))
    for topic, start in starts.items():
        wire.list_offsets(topic, at="earliest").must_name(offset=start)
        wire.read_all(topic, offset=start).must_hold(*(f"{number}" for number in range(start, RECORDS)))
    _must_be_deleted_soon(wire, leader, ends, None, to_the_end=True)
    for topic in starts:
        wire.list_offsets(topic, at="earliest").must_name(offset=RECORDS)
        wire.produce(topic, batch("after it")).must_be_at(RECORDS)
        wire.read_all(topic, offset=RECORDS).must_hold("after it")


def _must_be_deleted_soon(wire, leader, front, version, to_the_end=False):
    rows = [
        {"name": topic, "partitions": [{"partition_index": 0, "offset": -1 if to_the_end else offset}]}
        for topic, offset in front.items()
    ]
    asked = request("DeleteRecords", timeout_ms=TIMEOUT_MS, topics=rows)
    answer = wire.ask(asked, to=leader, version=version, may_take_s=TIMEOUT_MS / 1_000).must_succeed()
    found = {row.name: [part.low_watermark for part in row.partitions] for row in answer.struct.topics}
    wanted = {topic: [offset] for topic, offset in front.items()}
    answer.must(found == wanted, f"the low watermarks are {found}; they must be {wanted}", "topics")
    wire.at_once(answer, asked_s=ASKED_AGAIN_S, hidden_s=TIMEOUT_MS / 1_000)
