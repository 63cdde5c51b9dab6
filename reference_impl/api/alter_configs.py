"""AlterConfigs replaces all settings of a resource (KIP-133); IncrementalAlterConfigs those named (KIP-339).

Each resource succeeds or fails as a whole. Unknown setting or bad value: INVALID_CONFIG (40); a null value, an
unknown operation, a key twice, a resource twice: INVALID_REQUEST; unknown topic: 3, once its settings would do.
APPEND and SUBTRACT are for lists. Effective at once, durable first.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.resources import Resource, find, unborn
from brokertrial.reference_impl.settings.broker import BROKER_SETTINGS
from brokertrial.reference_impl.settings.topic_rules import WrongSetting
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

SET, DELETE, APPEND, SUBTRACT = range(4)
LONGEST = 32_767
"""Characters of a value; metadata records hold no longer one (KAFKA-18907)."""


@handles("AlterConfigs", 0, 2, forwarded=True)
def alter_configs(request: Struct, context: Context) -> Struct:
    """Replaces: what is not named falls back to its default."""
    return response("AlterConfigs", responses=_each(request, context, _replaced))


@handles("IncrementalAlterConfigs", 0, 1, forwarded=True)
def incremental_alter_configs(request: Struct, context: Context) -> Struct:
    """Changes only what is named."""
    return response("IncrementalAlterConfigs", responses=_each(request, context, _changed))


def _each(request: Struct, context: Context, change: Any) -> list[dict[str, Any]]:
    asked = Counter((r.resource_type, r.resource_name) for r in request.resources)
    answers: list[dict[str, Any]] = []
    for wanted in {(r.resource_type, r.resource_name): r for r in request.resources}.values():
        twice = asked[wanted.resource_type, wanted.resource_name] > 1
        make = not request.validate_only
        if bugs.on("A02"):
            make = make or any(row["error_code"] for row in answers)
        fault = _alter(wanted, context, change, twice=twice, make=make)
        error, message = (errors.NONE, None) if fault is None else fault
        answers.append(
            {
                "error_code": error,
                "error_message": message,
                "resource_type": wanted.resource_type,
                "resource_name": wanted.resource_name,
            }
        )
    return answers


def _alter(wanted: Struct, context: Context, change: Any, *, twice: bool, make: bool) -> WrongSetting | None:
    if twice:
        return WrongSetting(errors.INVALID_REQUEST, "Each resource must appear at most once.")
    found = find(context.node, wanted.resource_type, wanted.resource_name)
    if isinstance(found, WrongSetting) and found.error != errors.UNKNOWN_TOPIC_OR_PARTITION:
        return found
    resource = unborn(context.node, wanted.resource_name) if isinstance(found, WrongSetting) else found
    if len({entry.name for entry in wanted.configs}) != len(wanted.configs) and not bugs.on("S04"):
        return WrongSetting(errors.INVALID_REQUEST, "Error due to duplicate config keys")
    configs = change(resource, wanted.configs)
    if isinstance(configs, WrongSetting):
        return configs
    if isinstance(found, WrongSetting):
        return found
    if misfit := found.misfit(configs):
        return misfit
    if make:
        found.replace(configs)
    return None


def _replaced(resource: Resource, entries: list[Struct]) -> dict[str, str] | WrongSetting:
    configs = resource.own() if bugs.on("M40i") else {}
    for entry in entries:
        if entry.value is None:
            return _null(entry.name)
        if fault := resource.fault(entry.name, entry.value):
            return fault
        configs[entry.name] = entry.value
    return configs


def _changed(resource: Resource, entries: list[Struct]) -> dict[str, str] | WrongSetting:
    configs = {} if bugs.on("P04") else resource.own()
    for entry in entries:
        if entry.config_operation == DELETE:
            configs.pop(entry.name, None)
            continue
        if entry.config_operation not in (SET, APPEND, SUBTRACT):
            return WrongSetting(errors.INVALID_REQUEST, f"Unknown operation type {entry.config_operation}")
        if entry.value is None:
            return _null(entry.name)
        value = entry.value
        if entry.config_operation != SET:
            combined = _combined(resource, configs, entry)
            if isinstance(combined, WrongSetting):
                return combined
            value = combined
        if fault := resource.fault(entry.name, value):
            if bugs.on("P05"):
                continue
            return fault
        configs[entry.name] = value
    return configs


def _null(name: str) -> WrongSetting:
    return WrongSetting(errors.INVALID_REQUEST, f"Null value not supported for : {name}")


def _combined(resource: Resource, configs: dict[str, str], entry: Struct) -> str | WrongSetting:
    """A list with items added or taken away."""
    verb = "APPEND" if entry.config_operation == APPEND else "SUBTRACT"
    setting = resource.settings.get(entry.name)
    if setting is None and resource.settings is BROKER_SETTINGS and bugs.on("K45"):
        return WrongSetting(errors.UNKNOWN_SERVER_ERROR, "The server experienced an unexpected error.")
    if setting is None or setting.kind != "list":
        return WrongSetting(errors.INVALID_CONFIG, f"Can't {verb} to key {entry.name} because its type is not LIST.")
    current = configs.get(entry.name, resource.sources(setting)[-1].value)
    items = [item for item in current.split(",") if item or bugs.on("K33")]
    named = [item.strip() for item in entry.value.split(",") if item.strip()]
    if entry.config_operation == APPEND:
        items += [item for item in named if item not in items or bugs.on("Z05")]
    else:
        away = named[:1] if bugs.on("Z06") else named
        items = [item for item in items if item not in away]
    if len(combined := ",".join(items)) > LONGEST and not bugs.on("Z08"):
        code = errors.UNKNOWN_SERVER_ERROR if bugs.on("B201") else errors.INVALID_CONFIG
        return WrongSetting(code, f"The configuration value cannot exceed {LONGEST} characters.")
    return current if bugs.on("Z07") and not combined else combined
