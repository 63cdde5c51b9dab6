"""A broker that gets by on as little as it can: the bundled one, with one trick.

    lazy.py TRICK node --node-id 1 --port 9092 --data DIR [--without API,...]

A trick sees a request and the honest answer to it, and says what is answered. L2 ... are the numbers of the list of
tricks; what is hidden, `--without` of the bundled broker says.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from brokertrial.reference_impl import api
from brokertrial.reference_impl.__main__ import main
from brokertrial.reference_impl.api import Context
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct

Trick = Callable[[Struct, Struct, Context], Struct | Awaitable[Struct]]
SUITE = ("brokertrial", "bt-", "producer-", "consumer-", "a-member-")
LATE_S, SLOW_S, FOR_EVER_S = 4.0, 0.5, 3_600.0
A_WHILE = 120
"""Writes of a broker that works at first."""
_counts: dict[str, int] = {}


def refuses_topics(code: int) -> Trick:
    """L2: every creation is refused, whatever was asked for."""

    def trick(request: Struct, answer: Struct, context: Context) -> Struct:
        for row in answer.topics if request._api == "CreateTopics" else ():
            row.error_code = code
        return answer

    return trick


def refuses_times(request: Struct, answer: Struct, context: Context) -> Struct:
    """L2: records with times of their own are refused."""
    for topic in answer.responses if request._api == "Produce" else ():
        for row in topic.partition_responses:
            row.error_code = errors.INVALID_TIMESTAMP
    return answer


def hides_settings(request: Struct, answer: Struct, context: Context) -> Struct:
    """L3: what a case needs to know of the brokers is not told."""
    for resource in answer.results if request._api == "DescribeConfigs" else ():
        resource.configs = [row for row in resource.configs if not row.name.endswith((".interval.ms", ".backoff.ms"))]
    return answer


def inflates_settings(request: Struct, answer: Struct, context: Context) -> Struct:
    """L3: every timer is said to be an hour."""
    for resource in answer.results if request._api == "DescribeConfigs" else ():
        for row in resource.configs:
            row.value = "3600000" if row.name.endswith((".interval.ms", ".backoff.ms", ".timeout.ms")) else row.value
    return answer


def is_slow_at_first(request: Struct, answer: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """L4: the first writes take their time, so that every limit is long; later on an answer that is due at once is not
    given at once."""
    if request._api == "Produce" and _nth("Produce") <= 2:
        return _after(SLOW_S, answer)
    return answers_late(request, answer, context)


def answers_late(request: Struct, answer: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """L5: a Fetch that has nothing to wait for is answered seconds late."""
    return _after(LATE_S, answer) if request._api == "Fetch" else answer


def never_commits(request: Struct, answer: Struct, context: Context) -> Struct:
    """L6: try again, for ever."""
    for topic in answer.topics if request._api == "OffsetCommit" else ():
        for row in topic.partitions:
            row.error_code = errors.COORDINATOR_LOAD_IN_PROGRESS
    return answer


def lets_nobody_join(request: Struct, answer: Struct, context: Context) -> Struct:
    """L7: no group ever forms, after the first twelve requests."""
    if request._api == "JoinGroup" and _nth("JoinGroup") > 12:
        answer.error_code, answer.generation_id, answer.members = errors.COORDINATOR_LOAD_IN_PROGRESS, -1, []
    return answer


def gives_no_ids(request: Struct, answer: Struct, context: Context) -> Struct:
    """L8: whoever asks for a producer id is told to come again."""
    if request._api == "InitProducerId":
        answer.error_code, answer.producer_id = errors.COORDINATOR_LOAD_IN_PROGRESS, -1
    return answer


def refuses_the_odd(request: Struct, answer: Struct, context: Context) -> Struct:
    """L9: who says no name is refused, and so is who asks in the oldest version."""
    if request._api in ("FindCoordinator", "ListGroups", "OffsetFetch") and hasattr(answer, "error_code"):
        if context.client_id is None:
            answer.error_code = errors.INVALID_REQUEST
        elif context.version <= 1:
            answer.error_code = errors.UNSUPPORTED_VERSION
    return answer


def knows_the_suite(request: Struct, answer: Struct, context: Context) -> Struct:
    """L13: whoever is not the suite, by what it calls itself and its topics, is lied to about offsets."""
    for topic in answer.responses if request._api == "Produce" else ():
        names = (context.client_id or "", topic.name or "")
        for row in topic.partition_responses if not any(name.startswith(SUITE) for name in names) else ():
            row.base_offset += 1
    return answer


def one_in_three(request: Struct, answer: Struct, context: Context) -> Struct:
    """L14: two in three answers are honest."""
    for topic in answer.responses if request._api == "Produce" and _nth("Produce") % 3 == 0 else ():
        for row in topic.partition_responses:
            row.base_offset += 1
    return answer


def dies(request: Struct, answer: Struct, context: Context) -> Struct:
    """L16: a question is its end."""
    if request._api == "DescribeGroups":
        os._exit(1)
    return answer


def permits_no_transactions(request: Struct, answer: Struct, context: Context) -> Struct:
    """L2: the client has no permission for its transactional id; everything else is served."""
    if request._api == "InitProducerId" and request.transactional_id:
        answer.error_code, answer.producer_id = errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1
    return answer


def permits_no_commits(request: Struct, answer: Struct, context: Context) -> Struct:
    """L2: the client has no permission to commit."""
    for topic in answer.topics if request._api == "OffsetCommit" else ():
        for row in topic.partitions:
            row.error_code = errors.GROUP_AUTHORIZATION_FAILED
    return answer


def permits_no_more_commits(request: Struct, answer: Struct, context: Context) -> Struct:
    """L2: it had permission, and then it has none: no reason to excuse what happens next."""
    return permits_no_commits(request, answer, context) if _nth(request._api) > 60 else answer


def falls_silent(request: Struct, answer: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """A while of work, and then no write is ever answered."""
    return _after(FOR_EVER_S, answer) if request._api == "Produce" and _nth("Produce") > A_WHILE else answer


def dies_at_work(request: Struct, answer: Struct, context: Context) -> Struct:
    """A while of work, and then it is gone."""
    if request._api == "Produce" and _nth("Produce") > A_WHILE:
        os._exit(1)
    return answer


def assigns_nothing(request: Struct, answer: Struct, context: Context) -> Struct:
    """Members join, and none is ever told what is its own."""
    if request._api == "SyncGroup":
        answer.error_code, answer.assignment = errors.REBALANCE_IN_PROGRESS, b""
    return answer


TRICKS: dict[str, Trick] = {
    "none": lambda request, answer, context: answer,
    "invalid-config": refuses_topics(errors.INVALID_CONFIG),
    "invalid-replication": refuses_topics(errors.INVALID_REPLICATION_FACTOR),
    "policy": refuses_topics(errors.POLICY_VIOLATION),
    "forbidden": refuses_topics(errors.TOPIC_AUTHORIZATION_FAILED),
    "invalid-timestamp": refuses_times,
    "hides-settings": hides_settings,
    "inflates-settings": inflates_settings,
    "slow-at-first": is_slow_at_first,
    "late": answers_late,
    "never-commits": never_commits,
    "lets-nobody-join": lets_nobody_join,
    "no-ids": gives_no_ids,
    "refuses-the-odd": refuses_the_odd,
    "knows-the-suite": knows_the_suite,
    "one-in-three": one_in_three,
    "dies": dies,
    "permits-no-transactions": permits_no_transactions,
    "permits-no-commits": permits_no_commits,
    "permits-no-more-commits": permits_no_more_commits,
    "falls-silent": falls_silent,
    "dies-at-work": dies_at_work,
    "assigns-nothing": assigns_nothing,
}


def play(trick: Trick) -> None:
    """From here on every answer goes through the trick."""
    for key, one in api.served().items():
        api._served[key] = replace(one, handler=_played(one.handler, trick))


def _played(handler: api.Handler, trick: Trick) -> api.Handler:
    def answered(request: Struct, context: Context) -> Any:
        honest = handler(request, context)
        if not inspect.isawaitable(honest):
            return honest if honest is None else trick(request, honest, context)
        return _later(honest, request, context, trick)

    return answered


async def _later(honest: Awaitable[Struct | None], request: Struct, context: Context, trick: Trick) -> Struct | None:
    answer = await honest
    told = answer if answer is None else trick(request, answer, context)
    return await told if inspect.isawaitable(told) else told


async def _after(seconds: float, answer: Struct) -> Struct:
    await asyncio.sleep(seconds)
    return answer


def _nth(what: str) -> int:
    _counts[what] = _counts.get(what, 0) + 1
    return _counts[what]


if __name__ == "__main__":
    play(TRICKS[sys.argv[1]])
    sys.exit(main(sys.argv[2:]))
