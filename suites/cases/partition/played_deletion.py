"""Records that are deleted while followers have them still: the suite plays these."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest
from brokertrial.suites.cases.partition._played import LONG_MS, SOON_S, Played
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

STARTS_SINCE = 5
"""Before this version of Fetch a follower cannot say where its log begins."""


@case(
    "partition/deleted-as-its-followers-say",
    guarantees=["adm-011", "ord-006"],
    needs=NEEDS,
    apis=APIS | {"DeleteRecords": 0},
    detects=["B45"],
)
def deletion_waits_for_every_follower(wire, nodes, rng):
    """DeleteRecords MUST be answered when the log begins there on each replica that is alive, and not before, with the
    offset where the last of them begins; the leader begins there at once: what lies below is out of range (1), also
    for a follower (KIP-107).

    Both followers say where their logs begin, in a drawn order: below that offset, at it, and further on.
    """
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
    all_in_sync(wire, topic)
    values = [f"{number}" for number in range(6)]
    for number, value in enumerate(values):
        wire.produce(topic, batch(value)).must_be_at(number)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, followers, values)
        told_by_fetches(wire, played)
        played.all_say_the_end()
        front = rng.randint(2, 5)
        rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": front}]}]
        asked = request("DeleteRecords", timeout_ms=LONG_MS, topics=rows)
        waiting = OpenRequest(wire, leader, asked, "delete")
        wire.until(
            lambda: wire.list_offsets(topic, at="earliest", to=leader).offset == front,
            within=WITHIN_S,
            what=f"the log of node {leader} begins at {front}",
        )
        for follower, begins in rng.sample([(followers[0], front), (followers[1], front - 1), (followers[1], 1)], 3):
            _begins(played, follower, begins)
            waiting.await_answer(SOON_S)
            wire.must(
                not waiting.over, f"DeleteRecords is {waiting.said}; the log of node {followers[1]} begins earlier"
            )
        below = played.said(followers[1], front - 1)
        below.must(
            below.error == errors.OFFSET_OUT_OF_RANGE,
            f"a follower asks for offset {front - 1} and is answered {below.error}; the log begins at {front}",
        )
        _begins(played, followers[1], rng.randint(front, played.end))
        waiting.await_answer(WITHIN_S)
        wire.must(waiting.answered, "DeleteRecords has no answer; the log begins there on each replica")
        waiting.response.must_succeed()
        row = waiting.response.struct.topics[0].partitions[0]
        waiting.response.must(
            row.low_watermark == front, f"it names {row.low_watermark}; the log begins at {front} on the last replica"
        )
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values[front:])


def _begins(played, follower, offset):
    """A follower with everything says where its log begins."""
    version = played.rng.choice([each for each in played.wire.versions("Fetch") if each >= STARTS_SINCE])
    played.said(follower, played.end, version=version, log_start_offset=offset).must_succeed()
