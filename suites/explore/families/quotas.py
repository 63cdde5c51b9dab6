"""Quotas of clients: set, changed, removed and looked up, of users, client ids and both, well and badly.

Defaults and those of addresses are of everybody on the cluster: they are only tried out (validate_only).
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Entity, Model
from brokertrial.suites.explore.step import RequestStep, Visible

VALUES: dict[str, list[float]] = {
    "producer_byte_rate": [1e9, 5e8, 0.0, -1.0, 10.5],
    "consumer_byte_rate": [1e9, 5e8, 0.0, -1.0, 1e30],
    "request_percentage": [500.0, 12.5, 0.0, -5.0],
    "controller_mutation_rate": [1000.0, 0.5, 0.0, -0.5],
}
WRONG_KEYS: dict[str, list[float]] = {"connection_creation_rate": [5.0], "no_such_rate": [1.0], "": [1.0]}
ADDRESS_KEYS: dict[str, list[float]] = {"connection_creation_rate": [5.0, 2.5, 0.0, -1.0], "producer_byte_rate": [1e6]}
EXACT, DEFAULT, ANY = 0, 1, 2


def _entity(model: Model) -> Entity:
    """A user, a client id or both, of the few that a sequence has."""
    user, client = f"{model.prefix}-u{model.below(2)}", f"{model.prefix}-c{model.below(2)}"
    return model.pick([(("user", user),), (("client-id", client),), (("client-id", client), ("user", user))])


def _entry(entity: Any, ops: list[dict[str, Any]]) -> dict[str, Any]:
    return {"entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity], "ops": ops}


def _ops(model: Model, values: dict[str, list[float]]) -> list[dict[str, Any]]:
    keys = model.sample(list(values), model.pick([1, 1, 2]))
    return [{"key": key, "value": model.pick(values[key]), "remove": model.chance(0.25)} for key in keys]


def _in_force(model: Model, entity: Entity, ops: list[dict[str, Any]]) -> Visible:
    """What the entity has once these changes are made."""
    kept = model.quotas.setdefault(entity, {})
    for op in ops:
        kept.pop(op["key"], None)
        kept |= {} if op.get("remove") else {op["key"]: op["value"]}
    return Visible("quotas", model.prefix, (entity, dict(kept)))


@rule("AlterClientQuotas", 2.0)
def alter(model: Model) -> RequestStep | None:
    """Of one entity or two; what is set is looked up before anything else is asked."""
    entities = [_entity(model) for _ in range(model.pick([1, 1, 1, 2]))]
    if len(set(entities)) < len(entities):
        return None  # which of two changes of one entity counts is the order of a hash map
    changes = {entity: _ops(model, VALUES) for entity in entities}
    dry = model.chance(0.15)
    fields = {"entries": [_entry(entity, ops) for entity, ops in changes.items()], "validate_only": dry}
    step = RequestStep("AlterClientQuotas", model.version("AlterClientQuotas"), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        for entry in answer["entries"]:
            entity = tuple(sorted((each["entity_type"], each["entity_name"]) for each in entry["entity"]))
            if not entry["error_code"] and not dry and entity in changes:
                step.until.append(_in_force(model, entity, changes[entity]))

    step.learn = learn
    return step


@rule("AlterClientQuotas", 1.0)
def try_out(model: Model) -> RequestStep | None:
    """What would be answered: defaults, addresses, entities and keys that there are not."""
    user, client = ("user", f"{model.prefix}-u0"), ("client-id", f"{model.prefix}-c0")
    entity: tuple[tuple[str, str | None], ...] = model.pick(
        [
            (("user", None),), (("client-id", None),), (("user", None), ("client-id", None)),
            (user, ("client-id", None)), (("ip", "10.1.2.3"),), (("ip", None),), (("ip", "10.1.2.3"), user),
            (("ip", "no address!"),), (("shoe", "42"),), (("", "x"),), (user, user), (), (("user", ""),),
            (("client-id", ""),), (client, user),
        ]
    )  # fmt: skip
    address = bool(entity) and entity[0][0] == "ip"
    values = ADDRESS_KEYS if address and model.chance(0.9) else model.pick([VALUES, VALUES, WRONG_KEYS])
    ops = [] if model.chance(0.1) else _ops(model, values)
    entries = [_entry(entity, ops)] * model.pick([1, 1, 1, 2])
    if model.chance(0.1):
        entries = []
    fields = {"entries": entries, "validate_only": True}
    return RequestStep("AlterClientQuotas", model.version("AlterClientQuotas"), fields, model.connection())


@rule("AlterClientQuotas", 0.5)
def wrong_key(model: Model) -> RequestStep | None:
    """A key or a value that is refused, beside one that is good: neither may be kept."""
    entity = _entity(model)
    bad: dict[str, Any] = model.pick(
        [
            {"key": "no_such_rate", "value": 1.0}, {"key": "connection_creation_rate", "value": 1.0},
            {"key": "producer_byte_rate", "value": -1.0}, {"key": "consumer_byte_rate", "value": 0.5},
            {"key": "no_such_rate", "value": 1.0, "remove": True}, {"key": "request_percentage", "value": 0.0},
        ]
    )  # fmt: skip
    good = {"key": "controller_mutation_rate", "value": 7.0}
    ops = model.pick([[bad], [good, bad], [bad, good]])
    fields = {"entries": [_entry(entity, ops)], "validate_only": model.chance(0.15)}
    step = RequestStep("AlterClientQuotas", model.version("AlterClientQuotas"), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if not any(entry["error_code"] for entry in answer["entries"]) and not fields["validate_only"]:
            step.until.append(_in_force(model, entity, ops))

    step.learn = learn
    return step


@rule("DescribeClientQuotas", 2.0)
def describe(model: Model) -> RequestStep | None:
    """By any way of matching there is, and some that there are not; the answer holds what the sequence set."""
    user, client = f"{model.prefix}-u{model.below(2)}", f"{model.prefix}-c{model.below(2)}"
    components = []
    for kind in model.pick([["user"], ["client-id"], ["user", "client-id"], [], ["ip"], ["ip", "user"]]):
        name = {"user": user, "client-id": client}.get(kind, "10.1.2.3")
        way = model.pick([ANY, EXACT, EXACT, DEFAULT])
        match = name if way == EXACT else None
        components.append({"entity_type": kind, "match_type": way, "match": match})
    if model.chance(0.2):
        wrong: list[dict[str, Any]] = [
            {"entity_type": "user", "match_type": EXACT, "match": None}, {"entity_type": "shoe", "match_type": ANY},
            {"entity_type": "user", "match_type": 3}, {"entity_type": "user", "match_type": -1},
            {"entity_type": "user", "match_type": ANY, "match": user}, {"entity_type": "", "match_type": ANY},
            {"entity_type": "user", "match_type": DEFAULT, "match": user},
        ]  # fmt: skip
        components.append({"match": None} | model.pick(wrong))
    fields = {"components": components, "strict": model.chance(0.4)}
    return RequestStep("DescribeClientQuotas", model.version("DescribeClientQuotas"), fields, model.connection())
