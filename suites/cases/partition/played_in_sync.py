"""Who is in sync by what followers say: the suite plays them."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._played import Played
from brokertrial.suites.cases.partition._replicas import NEEDS, is_in_sync, shown_by
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.partition.played_followers import APIS, told_by_fetches
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

TIMES, LOOKS, BETWEEN_S = 6, 6, 0.02
LAG, LONGEST_LAG_MS, LAGS, EACH_S = "replica.lag.time.max.ms", 10_000, 2.5, 0.05


@case(
    "partition/in-sync-as-followers-say",
    guarantees=["repl-004", "repl-001", "repl-010"],
    needs=NEEDS,
    apis=APIS,
    detects=["B34", "M33f"],
)
def who_has_what_is_committed_comes_to_be_in_sync(wire, nodes, rng):
    """A follower that was left out MUST NOT be in sync while it lacks anything that is committed, and MUST be in sync
    once it has everything; from then on a record is committed, and acknowledged to acks=all, only when that follower
    has it too.

    One follower is silent until it is left out; the other one has the end of the log, and then a part of it.
    """
    leader, steady, returning = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, steady, returning], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, [steady, returning], ["0"])
        told_by_fetches(wire, played)
        behind = played.at.pop(returning)
        _left_out(played, returning)
        played.write()
        played.says(steady, played.end)
        played.write()
        played.must_be_seen()
        for _ in range(TIMES):
            short = played.ends[played.ends.index(behind) : played.ends.index(played.visible)]
            played.said(returning, rng.choice(short))
            _must_not_be_in_sync(played, returning)
        played.says(steady, played.end)
        wire.until(lambda: _comes(played, returning), within=WITHIN_S, what=f"node {returning} is in sync again")
        played.at[returning] = played.end
        played.write_for_all()
        played.says(steady, played.end)
        played.must_be_seen()
        played.all_say_the_end()
        played.must_be_seen()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


def _left_out(played, silent):
    """The others have the end of the log meanwhile."""

    def done():
        for follower in played.at:
            played.said(follower, played.end)
        return not is_in_sync(played.wire, played.topic, silent, played.leader)

    played.wire.until(done, within=WITHIN_S, what=f"node {silent} is left out")
    played.all_say_the_end()


def _must_not_be_in_sync(played, follower):
    """It may be there for a moment only: it lags."""
    for _ in range(LOOKS):
        played.wire.rest(BETWEEN_S)
        row = shown_by(played.wire, played.topic, played.leader)
        played.wire.must(
            follower not in row.isr_nodes,
            f"in sync are {row.isr_nodes}; node {follower} lacks what is below offset {played.visible}",
        )


def _comes(played, follower):
    """It says again that it has everything, until it is in sync: the controller may have been asked before."""
    played.said(follower, played.end)
    return is_in_sync(played.wire, played.topic, follower, played.leader)


@case(
    "partition/left-out-whatever-else-changes",
    guarantees=["repl-010", "prod-010", "repl-002"],
    needs=NEEDS,
    apis=APIS,
    detects=["B33"],
)
def a_silent_follower_is_left_out(wire, nodes, rng):
    """A follower that is silent while records are written MUST be left out of those in sync in time, whatever else
    changes of the partition meanwhile, and acks=all MUST be acknowledged by those that are left.

    The order of the replicas is changed again and again; another follower has everything.
    """
    leader, steady, silent = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, steady, silent], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    orders = [[leader, silent, steady], [leader, steady, silent]]
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, [steady, silent], ["0"])
        told_by_fetches(wire, played)
        played.at.pop(silent)

        def left_out():
            orders.reverse()
            reassign(wire, {topic: orders[0]}, to=wire.controller)
            played.said(steady, played.end)
            return not is_in_sync(wire, topic, silent, leader)

        wire.until(left_out, within=WITHIN_S, what=f"node {silent} is left out")
        played.says(steady, played.end)
        played.write_for_all()
        played.all_say_the_end()
        played.must_be_seen()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)


@case(
    "partition/in-sync-one-fetch-behind",
    guarantees=["repl-001", "repl-010"],
    needs=NEEDS,
    apis=APIS,
    detects=["B58"],
)
def who_has_what_there_was_at_its_last_fetch_stays(wire, nodes, rng):
    """A follower that is one Fetch behind a leader who is written to all the time MUST stay in sync, for longer than
    replica.lag.time.max.ms too: it has all that there was when it asked last (KAFKA-1546).

    Both followers ask each time for what comes after the end of the log as it was at their last Fetch.
    """
    lag_ms = int(wire.setting(LAG) or LONGEST_LAG_MS)
    if lag_ms > LONGEST_LAG_MS:
        wire.not_applicable(f"{LAG} is {lag_ms}: nobody is left out while a case lasts", "unsupported")
    leader, *followers = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, *followers], **ALONE)
    all_in_sync(wire, topic)
    wire.produce(topic, batch("0")).must_be_at(0)
    with apart(nodes, leader, "brokers"):
        played = Played(wire, rng, topic, leader, followers, ["0"])
        told_by_fetches(wire, played)
        played.all_say_the_end()
        end, began_ms, at_ms = played.end, wire.now_ms(), wire.now_ms()
        while wire.now_ms() < began_ms + LAGS * lag_ms:
            end = played.end
            played.write()
            wire.rest(EACH_S)
            for follower in rng.sample(followers, 2):
                played.said(follower, end).must_succeed()
            if wire.now_ms() > at_ms + lag_ms / 2:
                wire.unclear("the followers could not ask often enough", "unobserved")
            at_ms = wire.now_ms()
            row = shown_by(wire, topic, leader)
            wire.must(
                {*followers} <= {*row.isr_nodes},
                f"in sync are {row.isr_nodes}; both followers have what there was at their last Fetch, {end} records",
            )
        played.at, played.visible = dict.fromkeys(followers, end), end
        played.all_say_the_end()
        played.must_be_seen()
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold(*played.values)
