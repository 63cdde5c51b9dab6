"""DeleteTopics: by name, or by id from v6 on.

Versions 1-6. Unknown name: 3; unknown id: 100; both or neither given, or the same topic twice: INVALID_REQUEST;
`delete.topic.enable=false`: TOPIC_DELETION_DISABLED for all of them, and INVALID_REQUEST below v3, which does not know
that code (KAFKA-5975). The data is gone when the answer leaves.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.control.image import TopicImage
from brokertrial.reference_impl.settings.topic_rules import WrongSetting
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, Struct, request, response

_DISABLED_SINCE = 3


@handles("DeleteTopics", 1, 6, forwarded=True)
def delete_topics(wanted: Struct, context: Context) -> Struct:
    """Deletes each topic that can be named beyond doubt."""
    if context.version >= 6:
        states = wanted.topics
    else:
        states = request("DeleteTopics", topics=[{"name": name} for name in wanted.topic_names]).topics
    if not context.node.config["delete.topic.enable"]:
        return _disabled(states, context.version)
    seen: list[tuple[Any, Any]] = [(state.name, state.topic_id) for state in states]
    answers: list[dict[str, Any]] = []
    for state in {(s.name, s.topic_id): s for s in states}.values():
        if len(answers) == 1_024 and bugs.on("B290"):
            break
        twice = seen.count((state.name, state.topic_id)) > 1
        answers.append(_delete(context.node, state, twice=twice))
    return response("DeleteTopics", responses=answers)


def _disabled(states: list[Struct], version: int) -> Struct:
    known = version >= _DISABLED_SINCE or bugs.on("D64")
    error = errors.TOPIC_DELETION_DISABLED if known else errors.INVALID_REQUEST
    line = {"error_code": error, "error_message": "Topic deletion is disabled."}
    return response(
        "DeleteTopics", responses=[{"name": state.name, "topic_id": state.topic_id, **line} for state in states]
    )


def _delete(node: Broker, state: Struct, *, twice: bool) -> dict[str, Any]:
    found = _find(node, state, twice=twice)
    if isinstance(found, WrongSetting) and found.error == errors.UNKNOWN_TOPIC_OR_PARTITION and bugs.on("P09"):
        return {"name": state.name, "topic_id": state.topic_id, "error_code": errors.NONE}
    if isinstance(found, WrongSetting):
        answer = {"error_code": found.error, "error_message": found.message}
        return {"name": state.name, "topic_id": state.topic_id, **answer}
    for each in [
        t for t in node.topics.all() if bugs.on("Q13") and t.name.lower() == found.name.lower() and t != found
    ]:
        node.delete_topic(each)
    node.delete_topic(found)
    return {"name": found.name, "topic_id": found.id, "error_code": errors.NONE}


def _find(node: Broker, state: Struct, *, twice: bool) -> TopicImage | WrongSetting:
    has_id = state.topic_id != ZERO_UUID
    if state.name is None and not has_id:
        return WrongSetting(errors.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if state.name is not None and has_id and not bugs.on("S05"):
        return WrongSetting(errors.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if twice:
        return WrongSetting(errors.INVALID_REQUEST, "Duplicate topic name or id.")
    topic = node.topics.by_id(state.topic_id) if has_id else node.topics.get(state.name)
    if topic is None:
        error = errors.UNKNOWN_TOPIC_ID if has_id else errors.UNKNOWN_TOPIC_OR_PARTITION
        return WrongSetting(error, "This server does not host this topic.")
    return topic
