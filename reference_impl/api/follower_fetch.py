"""Fetch by followers: what a leader has of its log, also above the high watermark.

The brokers of this kind follow each other with v15+ and their broker epoch, in sessions (`replica/serving.py`). A
follower without a broker epoch (before v15, or -1) is taken at its word, before v13 without a session: Kafka lets it
into the in-sync set too (KIP-903). Who is no replica: 75, or 6 where it names no leader epoch.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context
from brokertrial.reference_impl.replica import serving
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, child, response

_BY_ID_SINCE, _REPLICA_STATE_SINCE = 13, 15
_NO_EPOCH = -1
_AskedTopic = child("Fetch", "request", "topics")
_UNNAMED = uuid.UUID(int=1)
"""Of a topic that is named and is not there."""


@dataclass(frozen=True, slots=True)
class Follower:
    """Who asks."""

    replica: int
    broker_epoch: int


def follower_of(request: Struct, version: int) -> Follower | None:
    """The follower that a request is from; None of a consumer's."""
    if version < _REPLICA_STATE_SINCE:
        return Follower(request.replica_id, _NO_EPOCH) if request.replica_id >= 0 else None
    state = request.replica_state
    return Follower(state.replica_id, state.replica_epoch) if state.replica_id >= 0 else None


def answered(follower: Follower, request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """At once where there is news, else when there is or when the time is up."""
    node = context.node
    if follower.broker_epoch == _NO_EPOCH:
        if request.session_epoch < 0 or context.version < _BY_ID_SINCE:
            return _without_session(follower, request, context)
    elif not _is_of_now(follower, context):
        return response("Fetch", error_code=errors.STALE_BROKER_EPOCH)
    session = node.replicas.session(follower.replica, follower.broker_epoch, request.session_id, request.session_epoch)
    if isinstance(session, int):
        return response("Fetch", error_code=session)
    session.update(request)
    found = session.collect(request.max_bytes)
    if found or request.max_wait_ms <= 0:
        return serving.as_response(session.id, found)
    return _wait_for_news(session, request, context)


def _is_of_now(follower: Follower, context: Context) -> bool:
    known = context.node.image.brokers.get(follower.replica)
    if known is None or known.epoch < follower.broker_epoch:
        return False
    return known.epoch == follower.broker_epoch or bugs.on("B264")


async def _wait_for_news(session: serving.FollowerSession, request: Struct, context: Context) -> Struct:
    news = asyncio.Event()
    session.on_news = news.set
    timer = context.node.clock.call_later(request.max_wait_ms / 1000, news.set)
    try:
        await news.wait()
    finally:
        timer.cancel()
        session.on_news = serving.nobody_waits
    return serving.as_response(session.id, session.collect(request.max_bytes))


# Without a broker epoch


def _without_session(follower: Follower, request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    if request.session_epoch > 0:
        return response("Fetch", error_code=errors.FETCH_SESSION_ID_NOT_FOUND)
    names = {} if context.version >= _BY_ID_SINCE else {_id_of(t.topic, context): t.topic for t in request.topics}
    if names:
        ids = {name: topic_id for topic_id, name in names.items()}
        request.topics = [_AskedTopic(topic_id=ids[t.topic], partitions=t.partitions) for t in request.topics]
    epochs = {(t.topic_id, p.partition): p.current_leader_epoch for t in request.topics for p in t.partitions}
    find = partial(_led_with, follower.replica, epochs, context, by_name=bool(names))
    session = serving.FollowerSession(0, follower.replica, follower.broker_epoch, find)
    session.update(request)
    if bugs.on("B55") and (refused := [led for key in epochs if isinstance(led := find(*key), int)]):
        return response("Fetch", error_code=refused[0])
    found = session.collect(request.max_bytes)
    if request.max_wait_ms <= 0 or _is_enough(found, request):
        session.close()
        return _named(serving.as_response(0, found), names)
    return _once_there_is_news(session, request, context, names)


def _id_of(name: str, context: Context) -> uuid.UUID:
    topic = context.node.topics.get(name)
    return uuid.uuid5(_UNNAMED, name) if topic is None else topic.id


def _led_with(
    replica: int, epochs: dict[serving.TopicIdPartition, int], context: Context, topic_id: uuid.UUID, index: int, *,
    by_name: bool,
) -> Partition | int:  # fmt: skip
    """The partition if this broker leads it and that one is a replica, else the error that says why not."""
    led = context.node.replicas.led(topic_id, index)
    if isinstance(led, int):
        return errors.UNKNOWN_TOPIC_OR_PARTITION if by_name and led == errors.UNKNOWN_TOPIC_ID else led
    epoch = epochs[topic_id, index]
    if led.check_epoch(epoch) or (led.leading is not None and replica in led.leading.followers):
        return led
    return errors.UNKNOWN_LEADER_EPOCH if epoch >= 0 else errors.NOT_LEADER_OR_FOLLOWER


def _is_enough(found: list[tuple[serving.TopicIdPartition, Struct]], request: Struct) -> bool:
    parts = [part for _, part in found]
    refused = any(part.error_code or part.diverging_epoch.epoch >= 0 for part in parts)
    return refused or sum(len(part.records) for part in parts) >= request.min_bytes


async def _once_there_is_news(
    session: serving.FollowerSession, request: Struct, context: Context, names: dict[uuid.UUID, str]
) -> Struct:
    session.as_at_first()
    try:
        answer = await _wait_for_news(session, request, context)
    finally:
        session.close()
    return _named(answer, names)


def _named(answer: Struct, names: dict[uuid.UUID, str]) -> Struct:
    for topic in answer.responses:
        topic.topic = names.get(topic.topic_id, "")
    return answer
