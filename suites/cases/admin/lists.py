"""Settings that are lists of any length: what is added stays, what is taken away is gone, and how long one may grow."""

from itertools import count

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import APPEND, DELETE, SET, SUBTRACT, TOPIC
from brokertrial.wire import errors

CHANGE = {"DescribeConfigs": 1, "IncrementalAlterConfigs": 0}
LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")
ITEMS = tuple(f"{partition}:{node}" for partition in range(4) for node in (1, 2, 3))
BAD = ("7", "a:1", "1:2:3", "1;2", "1-2")
WITHIN_S, STEPS = 20, 50
LONGEST = 32_767


@case(
    "admin/lists-grow-and-shrink",
    guarantees=["adm-009", "adm-008"],
    apis=CHANGE,
    needs=["topic-settings"],
    detects=["K33", "Z05", "Z06", "Z07"],
)
def a_list_is_what_was_added_and_not_taken_away(wire, topic, rng):
    """APPEND MUST add to the end of a list what it does not hold, and SUBTRACT MUST remove what it names and no more;
    an item that is there already, or is not there, MUST be skipped. A request with one invalid item MUST be refused
    with INVALID_CONFIG (40) and change nothing, and one that only validates MUST change nothing.

    Two lists of a topic, up to a dozen items, 50 drawn requests.
    """
    lists = Lists(wire, topic, rng)
    for _ in range(STEPS):
        lists.step()


@case(
    "admin/longest-value",
    guarantees=["adm-009", "err-003"],
    apis=CHANGE,
    needs=["topic-settings"],
    since="4.1 (KAFKA-18907)",
    detects=["Z08"],
)
def a_value_may_grow_to_its_longest(wire, topic, rng):
    """A list MUST grow by APPEND up to 32,767 characters; what would make it longer MUST be refused with
    INVALID_CONFIG, and what was there MUST stay.
    """
    name, value, numbers = rng.choice(LISTS), "", count(1_000)
    while LONGEST - len(value) > 14_000:
        added = ",".join(f"{next(numbers)}:1" for _ in range(rng.randint(1_000, 1_500)))
        wire.change_configs(TOPIC, topic, [(name, APPEND, added)]).must_succeed()
        value = f"{value},{added}" if value else added
    last = "1:1".zfill(LONGEST - len(value) - len(","))
    wire.change_configs(TOPIC, topic, [(name, APPEND, last)]).must_succeed()
    value = f"{value},{last}"
    wire.eventually(lambda: must_be(wire, topic, {name: value}), within=WITHIN_S)
    wire.change_configs(TOPIC, topic, [(name, APPEND, "9:1")]).must_be_refused(errors.INVALID_CONFIG)
    wire.eventually(lambda: must_be(wire, topic, {name: value}), within=WITHIN_S)


class Lists:
    """What each list holds, in its order; one that was never set, or was deleted, is not in `held`."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng, self.held = wire, topic, rng, {}

    def step(self):
        rng = self.rng
        after, rows = {name: list(items) for name, items in self.held.items()}, []
        for name in rng.sample(LISTS, rng.randint(1, 2)):
            how = rng.choice((SET, APPEND, APPEND, APPEND, SUBTRACT, SUBTRACT, DELETE))
            items = rng.sample(ITEMS, rng.choice((1, 1, 2, 3, 5)))
            if how == SUBTRACT and rng.random() < 0.4:
                items = [*rng.sample(after.get(name, []), len(after.get(name, []))), *items[:1]]
            rows.append((name, how, None if how == DELETE else ",".join(items)))
            self._change(after, name, how, items)
        bad, checks = rng.random() < 0.15, rng.random() < 0.15
        if bad:
            rows[-1] = (rows[-1][0], rng.choice((SET, APPEND)), ",".join([*rng.sample(ITEMS, 1), rng.choice(BAD)]))
        answer = self.wire.change_configs(TOPIC, self.topic, rows, validate_only=checks)
        if bad:
            answer.must_be_refused(errors.INVALID_CONFIG)
        else:
            answer.must_succeed()
        if not bad and not checks:
            self.held = after
        wanted = {name: ",".join(items) for name, items in self.held.items()}
        self.wire.eventually(lambda: must_be(self.wire, self.topic, wanted), within=WITHIN_S)

    @staticmethod
    def _change(held, name, how, items):
        there = held.get(name, [])
        if how == DELETE:
            held.pop(name, None)
        elif how == SET:
            held[name] = items
        elif how == APPEND:
            held[name] = [*there, *(item for item in items if item not in there)]
        else:
            held[name] = [item for item in there if item not in items]


def must_be(wire, topic, wanted):
    """These lists are what the topic has of its own, and the other is empty."""
    answer = wire.describe_configs(TOPIC, topic, list(LISTS)).must_succeed()
    found = {row.name: row.value for row in answer.struct.results[0].configs if row.value}
    expected = {name: value for name, value in wanted.items() if value}
    at = next((name for name in LISTS if found.get(name) != expected.get(name)), None)
    answer.must(
        at is None, f"{at} is {shown(found.get(at))}; it must be {shown(expected.get(at))}", "results[0].configs"
    )


def shown(value):
    """A list, or as much of a long one as says which it is."""
    if not value:
        return "empty"
    return value if len(value) < 300 else f"{value[:80]}... ({len(value)} characters)"
