"""Every kind of request can be made, in every version, whatever the sequence before it, and sent as it is."""

from __future__ import annotations

import uuid
from collections import Counter
from random import Random
from typing import Any

import pytest

from brokertrial.suites.explore.choices import RandomChoices
from brokertrial.suites.explore.families import RequestRule, rules
from brokertrial.suites.explore.model import Model, ModelTopic
from brokertrial.suites.explore.peer import Peer
from brokertrial.suites.explore.share_model import ModelShareMember
from brokertrial.suites.explore.step import RESTART, TOPIC, RequestStep
from brokertrial.suites.probe.fitting import fitted
from brokertrial.wire.apis import ALL
from brokertrial.wire.codec import decode, encode
from brokertrial.wire.messages import Struct, request

RANGES = {api.name: (api.min_version, api.newest) for api in ALL}
FAMILIES = (
    "quotas", "share_groups", "share_records", "moves", "credentials", "security", "telemetry", "streams_groups",
)  # fmt: skip
ROUNDS = 300
PREFIX = "explore-test"


class GrammarBench:
    """Makes requests of a family, of a model that has topics, and says what of them was answered."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.choices = RandomChoices(Random(seed), 10**6)
        self.peer = Peer(("127.0.0.1", 1), PREFIX, 0.1, RANGES)
        monkeypatch.setattr(self.peer, "_replicas", lambda *_: [0])
        self.model = Model(PREFIX, self.choices, 0, RANGES)
        for number in range(2):
            symbol = self.peer.names.of(TOPIC, uuid.UUID(int=number + 1))
            self.model.topics.append(ModelTopic(f"{PREFIX}-t{number}", number + 1, symbol))
        place = (symbol, 0)
        names = frozenset({f"{PREFIX}-t0"})
        member = ModelShareMember("m", 0, names, session=1, asked=[place], held={place: [(0, 4)]})
        self.model.shares.members.append(member)

    def made(self, rule: RequestRule) -> RequestStep | None:
        return self.choices.request(lambda: _Made(rule.make(self.model))).step  # type: ignore[union-attr]

    def sent(self, step: RequestStep) -> Struct:
        """The message as a broker reads it; it holds nothing that its version lacks."""
        message = fitted(request(step.api, **self.peer._resolved(step.fields)), step.version)
        return decode(step.api, "request", step.version, memoryview(bytes(encode(message, step.version))))


class _Made:
    def __init__(self, step: RequestStep | None) -> None:
        self.step = step


def of_family(family: str) -> list[RequestRule]:
    return [rule for rule in rules() if rule.family == family]


@pytest.mark.parametrize("family", sorted({rule.family for rule in rules()} - {"restarts"}))
def test_every_rule_makes_requests_that_can_be_sent(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = GrammarBench(1, monkeypatch)
    made = Counter[str]()
    for _ in range(ROUNDS):
        for rule in of_family(family):
            step = bench.made(rule)
            if step is not None and step.api != RESTART:
                assert RANGES[step.api][0] <= step.version <= RANGES[step.api][1]
                bench.sent(step)
                made[rule.make.__name__] += 1
    assert made


@pytest.mark.parametrize("family", FAMILIES)
def test_every_version_of_every_api_is_asked(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = GrammarBench(2, monkeypatch)
    asked = set()
    for _ in range(ROUNDS):
        steps = [bench.made(rule) for rule in of_family(family)]
        asked |= {(step.api, step.version) for step in steps if step is not None}
    apis = {api for api, _ in asked}
    assert {(api, version) for api in apis for version in range(RANGES[api][0], RANGES[api][1] + 1)} <= asked


def test_what_is_set_is_removed_again_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = GrammarBench(3, monkeypatch)
    (alter,) = [rule for rule in rules() if rule.family == "quotas" and rule.make.__name__ == "alter"]
    step: Any = None
    while (
        step is None
        or step.fields["validate_only"]
        or any(op["remove"] for e in step.fields["entries"] for op in e["ops"])
    ):
        step = bench.made(alter)
    step.learn({"entries": [{"error_code": 0, "entity": each["entity"]} for each in step.fields["entries"]]})
    asked = {tuple(sorted((p["entity_type"], p["entity_name"]) for p in e["entity"])) for e in step.fields["entries"]}
    assert bench.model.quotas.keys() == asked
    assert [each.kind for each in step.until] == ["quotas"] * len(asked)


def test_a_quota_that_is_refused_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = GrammarBench(4, monkeypatch)
    (alter,) = [rule for rule in rules() if rule.family == "quotas" and rule.make.__name__ == "alter"]
    step: Any = None
    while step is None:
        step = bench.made(alter)
    step.learn({"entries": [{"error_code": 42, "entity": each["entity"]} for each in step.fields["entries"]]})
    assert not any(bench.model.quotas.values())
    assert not step.until
