"""Groups while their coordinator cannot write its log, and how each of them goes on afterwards at the same node."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._refused_for_now import assigned, may_be_refused, must_be_assigned
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.suites.cases.replication._too_few import WITHIN_S, too_few_in_sync
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC
from brokertrial.wire import errors

NAMES, SESSION_MS, TIMEOUT_MS = 90, 300_000, 55_000
PARTITIONS, TRANSACTION = 4, 1
APIS = {"JoinGroup": 2, "SyncGroup": 0, "OffsetCommit": 2, "OffsetFetch": 2}
BEGIN_ANEW = (errors.UNKNOWN_MEMBER_ID, errors.FENCED_MEMBER_EPOCH)


@case(
    "groups/goes-on-once-its-log-can-be-written",
    guarantees=["grp-016", "cmt-002", "err-003"],
    apis={**APIS, "TxnOffsetCommit": 0, "EndTxn": 0, "IncrementalAlterConfigs": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["D85"],
)
def no_group_is_held_up_by_what_was_refused(wire, group, nodes, rng):
    """While too few replicas of a group coordinator's log are in sync, what it would have to write MUST be refused with
    codes that clients try again (14, 15, 16), or be done. Once it can be written, each group MUST go on: the last
    offset is committed, alone or with a transaction; a classic member is given its assignment; the members of a KIP-848
    group, whose first heartbeats were refused, share its partitions.

    Nothing leads otherwise meanwhile, so that no other coordinator puts it right.
    """
    coordinator = nodes.of_group(group)
    topic = wire.name("t")
    on = {index: [coordinator] for index in range(PARTITIONS)}
    wire.create_topic(topic, partitions=-1, assignments=on, configs={"min.insync.replicas": "1"}).must_succeed()
    wire.await_topic(topic)
    names = (wire.name("g") for _ in range(NAMES))
    staged, classic, modern, probe = islice((name for name in names if nodes.of_group(name) == coordinator), 4)
    ids = (wire.name("x") for _ in range(NAMES))
    transactional_id = next(name for name in ids if wire.coordinator(name, TRANSACTION) == coordinator)
    producer = wire.producer(transactional_id, timeout_ms=TIMEOUT_MS)
    wire.commit(group, topic, offset=1).must_succeed()
    member = wire.member(classic, "a", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS)
    member.join().must_succeed()
    served = bool(wire.versions("ConsumerGroupHeartbeat"))
    consumers = [ConsumerGroupMember(wire, modern, topic, timeout_ms=SESSION_MS) for _ in range(2 * served)]
    asked = [
        lambda: wire.commit(group, topic, offset=2, retry=False),
        lambda: producer.send_offsets(staged, {(topic, 0): 3}, retry=False),
        lambda: assigned(wire, member),
        *(lambda one=one: one.beat(retry=False) for one in consumers),
    ]
    with too_few_in_sync(wire, nodes, OFFSETS_TOPIC, {coordinator}), wire.part("while a replica is missing"):
        wire.eventually(
            lambda: wire.commit(probe, topic, offset=1, retry=False).must_be_refused(*ELSEWHERE), within=WITHIN_S
        )
        for ask in rng.sample(asked, len(asked)):
            may_be_refused(ask(), errors.REBALANCE_IN_PROGRESS)  # written when its time was up
    wire.commit(group, topic, offset=4).must_succeed()
    wire.committed(group, topic).must_be(4)
    must_be_assigned(member)
    member.commit(topic, offset=5).must_succeed()
    wire.committed(classic, topic).must_be(5)
    _goes_on_in_a_transaction(wire, wire.producer(transactional_id), staged, topic)
    _share(consumers)


def _goes_on_in_a_transaction(wire, producer, group, topic):
    """Another, which ends what was begun before."""
    producer.send_offsets(group, {(topic, 0): 6}).must_succeed()
    producer.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic).must_be(6), within=WITHIN_S)


def _share(consumers):
    for one in consumers:
        answer = one.beat()
        if answer.error == errors.UNSUPPORTED_VERSION:
            return
        if answer.error in BEGIN_ANEW:
            one.epoch, one.owned = 0, frozenset()
            one.beat().must_succeed()
    if consumers:
        reconcile(*consumers, partitions=PARTITIONS)
