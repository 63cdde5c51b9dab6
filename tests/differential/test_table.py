"""The page of a differential run says what was asked, what came back, and what never did."""

from __future__ import annotations

import tomllib
from collections import Counter

from brokertrial.wire import errors
from brokertrial.wire.apis import ALL
from tests.differential.families import makers
from tests.differential.sequence import Outcome
from tests.differential.table import DOCUMENTED, TIER_M, Covered


def test_every_api_that_release_1_needs_has_a_maker() -> None:
    assert TIER_M - {maker.api for maker in makers()} == set()


def test_what_is_documented_are_codes_and_apis_that_exist() -> None:
    documented = tomllib.loads(DOCUMENTED.read_text("utf-8"))
    codes = {errors.name(code) for code in range(-1, 200)}
    assert documented.keys() <= {api.name for api in ALL}
    assert {code for each in documented.values() for code in each} <= codes


def test_a_line_names_what_was_never_seen_and_why() -> None:
    covered = Covered("4.4.0")
    asked, seen = Counter({"DeleteRecords": 600}), Counter({("DeleteRecords", "OFFSET_OUT_OF_RANGE"): 2})
    covered.add(Outcome(1, asked=asked, valid=300, seen=seen))
    page = covered.page({"Fetch: NONE / INVALID_RECORD": 1})
    (line,) = [line for line in page.splitlines() if "DeleteRecords**" in line]

    assert "| 600 | OFFSET_OUT_OF_RANGE 2 |" in line
    assert "NOT_LEADER_OR_FOLLOWER (another node)" in line
    assert "UNKNOWN_TOPIC_OR_PARTITION |" in line
    assert "OFFSET_OUT_OF_RANGE" not in line.split("|")[4]
    assert "50 % of the requests" in page
    assert "1 of `Fetch: NONE / INVALID_RECORD`" in page
    assert "DeleteRecords" not in next(line for line in page.splitlines() if "fewer than 500" in line)
