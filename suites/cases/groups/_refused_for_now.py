"""What a group coordinator that cannot write its log refuses for the moment, and a member that goes on afterwards."""

from brokertrial.suites.cases.replication._handing_over import ELSEWHERE
from brokertrial.wire import errors

GIVEN = b"given"


def may_be_refused(answer, *others):
    """As by a coordinator that is not available for the moment, or with `others`, or it is done.

    A broker that does not serve KIP-848 says so.
    """
    if answer.error not in (errors.NONE, errors.UNSUPPORTED_VERSION, *others):
        answer.must_be_refused(*ELSEWHERE)


def assigned(wire, member):
    """The SyncGroup of a leader that is its group's only member, sent once."""
    how = {"protocol": member.protocol, "protocol_type": "consumer", "via": member.name, "retry": False}
    return wire.sync_group(member.group, member.generation, member.id, {member.id: GIVEN}, **how)


def must_be_assigned(member):
    """In a new generation; where nothing of its group was written, its coordinator may not know it any more."""
    if member.join().error == errors.UNKNOWN_MEMBER_ID:
        member.id = ""
        member.join().must_succeed()
    member.sync({member.id: GIVEN}).must_bring(GIVEN)
