"""A rebalance that a member does not come to, while new ones keep coming: its time runs once."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.classic_member import Member
from brokertrial.wire import errors

TIMEOUT_MS, EACH_S, LONGEST_MS = 3_000, 0.5, 20_000
OPAQUE = {"protocol_type": "opaque", "session_timeout_ms": 300_000, "protocols": [("p", b"p")]}


@case(
    "groups/rebalance-time-runs-once",
    guarantees=["grp-010", "grp-006"],
    apis={"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0},
    detects=["B282"],
)
def who_does_not_come_is_waited_for_once(wire, group):
    """A rebalance of a stable group MUST end when its members' rebalance timeout is over since it began, however many
    members still join it, and not before: whoever has not joined again by then is no member any more, and all that have
    are answered.

    One member goes on with heartbeats alone; another joins, and then one more each half second. The timeout is 3 s.
    """
    absent = wire.member(group, "absent", rebalance_timeout_ms=TIMEOUT_MS, **OPAQUE)
    absent.join().must_succeed()
    absent.sync({absent.id: b"all"}).must_succeed()
    began_ms, coming = wire.now_ms(), list[Member]()
    while True:
        coming.append(wire.member(group, f"m{len(coming)}", rebalance_timeout_ms=TIMEOUT_MS, **OPAQUE))
        coming[-1].begin_join()
        wire.rest(EACH_S)
        answer = absent.heartbeat()
        waited_ms = wire.now_ms() - began_ms
        if answer.error == errors.UNKNOWN_MEMBER_ID or waited_ms > LONGEST_MS:
            break
        answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
    said = f"{len(coming)} members came in {waited_ms} ms; the rebalance timeout is {TIMEOUT_MS} ms"
    answer.must(waited_ms >= TIMEOUT_MS, f"the member that did not join again is gone: {said}", "error_code")
    if waited_ms > TIMEOUT_MS + 1_000 * (EACH_S + wire.slack_s):
        wire.too_late(f"the member that did not join again is waited for: {said}")
    coming[0].finish_join().must_succeed()
    for joined in [one.joined for one in coming if one.joined is not None]:
        joined.examined = True
