"""With which codes a coordinator that is back refuses those whose clients do not know them all."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

LONG_MS, WITHIN_S = 60_000, 60
UNKNOWN_BEFORE = 2
ELSEWHERE = (errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR)


@case(
    "groups/refused-with-codes-they-know",
    guarantees=["grp-016", "err-003"],
    apis={"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0, "InitProducerId": 0, "AddOffsetsToTxn": 0},
    needs=["kill", "terminate", "restart"],
    level="should",
    detects=["D62"],
)
def no_client_is_refused_with_a_code_that_it_does_not_know(wire, topic, group, transactional_id, nodes):
    """While a coordinator reads its log again, it SHOULD take heartbeats or refuse them with another code than
    COORDINATOR_LOAD_IN_PROGRESS, which Heartbeat does not have; and it SHOULD refuse TxnOffsetCommit before v2 with
    COORDINATOR_NOT_AVAILABLE: producers of then end at the other code (KAFKA-7296).

    A member, and a transaction with offsets of its group, over a kill and a stop; each is asked until it is served.
    """
    member = wire.member(group, "a", session_timeout_ms=LONG_MS, rebalance_timeout_ms=LONG_MS)
    rebalance(member, assignments=[b"its own"])
    identity = wire.init_producer_id(transactional_id, timeout_ms=LONG_MS)
    who = (transactional_id, identity.producer_id, identity.epoch)
    wire.add_offsets(*who, group).must_succeed()
    offered = wire.versions("TxnOffsetCommit")
    for act in (nodes.crash, nodes.stop_and_start):
        act(nodes.of_group(group))
        _until_served(wire, group, lambda: wire.heartbeat(group, member.generation, member.id, retry=False))
        for version in (one for one in offered if one < UNKNOWN_BEFORE):
            _until_served(
                wire,
                group,
                lambda version=version: wire.txn_offset_commit(
                    *who, group, {(topic, 0): 1}, version=version, retry=False
                ),
            )


def _until_served(wire, group, ask):
    def is_served():
        answer = ask()
        answer.must(
            answer.error != errors.COORDINATOR_LOAD_IN_PROGRESS,
            "it is refused with COORDINATOR_LOAD_IN_PROGRESS, a code that its client does not know",
        )
        if answer.error in ELSEWHERE:
            wire.forget_coordinator(group)
        return answer.error == errors.NONE

    wire.until(is_served, within=WITHIN_S, what="the coordinator serves again")
