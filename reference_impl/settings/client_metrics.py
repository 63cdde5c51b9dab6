"""The settings of a subscription to metrics of clients (KIP-714): kept, listed and described, and without effect."""

from __future__ import annotations

import re

from brokertrial.reference_impl.settings.setting import InvalidSetting, Setting
from brokertrial.reference_impl.settings.topic_rules import WrongSetting
from brokertrial.wire import errors

_ROWS = [
    Setting("interval.ms", "int", "300000", low=100, high=3_600_000),
    Setting("match", "list", ""),
    Setting("metrics", "list", ""),
]
CLIENT_METRICS_SETTINGS = {row.name: row for row in _ROWS}
_MATCHED = {
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
}


def fault(key: str, value: str) -> WrongSetting | None:
    """Why a subscription cannot have this setting: one that there is not, or that is beyond its bounds, is 42."""
    setting = CLIENT_METRICS_SETTINGS.get(key)
    if setting is None:
        return WrongSetting(errors.INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
    try:
        value_given = setting.parse(value)
    except InvalidSetting as error:
        is_number = value.strip().lstrip("-").isdigit()
        return WrongSetting(errors.INVALID_REQUEST if is_number else errors.INVALID_CONFIG, str(error))
    for pattern in value_given if key == "match" and isinstance(value_given, list) else ():
        name, _, expression = pattern.partition("=")
        if name.strip() not in _MATCHED or not expression or not _is_expression(expression.strip()):
            return WrongSetting(errors.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")
    return None


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True
