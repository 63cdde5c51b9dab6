"""What a run announces of a case before the first one runs."""

from __future__ import annotations

import contextlib

from brokertrial.suites.case import Case
from brokertrial.suites.events import CaseInfo
from brokertrial.suites.proving.case_dependencies import text_hash


def case_info(case: Case, estimate_s: float) -> CaseInfo:
    """A case with the seconds that it takes on a healthy target."""
    text = ""
    with contextlib.suppress(KeyError):  # a case that is declared inside a function has no text of its own
        text = text_hash(case)
    return CaseInfo(
        case.id, case.statement, case.level, case.guarantees, case.needs, estimate_s, case.kind == "trial", text
    )
