"""Group coordinators whose own log has too few replicas in sync to be written: what is there can still be read."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.suites.cases.replication._too_few import WITHIN_S, too_few_in_sync
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LONG_MS = 300_000
APIS = dict.fromkeys(("SyncGroup", "DescribeGroups", "ListGroups", "IncrementalAlterConfigs"), 0)


@case(
    "groups/served-while-replicas-are-missing",
    guarantees=["repl-003", "cmt-001"],
    apis=APIS | {"JoinGroup": 2, "OffsetCommit": 2, "OffsetFetch": 1},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["B54"],
)
def what_needs_no_writing_is_served(wire, group, topic, nodes):
    """While fewer replicas of the offsets topic are in sync than its min.insync.replicas, which writes alone need,
    OffsetFetch MUST return what was committed before, and a group MUST be described and listed as it is. (Heartbeats
    may be refused: in Apache Kafka they wait for what was written before them.)
    """
    member = wire.member(group, "a", session_timeout_ms=LONG_MS)
    rebalance(member)
    wire.commit(group, topic, offset=5, member_id=member.id, generation=member.generation).must_succeed()
    coordinator = nodes.of_group(group)
    probe = next(name for name in iter(lambda: wire.name("g"), None) if nodes.of_group(name) == coordinator)
    with too_few_in_sync(wire, nodes, OFFSETS_TOPIC, {coordinator}), wire.part("while a replica is missing"):
        wire.eventually(
            lambda: wire.commit(probe, topic, offset=1, retry=False).must_be_refused(*ELSEWHERE), within=WITHIN_S
        )
        kept = wire.committed(group, topic, retry=False)
        kept.must(not kept.error, f"OffsetFetch is refused with {errors.name(kept.error)}; it writes nothing")
        kept.must_be(5)
        described = wire.ask(request("DescribeGroups", groups=[group]), to=coordinator).must_succeed()
        row = described.struct.groups[0]
        found = (row.group_state, [each.member_id for each in row.members])
        wanted = ("Stable", [member.id])
        described.must(found == wanted, f"its state and members are {found}; they must be {wanted}", "groups[0]")
        listed = wire.list_groups(to=coordinator).must_succeed()
        names = [each.group_id for each in listed.struct.groups]
        listed.must(group in names, f"it lists {names}; {group} is coordinated here", "groups")
    wire.committed(group, topic).must_be(5)
