"""The controller in ZooKeeper: one at a time, each with an epoch of its own (Kafka up to 3.9)."""

from itertools import pairwise

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.zookeeper.brokers import WITHIN_S, gone, registered
from brokertrial.suites.probe.ensemble_watch import watched

NEEDS = ("zookeeper", "started")
ELECTIONS = 5
ANOTHER = edit_answer("controller_id", add=100, api="Metadata")
OFFICE = ("/controller", "/controller_epoch")


def elected(wire, zookeeper, after=-1):
    """Waits for a controller that was elected after this transaction, and returns its node."""
    return wire.until(
        lambda: (seen := zookeeper.controller()).exists and seen.czxid > after and seen,
        within=WITHIN_S,
        what=f"a controller is elected after transaction {after}",
    )


def shown_everywhere(wire, zookeeper):
    """Waits until every broker shows the controller that ZooKeeper names."""
    wire.until(
        lambda: (
            {wire.metadata(to=node).struct.controller_id for node in wire.nodes}
            == {zookeeper.controller().fields.get("brokerid")}
        ),
        within=WITHIN_S,
        what="Metadata of every broker names the controller that ZooKeeper names",
    )


def each_election_by_itself(wire, watch, last):
    """Each election that a watch noticed, up to this one, wrote the next epoch, in the transaction that made
    /controller. Of elections in a row it may have missed some: the version of /controller_epoch counts those too."""
    wire.until(
        lambda: all(any(last.czxid in (seen.czxid, seen.mzxid) for seen in watch.of(path)) for path in OFFICE),
        within=WITHIN_S,
        what=f"a watch notices the election in transaction {last.czxid}",
    )
    made = [seen.czxid for seen in watch.of("/controller") if seen.exists]
    written = {seen.mzxid: seen for seen in watch.of("/controller_epoch") if seen.exists}
    for before, after in pairwise(written[mzxid] for mzxid in sorted(written)):
        rose, times = after.number - before.number, after.version - before.version
        found = f"/controller_epoch went from {before.number} to {after.number} when it was written {times} times"
        wire.must(rose == times > 0, found)
        between = [czxid for czxid in made if before.mzxid < czxid < after.mzxid]
        none = times > 1 or not between
        wire.must(none, f"/controller was made in {between}; epochs were written in {before.mzxid}, {after.mzxid}")


@case(
    "zookeeper/one-live-controller",
    guarantee="zk-005",
    needs=[*NEEDS, "kill", "restart"],
    apis={"Metadata": 1},
    detects=[ANOTHER],
)
def the_controller_is_ephemeral_and_comes_again(wire, nodes, zookeeper):
    """/controller MUST be ephemeral and name a live broker, which Metadata names too; and MUST exist again when that
    broker was killed."""
    first = elected(wire, zookeeper)
    wire.must(first.ephemeral_owner != 0, "/controller is not ephemeral: it would outlive its broker")
    owner = zookeeper.broker(first.fields["brokerid"])
    wire.must(owner.exists, f"/controller names broker {first.fields['brokerid']}, which is not registered")
    same = owner.ephemeral_owner == first.ephemeral_owner
    wire.must(same, f"/controller goes with another session than {owner.path}, the broker that it names")
    shown_everywhere(wire, zookeeper)

    nodes.kill(first.fields["brokerid"])
    if len(nodes.ids) == 1:
        gone(wire, zookeeper, first.fields["brokerid"])
        nodes.start(first.fields["brokerid"])
    second = elected(wire, zookeeper, after=first.czxid)
    wire.must(zookeeper.broker(second.fields["brokerid"]).exists, f"/controller names a broker that is gone: {second}")


@case(
    "zookeeper/epoch-of-each-election",
    guarantees=["zk-006", "zk-005"],
    needs=[*NEEDS, "partitions"],
    apis={"Metadata": 1},
    detects=[ANOTHER],
)
def each_election_has_the_next_epoch(wire, nodes, zookeeper):
    """/controller_epoch MUST stay when a controller goes, and rise by exactly one with each election, in the
    transaction that creates /controller.

    /controller is deleted several times, as an operator does to replace the controller; each has created a topic
    before: Kafka misses a deletion that comes while a controller takes office, and then no controller is elected.
    Watches see what comes between two looks.
    """
    last, epoch = elected(wire, zookeeper), zookeeper.controller_epoch()
    wire.must(epoch.ephemeral_owner == 0, "/controller_epoch is ephemeral: epochs would begin again")
    with watched(zookeeper, OFFICE) as watch:
        for _ in range(ELECTIONS):
            wire.new_topic(partitions=1)
            zookeeper.delete("/controller")
            last, before = elected(wire, zookeeper, after=last.czxid), epoch.number
            epoch = zookeeper.controller_epoch()
            wire.must(
                epoch.number == before + 1, f"/controller_epoch was {before}, and is {epoch.number} after one election"
            )
            together = epoch.mzxid == last.czxid
            wire.must(together, f"/controller was made in transaction {last.czxid}, its epoch written in {epoch.mzxid}")
        each_election_by_itself(wire, watch, last)
    shown_everywhere(wire, zookeeper)


@case(
    "zookeeper/deposed-controller-writes-nothing",
    guarantee="zk-007",
    needs=[*NEEDS, "three-nodes", "pause", "topic-settings"],
    apis={"Metadata": 1},
    detects=[ANOTHER],
)
def a_deposed_controller_changes_nothing(wire, topic_of, nodes, zookeeper):
    """A controller that was paused until another was elected MUST NOT write partition states any more: their controller
    epoch MUST NOT fall, not even for a moment, and /controller MUST NOT become its own again without an election.
    """
    topic = topic_of(partitions=6, replicas=3)
    states = [f"/brokers/topics/{topic}/partitions/{partition}/state" for partition in range(6)]
    deposed = elected(wire, zookeeper)
    node = deposed.fields["brokerid"]
    with watched(zookeeper, [*OFFICE, *states]) as watch:
        nodes.pause(node)
        gone(wire, zookeeper, node)
        chosen = elected(wire, zookeeper, after=deposed.czxid)
        _led_by_others(wire, zookeeper, topic, node)
        nodes.resume(node)
        registered(wire, zookeeper, node)
        wire.await_topic(topic)
        now = zookeeper.controller()
        wire.must(now.czxid == chosen.czxid, f"/controller was made anew when node {node} came back: {now.fields}")
        each_election_by_itself(wire, watch, chosen)
        for path in states:
            _never_falls(wire, [*watch.of(path), zookeeper.node(path)])
    shown_everywhere(wire, zookeeper)


def _never_falls(wire, seen):
    """Of one state, as it was seen one time after the other."""
    for before, after in pairwise(seen):
        wire.must(after.exists, f"{after.path} is gone")
        for epoch in ("controller_epoch", "leader_epoch"):
            fell = after.fields[epoch] < before.fields[epoch]
            wire.must(not fell, f"{after.path} was {before.fields}, and then {after.fields}")


def _led_by_others(wire, zookeeper, topic, node):
    """Waits until no partition is led by this node."""
    wire.until(
        lambda: all(zookeeper.state(topic, partition).fields.get("leader") != node for partition in range(6)),
        within=WITHIN_S,
        what=f"no partition of {topic} is led by node {node}",
    )
