"""What a new leader says of the end of its log before its followers have said how far they are."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._played import Played
from brokertrial.suites.cases.partition._replicas import NEEDS, REPLICATED_S, take_over
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import COMMITTED, UNCOMMITTED, batch
from brokertrial.suites.probe.apart import apart
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
    former, new, lagging = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [former, new, lagging], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    with apart(nodes, lagging, "brokers"):
        wire.produce(topic, batch("1"), acks=1, to=former).must_be_at(1)
        wire.rest(REPLICATED_S)
        take_over(wire, topic, [new, former, lagging])
        wire.refresh_metadata(topic)
        played = Played(wire, rng, topic, new, [lagging], ["0", "1"])
        played.at[lagging] = played.visible = 1
        for version in wire.versions("ListOffsets"):
            for isolation in (COMMITTED, UNCOMMITTED):
                _must_be_unknown(played, version, isolation)
        told_by_fetches(wire, played)
        wire.until(lambda: _is_known(played), within=WITHIN_S, what=f"node {new} names offset {played.end} as its end")
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


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
