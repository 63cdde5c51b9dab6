"""Who is refused, with which code, in whichever state the group is and in whichever version it is asked."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._asked_of_states import QUESTIONS, Asker, is_modern
from brokertrial.suites.cases.groups._states import CLASSIC, MODERN, STABLE, all_states, turns
from brokertrial.suites.probe.failures import breaks

APIS = {
    "JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "DescribeGroups": 0, "OffsetCommit": 7,
    "OffsetFetch": 2, "OffsetDelete": 0, "DeleteGroups": 0, "TxnOffsetCommit": 3, "AddOffsetsToTxn": 0,
}  # fmt: skip
ASKED, PATIENT_MS = 1_000, 300_000


@case(
    "groups/asked-in-every-state",
    guarantees=["grp-009", "grp-008", "grp-021", "cmt-011", "cmt-012", "cmt-014", "g848-004"],
    apis=APIS,
    needs=["partitions"],
    detects=["K38", "D08", "D09", "D10", "V18"],
)
def each_request_is_answered_as_the_group_is(wire, topic_of, rng, transactional_id):
    """Each request of a group MUST be answered according to its state, in each version: without members, awaiting them,
    with a generation that has no assignments yet, stable, deleted, created again, formerly of the other protocol; for
    members, former members and unknown ones, without an id, with the instance of another, and in any generation. A
    refused request MUST get the one code that its client goes on from, and the group MUST be unchanged afterwards.

    Up to thirteen groups, 1,000 drawn requests; the expected answers are those of ClassicGroup.validateOffsetCommit and
    validateMember, and of ConsumerGroup.
    """
    read, other, free = (topic_of(what=what) for what in ("read", "other", "free"))
    began_ms = wire.now_ms()
    groups = all_states(wire, rng, read, other, modern=is_modern(wire))
    producer = wire.producer(transactional_id, timeout_ms=PATIENT_MS)
    asker = Asker(wire, rng, (read, other, free), groups, producer)
    for _ in turns(wire, began_ms, ASKED):
        asker.step(QUESTIONS)
    asker.producer.abort().must_succeed()
    for one in groups:
        asker.stay_alive()
        with breaks("cmt-011", "cmt-012"):
            wire.eventually(
                lambda one=one: wire.committed(one.name, read, require_stable=True).must_be(one.offset), within=10
            )
        for member in one.members if one.state == STABLE else ():
            with breaks("g848-003" if one.kind == MODERN else "grp-009"):
                if one.kind == CLASSIC:
                    member.heartbeat().must_succeed()
                    member.sync().must_bring(one.given[member.id])
                elif one.kind == MODERN:
                    member.beat().must_have("member_epoch", one.epochs[member.id])
