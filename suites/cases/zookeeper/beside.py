"""A further broker on the ensemble of a cluster: under an id that is taken, and in a cluster of its own (up to 3.9)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.cases.zookeeper.brokers import registered
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.ensemble_members import node_outside
from brokertrial.suites.probe.ensemble_watch import watched
from brokertrial.suites.probe.further_broker import broker_beside

NEEDS = ("zookeeper", "started")
TAKEN = "NodeExists"
"""What ZooKeeper answers who creates a node that there is; a broker that gives up says so."""
GIVES_UP_S = 180.0
"""It has to start first, which takes a while on a machine with much else to do."""


@case(
    "zookeeper/second-broker-of-one-id",
    guarantee="zk-003",
    needs=NEEDS,
    apis={"Metadata": 1, "Produce": 3},
    detects=[edit_answer("brokers[]", repeat=True, api="Metadata")],
)
def a_second_broker_of_one_id_gives_up(wire, topic, nodes, zookeeper):
    """A broker MUST NOT register under the id of one that lives, and MUST give up; the first MUST stay registered as it
    was, not even interrupted, and its clients see no change."""
    first = nodes.of(topic)
    before, listed, sent = registered(wire, zookeeper, first), _listed(wire), list[str]()
    with watched(zookeeper, [before.path], children=["/brokers/ids"]) as watch:

        def given_up(second):
            wire.produce(topic, batch(f"{len(sent)}")).must_be_at(len(sent))
            sent.append(f"{len(sent)}")
            for seen in watch.of(before.path):
                _must_stay(wire, before, seen)
            return second.has_ended()

        with broker_beside(wire, zookeeper, broker=first) as second:
            what = f"a second broker with the id {first} gives up"
            wire.until(lambda: given_up(second), within=GIVES_UP_S, what=what)
            given_up(second)
            _must_stay(wire, before, zookeeper.broker(first))
            for names in watch.children("/brokers/ids"):
                none_new = set(names) <= {str(node) for node in listed}
                wire.must(str(first) in names and none_new, f"the brokers {names} were registered, of {sorted(listed)}")
            if not second.has_said(TAKEN):
                wire.unclear(f"a second broker with the id {first} gave up for another reason than its id")
    wire.must(_listed(wire) == listed, f"Metadata listed {listed}, and then {_listed(wire)}")
    wire.must(len(wire.metadata().struct.brokers) == len(listed), "Metadata lists a broker twice")
    wire.read_all(topic).must_hold(*sent)


def _must_stay(wire, before, seen):
    """A registration is the one that it was."""
    same = (seen.czxid, seen.ephemeral_owner) == (before.czxid, before.ephemeral_owner)
    wire.must(seen.exists and same, f"{before.path} was {before}, and then {seen}")
    wire.must(seen.data == before.data, f"{before.path} said {before.data}, and then {seen.data}")


def _listed(wire):
    return {row.node_id: (row.host, row.port) for row in wire.refresh_metadata().brokers}


@case(
    "zookeeper/clusters-beside-each-other",
    guarantee="zk-011",
    needs=[*NEEDS, "partitions"],
    apis={"Metadata": 2, "Produce": 3},
    detects=[edit_answer("cluster_id", set="another", api="Metadata")],
)
def clusters_at_different_chroots_do_not_see_each_other(wire, topic, nodes, zookeeper):
    """A cluster MUST create its chroot when it starts and write nothing outside of it; what there is in a cluster
    beside it, with a broker of the same id and a topic of the same name, it MUST NOT show, nor lose anything by it."""
    chroot, node = f"/{wire.name('k')}", nodes.ids[0]
    mine, outside = registered(wire, zookeeper, node), set(node_outside(zookeeper, "/").children)
    with broker_beside(wire, zookeeper, broker=node, chroot=chroot) as further:
        other = further.must_serve()
        theirs = node_outside(zookeeper, f"{chroot}/brokers/ids/{node}")
        wire.must(theirs.exists, f"no broker {node} is registered at the chroot {chroot} that it was started with")
        wire.must(theirs.data != mine.data, f"{theirs.path} is registered as the broker of the other cluster")
        _must_differ_in_cluster_id(wire, other, zookeeper, chroot)

        alone = wire.name()
        for probe, made in ((other, alone), (other, topic)):
            probe.create_topic(made).must_succeed()
            probe.await_topic(made)
        wire.must(other.topic_id(topic) != wire.topic_id(topic), "both clusters have a topic of one id")
        wire.produce(topic, batch("here")).must_be_at(0)
        other.produce(topic, batch("there")).must_be_at(0)
        wire.read_all(topic).must_hold("here")
        other.read_all(topic).must_hold("there")

        only_here = wire.new_topic()
        _must_show(wire, zookeeper.node("/brokers/topics"), present=[topic, only_here], absent=[alone])
        _must_show(other, node_outside(zookeeper, f"{chroot}/brokers/topics"), [topic, alone], [only_here])
        added = set(node_outside(zookeeper, "/").children) - outside
        wire.must(added == {chroot[1:]}, f"a cluster at {chroot} has added {sorted(added)} at the root")
    same = zookeeper.broker(node)
    wire.must(same.czxid == mine.czxid, f"{mine.path} was {mine}, and is {same}")


def _must_differ_in_cluster_id(wire, other, zookeeper, chroot):
    """Each cluster has the id that its own chroot holds, and they are not one."""
    here = zookeeper.node("/cluster/id").fields["id"]
    there = node_outside(zookeeper, f"{chroot}/cluster/id").fields["id"]
    wire.metadata().must_have("cluster_id", here)
    other.metadata().must_have("cluster_id", there)
    wire.must(here != there, f"both clusters have the id {here}")


def _must_show(probe, topics, present, absent):
    """Metadata lists, and ZooKeeper holds, these topics and none of those."""
    answer = probe.metadata(all_topics=True)
    listed = {row.name for row in answer.struct.topics}
    answer.must(listed >= set(present), f"Metadata lists {sorted(listed)}, without {present}")
    answer.must(not listed & set(absent), f"Metadata lists {absent}, which are in the other cluster")
    held = set(topics.children)
    answer.must(held >= set(present) and not held & set(absent), f"{topics.path} has {sorted(held)}")
