"""DescribeConfigs (KIP-133, KIP-226, KIP-569): the settings of topics and of this broker, with where each comes from.

Versions 1-4. Unknown topic: 3; a name that no topic can have: 17; another broker's id, or another kind of resource:
INVALID_REQUEST. A list of keys asks for these alone; keys that do not exist are left out. Gaps: no broker loggers;
documentation is empty.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.resources import BROKER, CLIENT_METRICS, DEFAULT, GROUP, TOPIC, Resource, find
from brokertrial.reference_impl.settings.broker import INNER
from brokertrial.reference_impl.settings.setting import TYPE_CODES, Setting
from brokertrial.reference_impl.settings.topic_rules import WrongSetting, name_fault
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("DescribeConfigs", 1, 4)
def describe_configs(request: Struct, context: Context) -> Struct:
    """Describes each resource on its own."""
    return response("DescribeConfigs", results=[_describe(wanted, request, context) for wanted in request.resources])


def _describe(wanted: Struct, request: Struct, context: Context) -> dict[str, Any]:
    answer = {"resource_type": wanted.resource_type, "resource_name": wanted.resource_name}
    nameless = name_fault("") if (wanted.resource_type, wanted.resource_name) == (TOPIC, "") else None
    found = nameless or find(context.node, wanted.resource_type, wanted.resource_name)
    if isinstance(found, WrongSetting):
        return {**answer, "error_code": found.error, "error_message": found.message, "configs": []}
    keys = (request.resources[0] if bugs.on("Q15") else wanted).configuration_keys
    altered = wanted.resource_type == BROKER and (context.node.config.of_all or context.node.config.dynamic)
    inner = INNER if altered and bugs.on("K36") else []
    chosen = [s for s in [*found.settings.values(), *inner] if not keys or s.name in keys]
    topic = wanted.resource_type in (TOPIC, GROUP, CLIENT_METRICS)
    entries = [_entry(found, setting, request, topic=topic) for setting in chosen]
    return {**answer, "error_code": errors.NONE, "error_message": "", "configs": entries}


def _entry(resource: Resource, setting: Setting, request: Struct, *, topic: bool) -> dict[str, Any]:
    sources = resource.sources(setting)
    return {
        "name": setting.name,
        "value": sources[0].value,
        "read_only": not (topic or setting.dynamic),
        "config_source": sources[0].source if sources and not bugs.on("P03") else DEFAULT,
        "is_sensitive": setting.kind == "password",
        "synonyms": [
            {"name": source.name, "value": source.value, "source": source.source}
            for source in (sources if request.include_synonyms else [])
        ],
        "config_type": TYPE_CODES[setting.kind],
        "documentation": setting.doc if request.include_documentation else None,
    }
