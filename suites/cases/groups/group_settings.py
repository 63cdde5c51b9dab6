"""What a KIP-848 group may be set to: at the edges of what the brokers allow, and in force at its next heartbeat."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import DELETE, GROUP, SET
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
NAMES = (SESSION, INTERVAL)
OWN = 8
"""The source of what a group was given itself."""
WITHIN_S, ALMOST = 10, 0.8


class SettingBounds:
    """What the brokers allow, and what is in force where a group has none of its own."""

    def __init__(self, wire):
        self.low, self.high, self.default = {}, {}, {}
        for name in NAMES:
            short = name.removeprefix("consumer.")
            bounds = [wire.setting(f"group.consumer.{each}{short}") for each in ("min.", "max.", "")]
            if any(each is None for each in bounds):
                wire.not_applicable(f"the brokers do not report what {name} may be")
            self.low[name], self.high[name], self.default[name] = map(int, bounds)

    def value(self, own, name):
        return own.get(name, str(self.default[name]))

    def refuse(self, own):
        """Whether a group may not have these: each in its bounds, the session longer than the interval."""
        given = {name: self.value(own, name) for name in NAMES}
        if not all(text.lstrip("-").isdigit() for text in given.values()):
            return True
        numbers = {name: int(text) for name, text in given.items()}
        beyond = any(name in own and not self.low[name] <= numbers[name] <= self.high[name] for name in NAMES)
        return beyond or numbers[SESSION] <= numbers[INTERVAL]

    def edges(self):
        """Each setting alone where it comes closest to the other, which is inherited."""
        shortest, longest = str(self.low[SESSION]), str(self.high[INTERVAL])
        return [
            [(SESSION, SET, shortest)],
            [(SESSION, DELETE, None)],
            [(INTERVAL, SET, longest)],
            [(INTERVAL, DELETE, None)],
        ]

    def changes(self, rng):
        names = rng.sample(NAMES, rng.randint(1, 2))
        return [(name, DELETE, None) if rng.random() < 0.2 else (name, SET, self._drawn(rng, name)) for name in names]

    def _drawn(self, rng, name):
        low, high = self.low[name], self.high[name]
        numbers = [low, low + 1, high, high - 1, rng.randint(low, high), self.default[name]]
        wrong = [str(low - 1), str(high + 1), "0", "-1", "", "many", "1.5", str(2**31)]
        return rng.choice([*map(str, numbers), *map(str, numbers), *wrong])


@case(
    "groups/settings-of-their-own",
    guarantees=["g848-012"],
    apis={"ConsumerGroupHeartbeat": 1, "IncrementalAlterConfigs": 1, "DescribeConfigs": 1},
    features={"group.version": 1},
    detects=["D11", "D12", "Z14"],
)
def a_group_has_what_it_may_have(wire, topic, rng):
    """A group MUST accept each session timeout and heartbeat interval within the brokers' limits, both limits included,
    and MUST refuse all others (40), a session that is no longer than the interval, and what is not a number; a refused
    request changes nothing, not even its valid entries. Heartbeats MUST return the interval that is in force, and a
    deleted setting is the brokers' again.

    Two groups, 60 drawn changes; at first each setting alone at its limit, beside what the group inherits.
    """
    limits = SettingBounds(wire)
    edges = limits.edges()
    groups = {wire.name("g"): {} for _ in range(2)}  # type: ignore[var-annotated]
    members = {name: CurrentMember(wire, name, topic) for name in groups}
    for turn in range(60):
        name = rng.choice(list(groups)) if turn >= len(edges) else next(iter(groups))
        changes = edges[turn] if turn < len(edges) else limits.changes(rng)
        own = {**groups[name], **{key: value for key, kind, value in changes if kind == SET}}
        for key in (key for key, kind, _ in changes if kind == DELETE):
            own.pop(key, None)
        answer = wire.change_configs(GROUP, name, changes)
        if limits.refuse(own):
            answer.must_be_refused(errors.INVALID_CONFIG)
        else:
            answer.must_succeed()
            groups[name] = own
        for each, given in groups.items():
            wire.eventually(lambda each=each, given=given: _must_have(wire, limits, each, given), within=WITHIN_S)
            if turn > 5:
                session, interval = (int(limits.value(given, name)) for name in NAMES)
                wire.eventually(
                    lambda each=each, session=session, interval=interval: members[each].must_be_given(
                        session, interval
                    ),
                    within=WITHIN_S,
                )


class CurrentMember:
    """Of one group; where its session, which may be a short one, can be over, another comes in its place."""

    def __init__(self, wire, group, topic):
        self.wire, self.group, self.topic = wire, group, topic
        self.member, self.heard_ms, self.session_ms = None, 0, 0

    def must_be_given(self, session_ms, interval_ms):
        """The interval that is in force."""
        now_ms = self.wire.now_ms()
        if self.member is None or now_ms > self.heard_ms + min(self.session_ms, session_ms) * ALMOST:
            self.member = ConsumerGroupMember(self.wire, self.group, self.topic)
        answer = self.member.beat().must_succeed()
        self.heard_ms, self.session_ms = now_ms, session_ms
        answer.must_have("heartbeat_interval_ms", interval_ms)


def _must_have(wire, limits, group, own):
    keys = {"resource_type": GROUP, "resource_name": group, "configuration_keys": list(NAMES)}
    asked = request("DescribeConfigs", resources=[keys])
    answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
    found = {row.name: (row.value, row.config_source == OWN) for row in answer.struct.results[0].configs}
    wanted = {name: (limits.value(own, name), name in own) for name in NAMES}
    answer.must(found == wanted, f"the group has {found}; it must have {wanted}", "results[0].configs")
