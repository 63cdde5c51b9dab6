"""The group protocol of KIP-848, one heartbeat at a time: joining, sharing, holding on, falling silent."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import SET
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors

KIP_848 = {"ConsumerGroupHeartbeat": 1}
ON = {"group.version": 1}
BEAT = "ConsumerGroupHeartbeat"
GROUP = 32


@case(
    "groups/consumer-joins",
    guarantee="g848-001",
    apis=KIP_848,
    features=ON,
    smoke=True,
    detects=[edit_answer("heartbeat_interval_ms", set=0, api=BEAT)],
)
def a_consumer_that_joins_gets_an_epoch_and_partitions(wire, topic_of, group):
    """Joining with epoch 0 MUST bring a positive member epoch, a heartbeat interval and, then or later, partitions."""
    one = ConsumerGroupMember(wire, group, topic_of(partitions=3))
    joined = one.beat()

    joined.must(joined.struct.member_epoch > 0, "the member epoch must be positive", "member_epoch")
    joined.must(joined.struct.heartbeat_interval_ms > 0, "the interval must be positive", "heartbeat_interval_ms")
    joined.must_have("member_id", one.id)
    reconcile(one, partitions=3)
    one.leave().must_have("member_epoch", -1)


@case("groups/consumer-waits-for-revocation", guarantee="g848-002", apis=KIP_848, features=ON, detects=["M24b"])
def no_member_is_given_what_another_still_owns(wire, topic_of, group):
    """A partition MUST be given to a new owner only after the old one has said that it no longer owns it."""
    topic = topic_of(partitions=2)
    one, two = ConsumerGroupMember(wire, group, topic), ConsumerGroupMember(wire, group, topic)
    one.beat()
    reconcile(one, partitions=2)
    one.held = one.owned
    two.beat()

    def asked_to_give_one_up():
        one.beat().must_succeed()
        must_not_share(two, one.held)
        return len(one.owned) == 1

    wire.until(asked_to_give_one_up, within=30, what="the first member is asked to give one up")
    for _ in range(3):
        one.beat().must_succeed()
        must_not_share(two, one.held)
    one.held = frozenset()
    reconcile(one, two, partitions=2)


@case("groups/consumer-epochs", guarantee="g848-003", apis=KIP_848, features=ON, detects=["M24e"])
def a_wrong_member_epoch_is_fenced(wire, topic_of, group):
    """A member epoch that is not the member's MUST be refused with 110, an unknown member with 25.

    Who was fenced may join again with epoch 0.
    """
    topic = topic_of(partitions=2)
    one = ConsumerGroupMember(wire, group, topic)
    one.beat()
    reconcile(one, partitions=2)
    one.beat(epoch=one.epoch + 5).must_be_refused(errors.FENCED_MEMBER_EPOCH)
    stranger = ConsumerGroupMember(wire, group, topic)
    stranger.beat(epoch=one.epoch).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    one.epoch = 0
    one.beat().must_succeed()
    reconcile(one, partitions=2)


@case("groups/consumer-lost-answer", guarantee="g848-010", apis=KIP_848, features=ON, detects=["M24c"])
def a_heartbeat_whose_answer_was_lost_can_be_repeated(wire, topic_of, group):
    """A heartbeat with the epoch before and the partitions of now MUST be accepted: its answer may have been lost."""
    topic = topic_of(partitions=2)
    one, two = ConsumerGroupMember(wire, group, topic), ConsumerGroupMember(wire, group, topic)
    one.beat()
    reconcile(one, partitions=2)
    before = one.epoch
    two.beat()

    def risen():
        one.beat().must_succeed()
        two.beat().must_succeed()
        return one.epoch > before

    wire.until(risen, within=30, what="the epoch of the first member rises")
    one.beat(epoch=before).must_succeed()
    reconcile(one, two, partitions=2)


@case("groups/consumer-expelled-for-holding-on", guarantee="g848-006", apis=KIP_848, features=ON, detects=["M24i"])
def who_does_not_give_back_is_expelled(wire, topic_of, group):
    """A member that does not give back its partitions within its rebalance timeout MUST lose them and its place."""
    topic = topic_of(partitions=2)
    one, two = ConsumerGroupMember(wire, group, topic, timeout_ms=2_000), ConsumerGroupMember(wire, group, topic)
    one.beat()
    reconcile(one, partitions=2)
    one.held = one.owned
    two.beat()

    def expelled():
        answer = one.beat()
        two.beat().must_succeed()
        return answer.error in (errors.UNKNOWN_MEMBER_ID, errors.FENCED_MEMBER_EPOCH)

    wire.until(expelled, within=30, what="the member that holds on is expelled")
    reconcile(two, partitions=2)


@case("groups/consumer-falls-silent", guarantee="g848-012", apis=KIP_848, features=ON, detects=["M26d"])
def a_silent_consumer_is_expelled(wire, topic_of, group):
    """A member that says nothing for its session timeout MUST be expelled, and its partitions given to others.

    The timeout is made short where the broker lets a group have its own.
    """
    shorter = wire.change_configs(GROUP, group, [("consumer.session.timeout.ms", SET, "3000")])
    refused = shorter.struct.responses[0].error_code
    topic = topic_of(partitions=2)
    one, two = ConsumerGroupMember(wire, group, topic), ConsumerGroupMember(wire, group, topic)
    one.beat()
    two.beat()
    reconcile(one, two, partitions=2)
    timeout_s = int(wire.setting("group.consumer.session.timeout.ms") or 45_000) / 1000 if refused else 3
    reconcile(two, partitions=2, within=timeout_s + 30)
    one.beat().must_be_refused(errors.UNKNOWN_MEMBER_ID)


def must_not_share(member, held):
    answer = member.beat()
    answer.must_succeed()
    both = sorted(member.owned & held)
    answer.must(not both, f"{both} are given to a second member while the first still owns them", "assignment")
