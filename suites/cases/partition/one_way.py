"""Asymmetric network partitions: in one direction, with a bridge, in a ring, of one service alone."""

from brokertrial.faults.kinds.bridge import bridge
from brokertrial.faults.kinds.cut_clients import cut_clients
from brokertrial.faults.kinds.cut_controllers import cut_controllers
from brokertrial.faults.kinds.cut_replication import cut_replication
from brokertrial.faults.kinds.one_way import one_way
from brokertrial.faults.kinds.ring import ring
from brokertrial.faults.schedule import Windows
from brokertrial.faults.triggers import after, at_op
from brokertrial.suites.case import case
from brokertrial.suites.trials.trial import Trial
from brokertrial.suites.workloads import ONE_AT_A_TIME, SendAndRead

NEEDS = ["three-nodes", "leaders", "network", "proxy"]
BEGIN, END = at_op(600), after("f1", "begin", delay_ms=7_000)


def sends_during(fault, *, idempotent=False):
    """Producers that wait for all replicas, readers, and one fault of seven seconds."""
    return Trial(
        workload=SendAndRead(producers=6, partitions=3, idempotent=idempotent, in_flight=ONE_AT_A_TIME),
        schedule=Windows(fault),
        at_least_s=10.0,
        longest_s=60.0,
    )


@case(
    "partition/unheard-leader",
    guarantees=["repl-001", "repl-010", "prod-002"],
    needs=NEEDS,
    detects=["B01"],
)
def a_leader_that_no_node_hears_acknowledges_nothing_alone():
    """What is acknowledged with acks=all MUST survive although nothing that the leader sends reaches another node.

    It still receives the requests of its followers, and answers them; the answers are lost.
    """
    return sends_during(one_way("leader({topic},0)", "outgoing", begin=BEGIN, end=END))


@case(
    "partition/deaf-leader",
    guarantees=["repl-001", "repl-010", "prod-002"],
    needs=NEEDS,
    detects=["B01"],
)
def a_leader_that_hears_no_node_acknowledges_nothing_alone():
    """What is acknowledged with acks=all MUST survive although nothing that other nodes send reaches the leader."""
    return sends_during(one_way("leader({topic},0)", "incoming", begin=BEGIN, end=END))


@case(
    "partition/bridge",
    guarantees=["idem-002", "repl-001", "ord-003"],
    needs=NEEDS,
    detects=["M09"],
)
def a_bridge_between_nodes_doubles_and_loses_nothing():
    """Nothing that was acknowledged MUST be lost, doubled or reordered while one node sees two that do not see each
    other.

    The bridge is a follower: its leader and the other follower are parted.
    """
    return sends_during(bridge("follower({topic},0)", begin=BEGIN, end=END), idempotent=True)


@case(
    "partition/ring",
    guarantees=["idem-002", "repl-001", "ord-003"],
    needs=NEEDS,
    detects=["M34b"],
)
def a_ring_of_nodes_doubles_and_loses_nothing():
    """Nothing that was acknowledged MUST be lost, duplicated or reordered while each broker hears only one other."""
    return sends_during(ring(begin=BEGIN, end=END), idempotent=True)


@case(
    "partition/leader-without-controllers",
    guarantees=["repl-001", "repl-010", "idem-002"],
    needs=NEEDS,
    detects=["M32a"],
)
def a_leader_that_cannot_be_deposed_to_its_face_loses_nothing():
    """What is acknowledged with acks=all MUST survive although the leader is cut off from the controllers alone.

    Followers and clients reach it until they learn of another leader; it does not learn of that itself.
    """
    return sends_during(cut_controllers("leader({topic},0)", begin=BEGIN, end=END), idempotent=True)


@case(
    "partition/leader-without-followers",
    guarantees=["repl-001", "repl-012", "prod-002"],
    needs=NEEDS,
    detects=["B05"],
)
def a_leader_goes_on_when_its_followers_reach_it_again():
    """A leader whose followers are cut off MUST go on with acks=all once they reach it again, and lose nothing.

    The controllers hear every node all the time: no leader is replaced, and the in-sync set shrinks to the leader.
    """
    return sends_during(cut_replication("leader({topic},0)", begin=BEGIN, end=END))


@case(
    "partition/leader-without-clients",
    guarantees=["idem-002", "ord-003", "repl-001"],
    needs=NEEDS,
    detects=["M09"],
)
def a_leader_that_clients_cannot_reach_doubles_nothing():
    """Nothing that was acknowledged MUST be lost, doubled or reordered while clients cannot reach a leader of which the
    cluster misses nothing.
    """
    return sends_during(cut_clients("leader({topic},0)", begin=BEGIN, end=END), idempotent=True)
