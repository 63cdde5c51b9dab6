"""KIP-848 members that begin again, and several groups that are described at once."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

KIP_848 = {"ConsumerGroupHeartbeat": 1}
ON = {"group.version": 1}


@case(
    "groups/consumer-begins-again",
    guarantees=["g848-003", "g848-005"],
    apis=KIP_848,
    features=ON,
    detects=["K07", edit_answer("error_code", set=errors.FENCED_MEMBER_EPOCH, api="ConsumerGroupHeartbeat", skip=8)],
)
def a_member_may_begin_again_at_any_epoch(wire, topic_of, group):
    """A member that the group knows MUST be let in again with epoch 0, however far its epoch and that of the group have
    gone, and be given its share.

    Who was fenced, or lost an answer, knows nothing else to do.
    """
    topic = topic_of(partitions=4)
    members = [ConsumerGroupMember(wire, group, topic) for _ in range(3)]
    one = members[0]
    one.beat().must_succeed()
    for count in (2, 3):
        members[count - 1].beat().must_succeed()
        reconcile(*members[:count], partitions=4)
    if one.epoch < 3:
        wire.unclear(f"the member is at epoch {one.epoch}; it has to be at 3 or more")

    one.epoch = 0
    one.beat().must_succeed()
    reconcile(*members, partitions=4)


@case(
    "groups/consumers-described-together",
    guarantee="g848-015",
    apis={**KIP_848, "ConsumerGroupDescribe": 0},
    features=ON,
    detects=["K08", "K41", edit_answer("groups[0]", repeat=True, api="ConsumerGroupDescribe")],
)
def each_group_is_described_once(wire, topic):
    """ConsumerGroupDescribe of several groups MUST describe each once, as it is, whichever partition of the offsets
    topic holds it; it MUST answer for one that does not exist with GROUP_ID_NOT_FOUND (69), and for an empty id with
    INVALID_GROUP_ID (24), once, without changing the rows of the others.
    """
    members = {}
    home = wire.coordinator(first := wire.name("g"))
    names = [first] + [name for name in (wire.name("g") for _ in range(8)) if wire.coordinator(name) == home]
    for name in names:
        members[name] = ConsumerGroupMember(wire, name, topic)
        members[name].beat().must_succeed()
    absent = next(name for name in (wire.name("absent") for _ in range(200)) if wire.coordinator(name) == home)

    for what, name, error in (
        ("an empty id", "", errors.INVALID_GROUP_ID),
        ("one that there is not", absent, errors.GROUP_ID_NOT_FOUND),
    ):
        with wire.part(f"beside {what}"):
            answer = wire.ask(request("ConsumerGroupDescribe", group_ids=[*names, name]), to=home)
            rows = sorted((row.group_id, row.error_code, len(row.members)) for row in answer.struct.groups)
            wanted = sorted([*((each, 0, 1) for each in names), (name, error, 0)])
            answer.must(rows == wanted, f"groups, error codes and members are {rows}; they must be {wanted}", "groups")
