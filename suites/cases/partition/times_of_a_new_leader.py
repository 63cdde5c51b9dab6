"""What a new leader says of times before its followers have said how far they are."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._new_leader import knows_the_first_record_alone
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.partition.unknown_end import NOT_AVAILABLE_SINCE
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.wire import errors

TIMES_SINCE, NEWEST_SINCE = 1, 7
NEWEST, SECOND_MS = "max-timestamp", 1_000


@case(
    "partition/times-beyond-what-a-new-leader-knows",
    guarantees=["offs-008", "repl-011", "offs-002"],
    needs=NEEDS,
    apis=APIS,
    detects=["B100"],
)
def a_later_time_is_not_known_yet(wire, nodes, rng):
    """While a new leader does not know how much of what it took over is committed, ListOffsets MUST NOT say that no
    record is as new as a time, nor return -1 for the newest: the answer for a time that no committed record reaches
    MUST be OFFSET_NOT_AVAILABLE (78), before v5 LEADER_NOT_AVAILABLE (5), and a time that one does reach MUST be
    answered (KIP-207). Once its followers say that they have everything the record MUST be named.

    In each version; the time of the record that is not known to be committed, and one beyond all records.
    """
    old = wire.now_ms() - 100 * SECOND_MS
    late = old + rng.randint(1, 50) * SECOND_MS
    records = (batch("0", timestamp=old), batch("1", timestamp=late))
    with knows_the_first_record_alone(wire, nodes, rng, *records) as played:
        topic = played.topic
        for version in wire.versions("ListOffsets"):
            for isolation in (COMMITTED, UNCOMMITTED):
                if version >= TIMES_SINCE:
                    wire.list_offsets(topic, at=old, isolation=isolation, version=version).must_name(offset=0)
                for at in (old + 1, late, late + 1, *([NEWEST] if version >= NEWEST_SINCE else [])):
                    _must_not_be_known(played, at, version, isolation)
        told_by_fetches(wire, played)
        named = f"node {played.leader} names the record of {late}"
        wire.until(lambda: _is_known(played, late), within=WITHIN_S, what=named)
    wire.list_offsets(topic, at=late).must_name(offset=1, timestamp=late)
    wire.read_all(topic).must_hold(*played.values)


def _must_not_be_known(played, at, version, isolation):
    if version < TIMES_SINCE:
        return
    answer = played.wire.list_offsets(
        played.topic, at=at, isolation=isolation, version=version, to=played.leader, retry=False
    )
    code = errors.OFFSET_NOT_AVAILABLE if version >= NOT_AVAILABLE_SINCE else errors.LEADER_NOT_AVAILABLE
    row = answer.struct.topics[0].partitions[0]
    found = (row.error_code, row.offset)
    played.must(
        answer,
        row.error_code == code,
        f"for {at} a read_{isolation} client gets (error, offset) {found}; node {played.leader} leads from offset "
        f"{played.end} on and {played.so_far}, so the error must be {code}",
    )


def _is_known(played, late):
    follower = next(iter(played.at))
    played.said(follower, played.end)
    answer = played.wire.list_offsets(played.topic, at=late, to=played.leader, retry=False)
    return not answer.error and answer.offset == 1
