"""The four verdicts."""

from enum import StrEnum


class Verdict(StrEnum):
    """What can be said of a case. Inconclusive is never green."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not applicable"
