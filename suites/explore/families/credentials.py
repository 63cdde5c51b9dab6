"""SCRAM credentials of users (KIP-554): set, changed, removed and shown, well and badly."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep, Visible

SHA_256, SHA_512 = 1, 2
LEAST = 4_096
SALT, PASSWORD = memoryview(b"salt of this sequence"), memoryview(b"p" * 32)


def _user(model: Model) -> str:
    return f"{model.prefix}-u{model.below(2)}"


def _credential(model: Model) -> dict[str, Any]:
    return {
        "name": _user(model), "mechanism": model.pick([SHA_256, SHA_256, SHA_512]),
        "iterations": model.pick([LEAST, LEAST, 8_192, 16_384]), "salt": SALT, "salted_password": PASSWORD,
    }  # fmt: skip


@rule("AlterUserScramCredentials", 1.2)
def alter(model: Model) -> RequestStep | None:
    """Credentials of one user or several set or removed; what is set is looked up before anything else is asked."""
    new = [_credential(model) for _ in range(model.pick([1, 1, 1, 2, 0]))]
    gone: list[dict[str, Any]] = [
        {"name": _user(model), "mechanism": model.pick([SHA_256, SHA_512])} for _ in range(model.pick([0, 0, 1]))
    ]
    users = [each["name"] for each in [*new, *gone]]
    fields = {"deletions": gone, "upsertions": new}
    version = model.version("AlterUserScramCredentials")
    step = RequestStep("AlterUserScramCredentials", version, fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        good = {each["user"] for each in answer["results"] if not each["error_code"]}
        for user in sorted(good & set(users)):
            kept = model.credentials.setdefault(user, {})
            for each in gone:
                if each["name"] == user:
                    kept.pop(each["mechanism"], None)
            kept |= {each["mechanism"]: each["iterations"] for each in new if each["name"] == user}
            step.until.append(Visible("credentials", user, dict(kept)))

    step.learn = learn
    return step


@rule("AlterUserScramCredentials", 0.6)
def wrong(model: Model) -> RequestStep | None:
    """What is refused: alone, or beside a credential of another user that is not there to be removed."""
    good = _credential(model)
    bad = good | model.pick(
        [
            {"mechanism": 0}, {"mechanism": 3}, {"mechanism": -1}, {"iterations": LEAST - 1}, {"iterations": 16_385},
            {"iterations": 0}, {"iterations": -1}, {"name": ""},
        ]
    )  # fmt: skip
    nobody = {"name": f"{model.prefix}-nobody", "mechanism": model.pick([SHA_256, 0, 9])}
    fields: dict[str, Any] = {"deletions": model.pick([[], [nobody]]), "upsertions": [bad]}
    match model.pick(["bad"] * 4 + ["twice", "both", "none"]):
        case "twice":
            fields["upsertions"] = [good, good]
        case "both":
            same = {"name": good["name"], "mechanism": good["mechanism"]}
            fields = {"deletions": [same], "upsertions": [good]}
        case "none":
            fields = {"deletions": [], "upsertions": []}
    version = model.version("AlterUserScramCredentials")
    return RequestStep("AlterUserScramCredentials", version, fields, model.connection())


@rule("DescribeUserScramCredentials", 1.2)
def describe(model: Model) -> RequestStep | None:
    """Of users that have some, of one that has none, of one twice; of all: those of the sequence are compared."""
    users = model.pick([[_user(model)], [_user(model)], [f"{model.prefix}-nobody"], None, [], [""]])
    if users and model.chance(0.2):
        users = [*users, _user(model)]
    fields = {"users": None if users is None else [{"name": name} for name in users]}
    version = model.version("DescribeUserScramCredentials")
    return RequestStep("DescribeUserScramCredentials", version, fields, model.connection())
