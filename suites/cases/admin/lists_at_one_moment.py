"""A setting that is a list, changed by many clients at one moment through every broker."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin.lists import LISTS, WITHIN_S
from brokertrial.suites.probe.admin import APPEND, SUBTRACT, TOPIC
from brokertrial.suites.probe.at_once import once

ROUNDS, CLIENTS, EACH = 12, 10, 3


@case(
    "admin/lists-changed-at-one-moment",
    guarantees=["adm-009", "adm-016"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0},
    needs=["topic-settings"],
    detects=["Z06"],
)
def every_change_counts(wire, topic, rng):
    """Where many clients change a list at one moment, each change that was acknowledged MUST count: what any of them
    appended is there, what any of them subtracted is not, and everything else is as it was.

    Ten clients at every broker, 12 rounds; each appends items of its own, or takes away some that were there.
    """
    name, held, made = rng.choice(LISTS), set[str](), 0
    for _ in range(ROUNDS):
        free, asks, after = sorted(held), [], set(held)
        for client in range(CLIENTS):
            how = APPEND
            items = [f"{made + at}:1" for at in range(rng.randint(1, EACH))]
            if free and rng.random() < 0.4:
                how, items = SUBTRACT, rng.sample(free, min(len(free), len(items)))
                free = [item for item in free if item not in items]
                after -= set(items)
            else:
                made += len(items)
                after |= set(items)
            change = [(name, how, ",".join(items))]
            asks.append(
                partial(wire.change_configs, TOPIC, topic, change, to=rng.choice(wire.nodes), via=f"client {client}")
            )
        for answer in once(wire, asks):
            answer.must_succeed()
        held = after
        wire.eventually(lambda held=held: _must_hold(wire, topic, name, held), within=WITHIN_S)


def _must_hold(wire, topic, name, held):
    answer = wire.describe_configs(TOPIC, topic, [name]).must_succeed()
    listed = [item for row in answer.struct.results[0].configs for item in (row.value or "").split(",") if item]
    others = sorted(set(listed) ^ held)
    answer.must(
        not others and len(listed) == len(held),
        f"it holds {len(listed)} items, not the {len(held)} due; they differ in {', '.join(others[:3])}",
        "results[0].configs",
    )
