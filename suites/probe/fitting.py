"""What of a message a version can carry."""

from __future__ import annotations

from brokertrial.wire.messages import Struct


def fitted(message: Struct, version: int) -> Struct:
    """The message without what a version lacks: cases name a thing once, wherever a version keeps it."""
    kept = {}
    for field in message._fields:
        value = getattr(message, field.name)
        if version not in field.versions:
            continue
        if isinstance(value, Struct):
            value = fitted(value, version)
        elif isinstance(value, list) and value and isinstance(value[0], Struct):
            value = [fitted(item, version) for item in value]
        kept[field.name] = value
    return type(message)(**kept, _unknown_tags=message._unknown_tags)
