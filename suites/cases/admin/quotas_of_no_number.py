"""Quotas of clients whose value is no number (KIP-546), alone and beside others in the request."""

import math

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

KINDS = ("user", "client-id")
REFUSALS = (errors.INVALID_REQUEST, errors.INVALID_CONFIG)
NUMBERS = {
    "producer_byte_rate": (1024.0, 5e9),
    "consumer_byte_rate": (2048.0, 7e9),
    "request_percentage": (0.5, 200.0),
    "controller_mutation_rate": (0.25, 10.0),
}
NONE_OF_THEM = (math.nan, -math.inf, math.inf)
WITHIN_S = 10


@case(
    "admin/quotas-that-are-no-number",
    guarantees=["adm-020", "err-003"],
    apis={"AlterClientQuotas": 0, "DescribeClientQuotas": 0},
    detects=[edit_answer("entries[].error_code", set=0, api="AlterClientQuotas")],
)
def a_quota_that_is_no_number_is_refused(wire, rng):
    """A quota of NaN, or an infinite one, MUST be refused (42, 40), whichever quota it is and whoever it is for: what
    was set before stays in force, and nothing is described where nothing was. The other entities of the request MUST be
    given theirs, and the other quotas of the same entity MUST NOT.

    Each quota with each such value, in a request for three.
    """
    if wire.case_context.has_zookeeper:
        wire.not_applicable("a controller with ZooKeeper takes what is not above zero too")
    given: dict[str, dict[str, float]] = {}
    kind = rng.choice(KINDS)
    try:
        for key in NUMBERS:
            for value in NONE_OF_THEM:
                with wire.part(f"{key}={value}"):
                    _one_of_three(wire, rng, kind, given, (key, value))
    finally:
        _alter(wire, rng, kind, {name: dict.fromkeys(NUMBERS) for name in given})


def _one_of_three(wire, rng, kind, given, wrong):
    """The one who is given it has a quota already, or none; what else is asked for it comes before or after."""
    key, value = wrong
    names = [wire.name("who") for _ in range(3)]
    asked: dict[str, dict[str, float]] = {name: {} for name in names}
    who = rng.choice(names)
    other = rng.choice([name for name in NUMBERS if name != key])
    before = rng.choice(({}, {key: NUMBERS[key][0]}, {other: NUMBERS[other][0]}))
    given[who] = before
    if before:
        _alter(wire, rng, kind, {who: before}).must_succeed()
    rows = [(key, value), (other, NUMBERS[other][1])]
    asked[who] = dict(rows if rng.random() < 0.5 else reversed(rows))
    for name in names:
        if name != who:
            own = rng.choice(sorted(NUMBERS))
            asked[name] = given[name] = {own: rng.choice(NUMBERS[own])}
    answer = _alter(wire, rng, kind, asked)
    codes = {row.entity[0].entity_name: row.error_code for row in answer.struct.entries}
    answer.must(codes.keys() == set(names), f"it answers for {len(codes)} of three", "entries")
    for name, code in codes.items():
        if name == who:
            answer.must(code in REFUSALS, f"who is given {key}={value} is answered {errors.name(code)}", "entries")
        else:
            answer.must(code == 0, f"who is given {asked[name]} beside it is answered {errors.name(code)}", "entries")
    node = rng.choice(wire.nodes)
    for name in names:
        wire.eventually(lambda of=name: _must_have(wire, kind, of, given[of], node), within=WITHIN_S)


def _must_have(wire, kind, name, own, node):
    components = [{"entity_type": kind, "match_type": 0, "match": name}]
    asked = request("DescribeClientQuotas", components=components, strict=True)
    answer = wire.ask(asked, to=node).must_succeed()
    found = [{each.key: each.value for each in row.values} for row in answer.struct.entries or []]
    answer.must(found == ([own] if own else []), f"it has the quotas {found}; it was given {own}", "entries")


def _alter(wire, rng, kind, asked):
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name}],
            "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in own.items()],
        }
        for name, own in asked.items()
    ]
    versions = wire.versions("AlterClientQuotas")
    sent = request("AlterClientQuotas", entries=entries, validate_only=False)
    return wire.ask(sent, version=rng.randint(versions[0], versions[-1]), to=rng.choice(wire.nodes))
