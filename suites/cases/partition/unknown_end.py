"""What a new leader says of the end of its log before its followers have said how far they are."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._new_leader import knows_the_first_record_alone
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.wire import errors

NOT_AVAILABLE_SINCE = 5


@case(
    "partition/end-of-a-new-leader-is-unknown",
    guarantees=["repl-011", "repl-004"],
    needs=NEEDS,
    apis=APIS,
    detects=["B35"],
)
def the_end_is_unknown_before_followers_say_where_they_are(wire, nodes, rng):
    """While a new leader does not know how much of what it took over is committed, ListOffsets MUST be refused there
    where the answer is the end, to read_committed clients too: with OFFSET_NOT_AVAILABLE (78), before v5 with
    LEADER_NOT_AVAILABLE (5). An end below what the leader before it has shown would send consumers back (KIP-207). Once
    its followers say that they have everything the end MUST be named.

    In each version; one follower is cut off, and the suite plays it.
    """
    with knows_the_first_record_alone(wire, nodes, rng, batch("0"), batch("1")) as played:
        for version in wire.versions("ListOffsets"):
            for isolation in (COMMITTED, UNCOMMITTED):
                _must_be_unknown(played, version, isolation)
        told_by_fetches(wire, played)
        named = f"node {played.leader} names offset {played.end} as its end"
        wire.until(lambda: _is_known(played), within=WITHIN_S, what=named)
    wire.read_all(played.topic).must_hold(*played.values)


def _must_be_unknown(played, version, isolation):
    answer = played.wire.list_offsets(played.topic, isolation=isolation, version=version, to=played.leader, retry=False)
    code = errors.OFFSET_NOT_AVAILABLE if version >= NOT_AVAILABLE_SINCE else errors.LEADER_NOT_AVAILABLE
    played.must(
        answer,
        answer.error == code,
        f"a read_{isolation} client is answered {answer.error}; node {played.leader} leads from offset {played.end} on "
        f"and {played.so_far}, so it must be {code}",
    )
    played.wire.list_offsets(played.topic, at="earliest", version=version, to=played.leader).must_name(offset=0)


def _is_known(played):
    follower = next(iter(played.at))
    played.said(follower, played.end)
    answer = played.wire.list_offsets(played.topic, to=played.leader, retry=False)
    return not answer.error and answer.offset == played.end
