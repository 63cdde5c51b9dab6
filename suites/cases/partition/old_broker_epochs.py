"""What is said in the name of a follower's earlier life: its broker epoch is over (KIP-903)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._played import Played
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.partition.played_in_sync import _comes, _left_out, _must_not_be_in_sync
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart
from brokertrial.wire import errors
from brokertrial.wire.messages import request

FIRST_EPOCH, NAMED_SINCE, TIMES = 0, 15, 4
"""A broker that has begun anew has a higher epoch than any, and so than this one."""
REFUSED = (errors.STALE_BROKER_EPOCH, errors.NOT_LEADER_OR_FOLLOWER)


@case(
    "partition/old-broker-epochs-are-fenced",
    guarantees=["repl-013", "repl-004", "repl-010"],
    needs=[*NEEDS, "kill", "restart"],
    apis={**APIS, "Fetch": NAMED_SINCE},
    detects=["B264"],
)
def what_an_earlier_life_says_is_refused(wire, nodes, rng):
    """A leader MUST refuse a Fetch of a follower whose broker epoch is over (77, or 6 for the partition), give it no
    records, and count nothing that it says: nothing is committed or acknowledged by it, and a follower that was left
    out is not in sync by it. What the follower says in its present life MUST count as before (KIP-903).

    The follower is killed and started again; then the suite speaks for its earlier life, which has all there is.
    """
    if wire.case_context.has_zookeeper:
        wire.not_applicable("brokers have no epochs that their leaders know", "unsupported")
    leader, steady, returning = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, steady, returning], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    nodes.kill(returning)
    nodes.start(returning)
    all_in_sync(wire, topic)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, [steady, returning], ["0"])
        told_by_fetches(wire, played)
        for _ in range(TIMES):
            rng.choice((played.write, played.write_for_all))()
            played.says(steady, played.end)
            _must_be_refused(played, returning)
            played.must_be_seen()
            if rng.random() < 0.5:
                played.all_say_the_end()
        played.all_say_the_end()
        del played.at[returning]
        played.write()
        _left_out(played, returning)
        for _ in range(TIMES):
            _must_be_refused(played, returning)
            _must_not_be_in_sync(played, returning)
        wire.until(lambda: _comes(played, returning), within=WITHIN_S, what=f"node {returning} is in sync again")
        played.at[returning] = played.end
        played.write_for_all()
        played.all_say_the_end()
        played.must_be_seen()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


def _must_be_refused(played, follower):
    """In its earlier life it has everything that the leader has, or something less."""
    wire, rng = played.wire, played.rng
    part = {
        "partition": 0,
        "fetch_offset": rng.choice((played.end, rng.choice(played.ends))),
        "log_start_offset": 0,
        "partition_max_bytes": 1 << 20,
    }
    asked = request(
        "Fetch",
        replica_state={"replica_id": follower, "replica_epoch": FIRST_EPOCH},
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_epoch=rng.choice((-1, 0)),
        topics=[{"topic": played.topic, "topic_id": wire.topic_id(played.topic), "partitions": [part]}],
    )
    version = rng.choice([each for each in wire.versions("Fetch") if each >= NAMED_SINCE])
    answer = wire.ask(asked, version=version, to=played.leader)
    parts = [each for row in answer.struct.responses for each in row.partitions]
    codes = {answer.struct.error_code, *(each.error_code for each in parts)} - {errors.NONE}
    answer.must(
        len(codes) == 1 and codes <= {*REFUSED},
        f"node {follower} began anew; its earlier life is answered with {sorted(codes)}, not with one of {REFUSED}",
    )
    answer.must(not any(each.records for each in parts), "an earlier life of a follower gets records", "responses")
