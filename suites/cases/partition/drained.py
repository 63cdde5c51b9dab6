"""A partition is moved away from its leader while a replica that stays lags."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS, is_in_sync, shown_by
from brokertrial.suites.cases.partition.coordinators_alone import ALONE
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, placed, reassign
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart


@case(
    "partition/moved-away-while-one-lags",
    guarantees=["repl-001", "adm-014", "repl-002"],
    needs=NEEDS,
    apis={"CreateTopics": 5, "AlterPartitionReassignments": 0},
    detects=["B37"],
)
def who_comes_leads_where_who_stays_lags(wire, nodes, rng):
    """When a partition is moved away from its leader a replica that stays and is not in sync MUST NOT lead, though it
    is alive and named first: the one that comes MUST lead with everything that was acknowledged, and what is
    acknowledged then MUST be there too when the other one has caught up, and leads.

    The one that stays replicates nothing meanwhile, and is alive for the controllers.
    """
    leader, stays, comes = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader, stays], **ALONE)
    all_in_sync(wire, topic)
    values = ["on both"]
    wire.produce(topic, batch("on both")).must_be_at(0)
    with apart(nodes, stays, "brokers"):
        wire.produce(topic, batch("on one"), acks=1).must_be_at(1)
        wire.until(
            lambda: not is_in_sync(wire, topic, stays, leader), within=WITHIN_S, what=f"node {stays} is left out"
        )
        wire.produce(topic, batch("acknowledged")).must_be_at(2)
        reassign(wire, {topic: [stays, comes]}, to=wire.controller)
        wire.until(lambda: _is_moved(wire, topic, comes, leader), within=WITHIN_S, what=f"{topic} is on its new nodes")
        row = shown_by(wire, topic, comes)
        wire.must(
            row.leader_id == comes and row.isr_nodes == [comes],
            f"node {row.leader_id} leads, in sync {row.isr_nodes}; node {comes} alone has what was acknowledged",
        )
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("after")).must_be_at(3)
    values += ["on one", "acknowledged", "after"]
    all_in_sync(wire, topic)
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold(*values)
    reassign(wire, {topic: [stays]}, to=wire.controller)
    wire.until(lambda: shown_by(wire, topic, stays).leader_id == stays, within=WITHIN_S, what=f"node {stays} leads")
    wire.await_topic(topic)
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold(*values)


def _is_moved(wire, topic, comes, leader):
    row = shown_by(wire, topic, comes)
    return leader not in row.replica_nodes and row.leader_id != leader
