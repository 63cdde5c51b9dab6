"""Records read: from several partitions, in sessions that go on, forget and end, with limits, waiting for more."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, ModelSession, ModelTopic
from brokertrial.suites.explore.step import RequestStep, Symbol

IDS_FROM = 13
SESSIONS_FROM = 7
LONG_MS = 60_000
NO_LIMIT = 50_000_000


def _place(model: Model, index: int, alone: bool) -> dict[str, Any]:
    """Limits only where one partition is asked for: between several Kafka divides the bytes as it likes."""
    return {
        "partition": index,
        "fetch_offset": model.pick([0, 0, 0, 1, 2, 3, 5, -1, 500]),
        "current_leader_epoch": model.pick([-1, -1, -1, 0, 7]),
        "last_fetched_epoch": model.pick([-1] * 8 + [0, 9]),
        "partition_max_bytes": model.pick([1_000_000, 1_000_000, 100, 1]) if alone else 1_000_000,
    }


def _topic(topic: ModelTopic | None, name: str, partitions: list[dict[str, Any]], version: int) -> dict[str, Any]:
    named: dict[str, Any] = {"topic": name, "partitions": partitions}
    if version >= IDS_FROM and topic is not None:
        named["topic_id"] = topic.topic_id
    return named


def _wanted(model: Model, version: int, wrong: float = 0.12) -> list[dict[str, Any]] | None:
    places = model.some_partitions(wrong)
    topics = {name: model.known(name) for name in places}
    if version >= IDS_FROM and any(topic is None or topic.topic_id is None for topic in topics.values()):
        return None
    alone = sum(map(len, places.values())) == 1
    return [
        _topic(topics[name], name, [_place(model, index, alone) for index in indexes], version)
        for name, indexes in places.items()
    ]


def _fetch(model: Model, version: int, topics: list[dict[str, Any]], **more: Any) -> RequestStep:
    alone = len(topics) == 1 and len(topics[0]["partitions"]) == 1
    limit = model.pick([NO_LIMIT, NO_LIMIT, 200, 0]) if alone else NO_LIMIT
    fields: dict[str, Any] = {
        "max_wait_ms": 0, "min_bytes": 1, "max_bytes": limit, "isolation_level": model.pick([0, 1]), "topics": topics,
    }  # fmt: skip
    return RequestStep("Fetch", version, fields | more, model.connection())


@rule("Fetch", 6.0)
def fetch(model: Model) -> RequestStep | None:
    """Without a session."""
    version = model.version("Fetch", 4)
    topics = _wanted(model, version)
    return None if topics is None else _fetch(model, version, topics)


@rule("Fetch", 2.0)
def begin_session(model: Model) -> RequestStep | None:
    version = model.version("Fetch", SESSIONS_FROM)
    topics = _wanted(model, version, 0.03)
    if topics is None:
        return None
    step = _fetch(model, version, topics, session_id=0, session_epoch=0)

    def learn(answer: dict[str, Any]) -> None:
        if isinstance(answer["session_id"], Symbol):
            asked = tuple((each["topic"], place["partition"]) for each in topics for place in each["partitions"])
            model.sessions.append(ModelSession(answer["session_id"], 1, version, asked))

    step.learn = learn
    return step


@rule("Fetch", 4.0)
def go_on(model: Model) -> RequestStep | None:
    """The next request of a session: nothing new, other offsets, more partitions, some forgotten; or a wrong epoch."""
    if not model.sessions:
        return None
    session = model.pick(model.sessions[::-1])
    kind = model.pick(["same"] * 4 + ["more", "forget", "epoch", "close"])
    topics: list[dict[str, Any]] | None = []
    if kind == "more":
        topics = _wanted(model, session.version, 0.03)
    if topics is None:
        return None
    step = _fetch(model, session.version, topics, session_id=session.session, session_epoch=session.epoch)
    step.fields["max_bytes"] = NO_LIMIT
    if kind == "forget" and session.places:
        name, partition = model.pick(session.places)
        forgotten = _topic(model.known(name), name, [], session.version) | {"partitions": [partition]}
        if session.version >= IDS_FROM and forgotten.get("topic_id") is None:
            return None
        step.fields["forgotten_topics_data"] = [forgotten]
    elif kind == "epoch":
        step.fields["session_epoch"] = session.epoch + model.pick([1, -1, 4])
    elif kind == "close":
        step.fields["session_epoch"] = -1

    def learn(answer: dict[str, Any]) -> None:
        if answer.get("error_code") or kind == "close":
            if session in model.sessions and kind != "epoch":
                model.sessions.remove(session)
        else:
            session.epoch += 1

    step.learn = learn
    return step


@rule("Fetch", 0.5)
def no_session(model: Model) -> RequestStep | None:
    """In a session that nobody has."""
    version = model.version("Fetch", SESSIONS_FROM)
    topics = _wanted(model, version)
    if topics is None:
        return None
    return _fetch(model, version, topics, session_id=12_345, session_epoch=model.pick([3, -1, 0]))


@rule("Fetch", 0.8)
def wait(model: Model) -> RequestStep | None:
    """At the end of a partition: held until something is written there."""
    topic = model.topic()
    if topic is None or topic.topic_id is None or not model.free():
        return None
    version = model.version("Fetch", 4)
    place = {
        "partition": model.below(topic.partitions),
        "fetch_offset": model.pick([0, 1, 2, 4]),
        "partition_max_bytes": 1_000_000,
    }
    topics = [_topic(topic, topic.name, [place], version)]
    step = _fetch(model, version, topics, max_wait_ms=LONG_MS, min_bytes=model.pick([1, 1, 200]), max_bytes=NO_LIMIT)
    step.connection, step.blocks = model.pick(model.free()), True
    return step
