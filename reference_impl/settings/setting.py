"""One setting: its name, kind, default and bounds, and how its text becomes a value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from brokertrial.reference_impl import bugs

SettingValue = int | float | bool | str | list[str]

LONG_MAX = (1 << 63) - 1
INT_MAX = (1 << 31) - 1

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)")

# ConfigDef.Type as DescribeConfigs v3 numbers it
TYPE_CODES = {"boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7, "password": 9}


class InvalidSetting(ValueError):
    """A value that this setting cannot have; the text says why."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of a settings table."""

    name: str
    kind: str
    default: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    form: str = ""  # what each item of a list looks like
    synonym: str = ""  # the broker setting that gives a topic setting its default
    doc: str = ""
    dynamic: bool = False  # may be altered while the broker runs

    def parse(self, text: str) -> SettingValue:
        """The typed value of a text, or InvalidSetting."""
        try:
            value = self._typed(text.strip())
        except ValueError:
            raise InvalidSetting(
                f"Invalid value {text} for configuration {self.name}: Not a number of type {self.kind.upper()}"
            ) from None
        self._check(value, text)
        return text.strip().split(",") if value and self.kind == "list" and bugs.on("B121") else value

    def shown(self, text: str) -> str:
        """How a value is told, whatever it was spelled like."""
        value = self.parse(text)
        if bugs.on("H01"):
            return text
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, list):
            return ",".join(dict.fromkeys(value) if self.choices else value)
        return str(value)

    def _typed(self, text: str) -> SettingValue:
        if self.kind in ("int", "long", "short"):
            if not _WHOLE.fullmatch(text) and not bugs.on("H03"):
                raise ValueError(text)
            return int(text)
        if self.kind == "double":
            if not _DECIMAL.fullmatch(text):
                raise ValueError(text)
            return float(text.rstrip("dDfF"))
        if self.kind == "boolean":
            if text.lower() not in ("true", "false"):
                raise InvalidSetting(
                    f"Invalid value {text} for configuration {self.name}: Expected value to be either true or false"
                )
            return text.lower() == "true"
        if self.kind == "list":
            return [item.strip() for item in text.split(",")] if text else []
        return text

    def _check(self, value: SettingValue, text: str) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            width = {"int": INT_MAX, "short": 32767}.get(self.kind, LONG_MAX)
            if self.kind != "double" and not -width - 1 <= value <= width:
                raise InvalidSetting(f"Invalid value {text} for configuration {self.name}: Not a number of this type")
            if self.low is not None and value < self.low:
                raise InvalidSetting(
                    f"Invalid value {text} for configuration {self.name}: Value must be at least {_plain(self.low)}"
                )
            if self.high is not None and value > self.high + bool(bugs.on("H02")):
                raise InvalidSetting(
                    f"Invalid value {text} for configuration {self.name}: "
                    f"Value must be no more than {_plain(self.high)}"
                )
        items = value if isinstance(value, list) and self.form and value != ["*"] else []
        fits = re.match if bugs.on("Z31") else re.fullmatch
        if not all(fits(self.form, item) for item in items):
            raise InvalidSetting(f"Invalid value {text} for configuration {self.name}: an item is no {self.form}")
        if self.choices:
            for item in value if isinstance(value, list) else [str(value)]:
                if item not in self.choices:
                    raise InvalidSetting(
                        f"Invalid value {text} for configuration {self.name}: String must be one of: "
                        f"{', '.join(self.choices)}"
                    )


def _plain(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)
