"""Group coordinators whose own log has too few replicas in sync to be written: clients try again, and go on later."""

from functools import partial
from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._refused_for_now import assigned, may_be_refused, must_be_assigned
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.suites.cases.replication._too_few import WITHIN_S, too_few_in_sync
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors

NAMES, SESSION_MS = 90, 300_000
APIS = {"JoinGroup": 2, "SyncGroup": 0, "ConsumerGroupHeartbeat": 0, "OffsetDelete": 0, "DeleteGroups": 0}


@case(
    "groups/refused-while-replicas-are-missing",
    guarantees=["grp-016", "cmt-002", "err-003"],
    apis=APIS | {"IncrementalAlterConfigs": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["D85"],
)
def what_is_refused_can_be_done_later(wire, topic, group, nodes):
    """While fewer replicas of the offsets topic are in sync than its min.insync.replicas, the assignment by a leader,
    the first heartbeat of a KIP-848 group, OffsetDelete and DeleteGroups MUST be refused as by a coordinator that is
    not available for the moment (14, 15, 16), or be done. Once the replicas are back all of it MUST succeed, and what
    has come of it by then MUST stay so when the coordinator begins anew.
    """
    coordinator = nodes.of_group(group)
    names = (wire.name("g") for _ in range(NAMES))
    kept, given_up, modern, probe = islice((name for name in names if nodes.of_group(name) == coordinator), 4)
    member = wire.member(group, "a", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS)
    member.join().must_succeed()
    for name in (kept, given_up):
        wire.commit(name, topic, offset=1).must_succeed()
    with too_few_in_sync(wire, nodes, OFFSETS_TOPIC, {coordinator}), wire.part("while a replica is missing"):
        first = partial(wire.commit, probe, topic, offset=1, retry=False)
        wire.eventually(lambda: first().must_be_refused(*ELSEWHERE), within=WITHIN_S)
        may_be_refused(assigned(wire, member))
        may_be_refused(_first_heartbeat(wire, modern, topic, retry=False))
        may_be_refused(wire.delete_offsets(kept, [(topic, 0)], retry=False))
        may_be_refused(wire.delete_groups(given_up, retry=False))
    shown = {name: wire.committed(name, topic).must_succeed().offset for name in (kept, given_up)}
    nodes.crash(coordinator)
    await_leaders(wire, of_all=True)
    for name, offset in shown.items():
        wire.eventually(lambda name=name, offset=offset: wire.committed(name, topic).must_be(offset), within=WITHIN_S)
    must_be_assigned(member)
    begun = _first_heartbeat(wire, modern, topic)
    if begun.error != errors.UNSUPPORTED_VERSION:
        begun.must_succeed()
    for name in shown:
        wire.commit(name, topic, offset=2).must_succeed()
        wire.delete_groups(name).must_succeed()
        wire.committed(name, topic).must_be(-1)


def _first_heartbeat(wire, group, topic, **how):
    new = {"topics": [topic], "owned": {}, "rebalance_timeout_ms": SESSION_MS}
    return wire.consumer_group_heartbeat(group, "a-member-of-it", 0, **new, **how)
