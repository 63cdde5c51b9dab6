"""A code that another client's request lent is not this one's; a broker that knows one code alone is found."""

from __future__ import annotations

import pytest

from brokertrial.suites.probe.verification import code_of_its_own
from brokertrial.wire import errors

OLD, NEW = errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE


@pytest.mark.parametrize(
    ("found", "code", "last", "asked"),
    [
        ([OLD], OLD, OLD, 1),
        ([NEW, OLD], OLD, OLD, 2),
        ([OLD, OLD, NEW], NEW, NEW, 3),
        ([NEW] * 9, OLD, NEW, 5),
        ([errors.INVALID_PRODUCER_EPOCH, OLD], OLD, errors.INVALID_PRODUCER_EPOCH, 1),
        ([OLD, 0], 0, OLD, 1),
    ],
)
def test_it_is_asked_again_only_while_the_other_versions_code_comes(found, code, last, asked):
    coming = iter(found)
    answer, seen = code_of_its_own(lambda: ("answer", next(coming)), code)
    assert (answer, seen) == ("answer", last)
    assert len(found) - len(list(coming)) == asked
