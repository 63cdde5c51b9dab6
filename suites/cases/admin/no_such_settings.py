"""Operations that a setting does not have, and names that are no setting: APPEND and SUBTRACT are for lists alone."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import APPEND, BROKER, SET, SUBTRACT, TOPIC
from brokertrial.wire import errors

ALL = ""
NO_LISTS = {
    TOPIC: ("retention.ms", "segment.bytes", "max.message.bytes"),
    BROKER: ("message.max.bytes", "num.io.threads"),
}
WORDS = ("no", "such", "log", "retention", "cleaner", "policy", "ms", "x")
STEPS, WITHIN_S = 30, 20
CHANGED = "max.message.bytes"


@case(
    "admin/added-to-what-is-no-list",
    guarantees=["adm-009", "err-003"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["settings", "topic-settings"],
    detects=["K45"],
)
def what_is_no_list_is_not_added_to(wire, topic, rng):
    """APPEND and SUBTRACT MUST be refused with INVALID_CONFIG (40) for an unknown setting, and for one that is not a
    list, of a topic, of one broker and of all; other changes of a topic in the same request MUST NOT be made.

    Thirty drawn requests: names of one to four drawn words, or numbers among the settings.
    """
    size = 10_000
    wire.change_configs(TOPIC, topic, [(CHANGED, SET, str(size))]).must_succeed()
    wire.eventually(lambda: _must_be(wire, topic, size), within=WITHIN_S)
    for step in range(STEPS):
        kind, name = rng.choice(((TOPIC, topic), (BROKER, str(rng.choice(wire.nodes))), (BROKER, ALL)))
        rows = [(_no_list(rng, kind), rng.choice((APPEND, SUBTRACT)), rng.choice(("1", "x", "a,b")))]
        if kind == TOPIC and rows[0][0] != CHANGED and rng.random() < 0.5:
            rows.insert(rng.randint(0, 1), (CHANGED, SET, str(size + step + 1)))
        answer = wire.change_configs(
            kind, name, rows, validate_only=rng.random() < 0.3, to=int(name) if kind == BROKER and name else None
        )
        answer.must_be_refused(errors.INVALID_CONFIG)
    wire.eventually(lambda: _must_be(wire, topic, size), within=WITHIN_S)


def _no_list(rng, kind):
    if rng.random() < 0.3:
        return rng.choice(NO_LISTS[kind])
    return ".".join(["no", *(rng.choice(WORDS) for _ in range(rng.randint(0, 3)))])


def _must_be(wire, topic, size):
    answer = wire.describe_configs(TOPIC, topic, [CHANGED]).must_succeed()
    answer.must_have("results[0].configs[0].value", str(size))
