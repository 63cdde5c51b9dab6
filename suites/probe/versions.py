"""The versions of an API that both sides know, in rising order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from brokertrial.suites.probe.failures import NotApplicable


class CommonVersions(tuple[int, ...]):
    """Empty where the broker does not offer the API: to take the newest of none makes a case not applicable."""

    api = ""

    @classmethod
    def of(cls, api: str, numbers: Iterable[int] = ()) -> Self:
        made = cls(numbers)
        made.api = api
        return made

    def __getitem__(self, index: Any) -> Any:
        if not self and not isinstance(index, slice):
            raise NotApplicable(
                "not-offered", f"the broker does not offer {self.api} in a version that the suite knows"
            )
        return super().__getitem__(index)
