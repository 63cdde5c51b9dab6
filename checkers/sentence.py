"""The sentence of an anomaly, filled from its row.

    "No {what} was acknowledged[ (last fault: {fault})]."      [...] is left out where a column in it is null

A null column elsewhere reads `unknown`: no sentence says None.
"""

import re
import string
from collections.abc import Mapping
from typing import Any

OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
UNKNOWN = "unknown"


class _Filling(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return UNKNOWN if value is None else str(super().format_field(value, format_spec))


def filled(template: str, row: Mapping[str, Any]) -> str:
    """The template with the columns of the row in their places."""

    def kept(part: re.Match[str]) -> str:
        names = [name for _, name, _, _ in string.Formatter().parse(part[1]) if name]
        return "" if any(row.get(name) is None for name in names) else part[1]

    return _Filling().vformat(OPTIONAL.sub(kept, template), (), row)
