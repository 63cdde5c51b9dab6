"""What keeps a KIP-848 member in its group, and what does not."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.groups._group_settings import set_session
from brokertrial.suites.cases.groups._living import EARLY, LATE_S
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

APIS = {
    "ConsumerGroupHeartbeat": 1,
    "ConsumerGroupDescribe": 0,
    "OffsetCommit": 9,
    "OffsetFetch": 9,
    "IncrementalAlterConfigs": 1,
    "DescribeConfigs": 1,
}
SESSION_MS = 3_000


class LivingConsumer:
    """A group of one member that has one way to ask."""

    def __init__(self, wire, topic, what, ask, *wanted, lives=False, static=False):
        self.wire, self.topic, self.what, self.lives = wire, topic, what, lives
        self.ask, self.wanted, self.group = ask, wanted, wire.name("g")
        set_session(wire, self.group, SESSION_MS)
        self.instance = wire.name("i") if static else None
        self.member = ConsumerGroupMember(wire, self.group, topic, instance_id=self.instance)
        self.member.beat().must_succeed()
        reconcile(self.member, partitions=1)
        self.heard_ms, self.gone = wire.now_ms(), False

    def beats(self, *, off=0, **says):
        member = self.member
        return self.wire.consumer_group_heartbeat(
            self.group, member.id, member.epoch + off, **{"instance_id": self.instance, **says}
        )

    def commits(self, *, off=0, version=9):
        whose = {"member_id": self.member.id, "generation": self.member.epoch + off}
        return self.wire.commit(self.group, self.topic, offset=5, version=version, **whose)

    def fetches(self):
        named = {"group_id": self.group, "member_id": self.member.id, "member_epoch": self.member.epoch}
        asked = request("OffsetFetch", groups=[{**named, "topics": None}])
        return self.wire.ask(asked, to=lambda: self.wire.coordinator(self.group), version=9)

    def gives(self, ask, *wanted):
        """A sign of life, in time for the one before: else it proves nothing."""
        before_ms = self.wire.now_ms()
        answer = ask(self)
        pause_ms = self.wire.now_ms() - self.heard_ms
        if pause_ms > SESSION_MS * EARLY:
            answer.examined = True
            self.wire.unclear(f"{pause_ms} ms went by between two signs of one member")
        self.heard_ms = before_ms
        answer.must(answer.error in wanted, f"it is answered {answer.error}; it must be {wanted}", "error_code")

    def turn(self):
        """It asks in its way, and is looked at: whether it is expelled."""
        if self.lives:
            self.gives(self.ask, *self.wanted)
        elif not self.gone:
            answer, wanted = self.ask(self), (*self.wanted, errors.UNKNOWN_MEMBER_ID)
            answer.must(answer.error in wanted, f"it is answered {answer.error}; it must be one of {wanted}")
        return self.look()

    def look(self):
        """Whether it is expelled: a member that keeps alive never, and another when its session is over."""
        if self.gone:
            return True
        asked = request("ConsumerGroupDescribe", group_ids=[self.group])
        answer = self.wire.ask(asked, to=lambda: self.wire.coordinator(self.group)).must_succeed()
        self.gone = self.member.id not in [row.member_id for row in answer.struct.groups[0].members]
        silent_ms = self.wire.now_ms() - self.heard_ms
        early = self.gone and (self.lives or silent_ms < SESSION_MS * EARLY)
        answer.must(not early, f"{self.what}: after {silent_ms} ms of {SESSION_MS} it is expelled", "groups[0].members")
        return self.gone

    def must_go(self):
        """It is expelled when its session is over, though it goes on to ask."""
        left_s = max(0, SESSION_MS - (self.wire.now_ms() - self.heard_ms)) / 1000
        self.wire.until(self.turn, within=left_s + LATE_S, what=f"the member is expelled that sends {self.what} alone")
        self.beats().must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/consumer-signs-of-life",
    guarantees=["g848-012", "g848-003"],
    apis=APIS,
    features={"group.version": 1},
    detects=["D04"],
)
def only_heartbeats_that_are_taken_keep_a_member(wire, topic, rng):
    """A KIP-848 member MUST stay as long as it sends heartbeats in time for its session, whatever they contain and
    leave out; and MUST be expelled when that is over, and not before, if its heartbeats are refused: of a later epoch
    (110), of an unknown instance (25), with an unknown assignor (112) or an invalid epoch (42). Commits and OffsetFetch
    do not keep it either, accepted or refused.

    One group for each kind of request, all at a time.
    """
    lives, alone, none = {"lives": True}, {"lives": False}, errors.NONE
    stranger = wire.name("nobody")
    kinds = [
        ("heartbeats", lambda one: one.beats(), none, lives),
        ("heartbeats of an instance", lambda one: one.beats(), none, {**lives, "static": True}),
        ("heartbeats that say what it owns", lambda one: one.beats(owned={topic: [0]}), none, lives),
        ("heartbeats that subscribe again", lambda one: one.beats(topics=[topic]), none, lives),
        ("heartbeats of an epoch to come", lambda one: one.beats(off=1), errors.FENCED_MEMBER_EPOCH, alone),
        ("heartbeats of no instance", lambda one: one.beats(instance_id=stranger), errors.UNKNOWN_MEMBER_ID, alone),
        ("heartbeats for no assignor", lambda one: one.beats(assignor="none"), errors.UNSUPPORTED_ASSIGNOR, alone),
        ("heartbeats of no epoch", lambda one: one.beats(off=-99), errors.INVALID_REQUEST, alone),
        ("commits", lambda one: one.commits(), none, alone),
        ("commits of another epoch", lambda one: one.commits(off=1), errors.STALE_MEMBER_EPOCH, alone),
        ("commits of an old version", lambda one: one.commits(version=8), errors.UNSUPPORTED_VERSION, alone),
        ("OffsetFetches", lambda one: one.fetches(), none, alone),
    ]
    all_: list[LivingConsumer] = []
    for what, ask, wanted, how in kinds:
        all_.append(LivingConsumer(wire, topic, what, ask, wanted, **how))
        for one in all_:
            one.gives(LivingConsumer.beats, none)
    began_ms = wire.now_ms()

    def long_enough():
        for one in rng.sample(all_, len(all_)):
            one.turn()
        return wire.now_ms() > began_ms + 2 * SESSION_MS

    wire.until(long_enough, within=4 * SESSION_MS / 1000, what="twice the session has passed")
    for one in [each for each in all_ if not each.lives]:
        one.must_go()
