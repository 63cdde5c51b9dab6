"""Builds messages: `request("Metadata", topics=None)`, `response("Heartbeat", error_code=27)`.

Field names are those of `wire/schema/*.txt`; what is not named gets the schema's default, an unknown name is a
TypeError. Structs inside a message may be given as dicts. `child("Fetch", "response", "responses.partitions")` is the
class of an inner struct, for code that builds many.
"""

from typing import Any

from brokertrial.wire.structs import ZERO_UUID, Struct, struct_class

__all__ = ["ZERO_UUID", "Struct", "child", "data", "request", "response", "struct_class"]


def request(api: str, /, **fields: Any) -> Struct:
    return struct_class(api, "request")(**fields)


def response(api: str, /, **fields: Any) -> Struct:
    return struct_class(api, "response")(**fields)


def data(name: str, /, **fields: Any) -> Struct:
    return struct_class(name, "data")(**fields)


def child(api: str, direction: str, path: str) -> type[Struct]:
    """The class of the struct at a dotted path inside a message."""
    found = struct_class(api, direction)
    for name in path.split("."):
        found = found._children[name]
    return found
