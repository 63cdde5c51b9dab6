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

TURNS, AT_ONCE_MS = 8, 300
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


@case(
    "partition/not-deleted-before-it-is-committed",
    guarantees=["adm-011", "repl-004"],
    needs=NEEDS,
    apis=APIS | {"DeleteRecords": 0},
    detects=["B57"],
)
def nothing_above_the_high_watermark_is_deleted(wire, nodes, rng):
    """DeleteRecords of an offset above the high watermark MUST be refused (1), also where the leader has records there
    that its followers lack, and the log MUST begin where it began (KIP-107).

    The followers say in a drawn order how far they are, while the leader alone has more.
    """
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0", "1")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, followers, ["0", "1"])
        told_by_fetches(wire, played)
        for _ in range(TURNS):
            played.write()
            played.says_something(rng.choice(followers))
            if played.visible < played.end:
                _must_be_refused(played, rng.choice((played.visible + 1, played.end)))
            _must_be_refused(played, played.end + 1)
            played.must_be_seen()
        played.all_say_the_end()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


def _must_be_refused(played, offset):
    answer = played.wire.delete_records(played.topic, offset=offset, retry=False, timeout_ms=AT_ONCE_MS)
    code = answer.struct.topics[0].partitions[0].error_code
    answer.examined = True
    played.must(
        answer,
        code == errors.OFFSET_OUT_OF_RANGE,
        f"for offset {offset} it returns {errors.name(code)} ({code}), not OFFSET_OUT_OF_RANGE (1): {played.so_far}, "
        f"and what lies below {played.visible} is committed",
    )
    first = played.wire.list_offsets(played.topic, at="earliest", to=played.leader)
    played.must(first, first.offset == 0, f"the log begins at {first.offset}; nothing was deleted")


def _begins(played, follower, offset):
    """A follower with everything says where its log begins."""
    version = played.rng.choice([each for each in played.wire.versions("Fetch") if each >= STARTS_SINCE])
    played.said(follower, played.end, version=version, log_start_offset=offset).must_succeed()
