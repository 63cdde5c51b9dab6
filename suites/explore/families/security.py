"""What a cluster without an authorizer and without authentication refuses: ACLs, delegation tokens."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import CONNECTIONS, Model
from brokertrial.suites.explore.step import RequestStep

#: A number that an enumeration lacks closes the connection, and share sessions with it: none is here.
APART = CONNECTIONS - 1
KINDS, PATTERNS, OPERATIONS, PERMISSIONS = (
    [2, 3, 4, 5, 6, 1, 0, 99],
    [3, 4, 1, 2, 0, 9],
    [3, 4, 2, 1, 0, 77],
    [3, 2, 1, 0],
)


def _filter(model: Model) -> dict[str, Any]:
    return {
        "resource_type_filter": model.pick(KINDS), "resource_name_filter": model.pick([f"{model.prefix}-t0", None, ""]),
        "pattern_type_filter": model.pick(PATTERNS[:2] if model.chance(0.5) else PATTERNS),
        "principal_filter": model.pick(["User:u", None, "u"]), "host_filter": model.pick(["*", None, "x"]),
        "operation": model.pick(OPERATIONS), "permission_type": model.pick(PERMISSIONS),
    }  # fmt: skip


def _asked(model: Model, api: str, fields: dict[str, Any]) -> RequestStep:
    return RequestStep(api, model.version(api), fields, APART)


@rule("DescribeAcls", 0.4)
def acls(model: Model) -> RequestStep | None:
    return _asked(model, "DescribeAcls", _filter(model))


@rule("CreateAcls", 0.3)
def create_acls(model: Model) -> RequestStep | None:
    """One or two, also such as no authorizer takes, or none at all."""
    creations = [
        {
            "resource_type": model.pick(KINDS), "resource_name": model.pick([f"{model.prefix}-t0", ""]),
            "resource_pattern_type": model.pick([3, 3, 4]), "principal": model.pick(["User:u", "u", ""]),
            "host": model.pick(["*", ""]), "operation": model.pick(OPERATIONS),
            "permission_type": model.pick(PERMISSIONS),
        }
        for _ in range(model.pick([1, 1, 2, 0]))
    ]  # fmt: skip
    return _asked(model, "CreateAcls", {"creations": creations})


@rule("DeleteAcls", 0.3)
def delete_acls(model: Model) -> RequestStep | None:
    """What one filter matches, or two, or none."""
    return _asked(model, "DeleteAcls", {"filters": [_filter(model) for _ in range(model.pick([1, 1, 2, 0]))]})


@rule("CreateDelegationToken", 0.3)
def create_token(model: Model) -> RequestStep | None:
    renewers = model.pick([[], [{"principal_type": "User", "principal_name": "u"}]])
    owner = model.pick([(None, None), ("User", "u"), ("", "")])
    fields = {
        "owner_principal_type": owner[0], "owner_principal_name": owner[1], "renewers": renewers,
        "max_lifetime_ms": model.pick([-1, 60_000, 0]),
    }  # fmt: skip
    return _asked(model, "CreateDelegationToken", fields)


@rule("RenewDelegationToken", 0.2)
def renew_token(model: Model) -> RequestStep | None:
    fields = {"hmac": memoryview(b"no token's"), "renew_period_ms": model.pick([60_000, -1, 0])}
    return _asked(model, "RenewDelegationToken", fields)


@rule("ExpireDelegationToken", 0.2)
def expire_token(model: Model) -> RequestStep | None:
    fields = {"hmac": memoryview(b"no token's"), "expiry_time_period_ms": model.pick([60_000, -1, 0])}
    return _asked(model, "ExpireDelegationToken", fields)


@rule("DescribeDelegationToken", 0.3)
def tokens(model: Model) -> RequestStep | None:
    owners = model.pick([None, [], [{"principal_type": "User", "principal_name": "u"}]])
    return _asked(model, "DescribeDelegationToken", {"owners": owners})
