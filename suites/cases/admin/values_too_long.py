"""Lists that grow longer than a broker can keep: whoever makes one so is given a reason (KIP-339)."""

from itertools import count

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import APPEND, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")
CHANGED = "max.message.bytes"
WITHIN_S, STEPS, HALF = 20, 6, 18_000


@case(
    "admin/list-appended-beyond-its-limit",
    guarantees=["adm-009", "err-003"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["topic-settings"],
    detects=["B201"],
)
def what_is_too_long_is_refused_for_a_reason(wire, topic_of, rng):
    """A list that grows by APPEND to more than 32,767 characters MUST be taken, or be refused with an error that says
    why, which UNKNOWN_SERVER_ERROR (-1) does not; refused, the topic MUST have what it had, and other topics of the
    same request MUST be given theirs.

    Six drawn requests for two topics that have half of it: as much again or more is added, alone or beside another
    setting, at first perhaps validated only.
    """
    topics = [topic_of(), topic_of(what="u")]
    lists = LongLists(wire, rng, topics)
    lists.begin()
    for step in range(STEPS):
        lists.step(step)


class LongLists:
    """What each topic has of its own, as far as it was answered with success."""

    def __init__(self, wire, rng, topics):
        self.wire, self.rng, self.numbers = wire, rng, count(1_000)
        self.has: dict[str, dict[str, str]] = {topic: {} for topic in topics}

    def begin(self):
        """Each has as much as is well within bounds."""
        for topic, own in self.has.items():
            own.update({name: self._items(HALF) for name in LISTS})
            self.wire.change_configs(TOPIC, topic, [(name, SET, own[name]) for name in LISTS]).must_succeed()
        self._must_have()

    def step(self, number):
        """One topic is given too much, the other an ordinary setting."""
        long, other = self.rng.sample(sorted(self.has), 2)
        name, value, size = self.rng.choice(LISTS), self._items(self.rng.randint(HALF, 30_000)), str(100_000 + number)
        rows = [(name, APPEND, value), *([(CHANGED, SET, size)] if self.rng.random() < 0.5 else [])]
        asked = {long: self.rng.sample(rows, len(rows)), other: [(CHANGED, SET, size)]}
        checks = number < STEPS - 2 and self.rng.random() < 0.3
        answer = self._change({topic: asked[topic] for topic in self.rng.sample(sorted(asked), 2)}, checks)
        codes = {row.resource_name: row.error_code for row in answer.struct.responses}
        what = f"{len(value)} characters more for {name} are answered {errors.name(codes.get(long, 0))}"
        answer.must(codes.get(long) != errors.UNKNOWN_SERVER_ERROR, what, "responses")
        answer.must(codes.get(other) == 0, f"what is asked for beside it is answered {codes.get(other)}", "responses")
        if not checks:
            self.has[other][CHANGED] = size
            if not codes[long]:
                self.has[long].update({CHANGED: size} if rows[1:] else {})
                self.has[long][name] += f",{value}"
        self._must_have()

    def _items(self, length):
        """A list of so many characters at the most, none of it said before."""
        return ",".join(f"{next(self.numbers)}:1" for _ in range(length // 8))

    def _change(self, asked, validate_only):
        resources = [
            {
                "resource_type": TOPIC,
                "resource_name": topic,
                "configs": [{"name": name, "config_operation": how, "value": value} for name, how, value in rows],
            }
            for topic, rows in asked.items()
        ]
        return self.wire.ask(request("IncrementalAlterConfigs", resources=resources, validate_only=validate_only))

    def _must_have(self):
        self.wire.eventually(self._check, within=WITHIN_S)

    def _check(self):
        for topic, own in self.has.items():
            answer = self.wire.describe_configs(TOPIC, topic, [*LISTS, CHANGED]).must_succeed()
            found = {row.name: row.value or "" for row in answer.struct.results[0].configs}
            for name, wanted in own.items():
                has = found.get(name, "")
                what = f"{name} has {len(has)} characters, {has[:40]}; it must have {len(wanted)}, {wanted[:40]}"
                answer.must(has == wanted, what, "results[0].configs")
