"""policy.toml: what blocks a change. Every line is optional; these are the defaults.

block = ["must"]          # levels whose failures block; what harms a record counts as a must, whatever its level
inconclusive = 0          # so many inconclusive cases are tolerated, and listed
retries = 0               # inconclusive cases are run again so often; a failure never is
min-decided = 0           # per cent of the must cases
mended = "block"          # an entry of the baseline whose case passes now: block or warn
lost = "block"            # a case that passed in the last good run, and does not apply any more

[areas]                   # other levels for the cases of an area
transactions = ["must", "should"]
retention = []            # nothing here blocks
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from brokertrial.ci.errors import UserError
from brokertrial.suggestion import nearest
from brokertrial.suites.case import all_cases
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.claims import NAMES_BEGIN

Level = Literal["must", "should", "may"]
Weight = Literal["block", "warn"]
MUST: tuple[Level, ...] = ("must",)
AT_KEY = re.compile(r"at `\$\.(?P<key>[\w-]+)")
LEVELS = f"of the levels {', '.join(get_args(Level))}"
SHOULD_BE = {
    "block": f'it is a list {LEVELS}, as in block = ["must"]',
    "areas": f'each area has a list {LEVELS}, as in transactions = ["must", "should"]',
    "inconclusive": "it is a whole number",
    "retries": "it is a whole number",
    "min-decided": "it is a number, in per cent",
    "mended": "it is block or warn",
    "lost": "it is block or warn",
}


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What blocks; the defaults are those of `brokertrial run --known`."""

    block: tuple[Level, ...] = MUST
    areas: Mapping[str, tuple[Level, ...]] = {}
    inconclusive: int = 0
    retries: int = 0
    min_decided: float = 0.0
    mended: Weight = "block"
    lost: Weight = "block"

    def blocks(self, failed: CaseResult) -> bool:
        """Whether this failure blocks if it is new. A case that Apache Kafka was not seen to pass never does."""
        may_accuse = failed.level == "must" or (failed.proof is not None and not failed.only_warns)
        return may_accuse and failed.level in self.areas.get(failed.case.partition("/")[0], self.block)


def read(path: Path) -> Policy:
    """The policy of a file; raises UserError with one sentence for an unknown key, area, level or number."""
    try:
        words = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UserError(f"{path}: not valid TOML: {error}.") from None
    _must_be_known(path, words)
    try:
        policy = msgspec.convert(words, Policy)
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {_what_is_wrong(words, str(error))}.") from None
    for name, number, most in (
        ("inconclusive", policy.inconclusive, 1_000_000),
        ("retries", policy.retries, 9),
        ("min-decided", policy.min_decided, 100),
    ):
        if not 0 <= number <= most:
            raise UserError(f"{path}: `{name}` is {number:g}; it is at least 0 and at most {most:,}.")
    return policy


def _what_is_wrong(words: Mapping[str, Any], error: str) -> str:
    """The key whose value cannot be, the value, and what it should be."""
    found = AT_KEY.search(error)
    if found is None or found["key"] not in SHOULD_BE:
        return error
    key, value = found["key"], words[found["key"]]
    return f"`{key}` is {json.dumps(value, default=str)}; {SHOULD_BE[key]}"


def areas() -> list[str]:
    """Every area that a case or a promise of the target has."""
    promised = (begin.rstrip("/") for begin in NAMES_BEGIN)
    return sorted({case.area for case in all_cases()} | set(promised))


def _must_be_known(path: Path, words: Mapping[str, Any]) -> None:
    keys = [field.encode_name for field in msgspec.structs.fields(Policy)]
    for what, named, known in (("key", words, keys), ("area", words.get("areas", {}), areas())):
        if isinstance(named, Mapping) and (unknown := sorted(set(named) - set(known))):
            raise UserError(f"{path}: unknown {what} `{unknown[0]}`.", nearest(unknown[0], known))
