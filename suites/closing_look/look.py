"""The closing look at everything that a case made: whole, once what is under way has come to rest.

Each subject is looked at by itself, again and again until all that is asked fits, for `SETTLES_S` at the most: what is
still false then is a failure. What was waited for in vain is not waited for again in the same case: that has failed by
it already, and what else is false in the same way has had that time as well. The Fetches also feed the search for
harmed records (suites/probe/harm.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.closing_look.coordinator_history import coordinator_histories
from brokertrial.suites.closing_look.coordinators import order_of_answers
from brokertrial.suites.closing_look.group import GroupLook
from brokertrial.suites.closing_look.partition import PartitionLook
from brokertrial.suites.closing_look.subjects import Subjects, subjects
from brokertrial.suites.closing_look.transaction import TransactionLook
from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.answered_rows import must_be_answered_once
from brokertrial.suites.probe.failures import StatementFalse, breaks
from brokertrial.suites.probe.permission import RESOURCES
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import CaseResult
from brokertrial.suites.signature import signature
from brokertrial.wire import errors

SETTLES_S = 20.0
SETTLES_BESIDE_OTHERS_S = 0.5
"""While other cases are under way: what does not fit then is looked at again, alone."""
LOOKS = 5
"""At a subject that fails by what the look has waited for already."""
MOST_PARTITIONS = 3
"""Of one topic; the first ones."""
MOST_SUBJECTS = 12
"""Of one kind."""
OFFSETS_RETENTION = "offsets.retention.minutes"
"""A week unless a case has chosen it: until then a commit is demanded."""
PRODUCERS = ("DescribeTransactions", "ListTransactions")
COMPACT = "compact"
PART = "the closing look at"
SEVERAL = 3
"""Cases that fail by the same in their looks; further ones have it as a warning."""


def closing_look(wire: Wire, undisturbed: bool) -> None:
    """Keeps what is false of each subject as a part of the case (`wire.part`). It connects anew, as a fresh client.

    `undisturbed`: no node was stopped and no situation was made, so that coordinators forget nothing.
    """
    exchanges = tuple(wire.traffic.exchanges or ())
    _answered_once(wire, exchanges)
    if undisturbed:
        _coordinators_agree_with_themselves(wire, exchanges)
    wire.drop_lines()
    found = subjects(exchanges, wire.made_topics, wire.made_groups, wire.topic_ids)
    in_vain: set[str] = set()
    for what, judge in _looks(wire, found, undisturbed):
        with wire.part(f"{PART} {what}"):
            _until_it_fits(wire, what, judge, in_vain)


def _coordinators_agree_with_themselves(wire: Wire, exchanges: Sequence[PendingExchange]) -> None:
    """Nothing is asked for this: it is decided of what was answered."""
    for history in coordinator_histories(exchanges):
        try:
            order_of_answers(history)
        except StatementFalse as error:
            error.part = f"{PART} {history.what}"
            wire.kept.append(error)


def _answered_once(wire: Wire, exchanges: Sequence[PendingExchange]) -> None:
    apis = {exchange.request._api for exchange in exchanges}
    prefix, made = wire.case_context.prefix, set(wire.made_topics)
    once = partial(must_be_answered_once, others=lambda topic: topic.startswith(prefix) and topic not in made)
    for api in sorted(apis):
        with wire.part(f"{PART} the answers"), breaks("err-008"):
            for exchange in exchanges:
                if exchange.request._api == api:
                    _unless_known(wire, "the answers", partial(once, exchange))


def failed_in_several(results: Iterable[CaseResult]) -> tuple[str, ...]:
    """The signatures by which the looks of `SEVERAL` cases have failed: another says them, and does not fail."""
    found = Counter(
        failure.signature
        for result in results
        if result.verdict is Verdict.FAIL
        for failure in result.failures
        if failure.sentence.startswith(PART)
    )
    return tuple(sorted(name for name, times in found.items() if times >= SEVERAL))


class WaitedForBefore(Exception):
    """A subject fails by what was waited for in vain at another one of this case."""

    def __init__(self, error: StatementFalse) -> None:
        super().__init__(error.sentence)
        self.error = error


def _until_it_fits(wire: Wire, what: str, judge: Callable[[], None], in_vain: set[str]) -> None:
    """Waits for it, unless it is what several looks have waited for in vain, or this one (`in_vain`: signatures)."""
    within = SETTLES_BESIDE_OTHERS_S if wire.case_context.crowded else SETTLES_S
    looks = count(1)

    def look() -> None:
        number = next(looks)
        try:
            _unless_known(wire, what, judge)
        except StatementFalse as error:
            if number >= LOOKS and _signature(wire, error) in in_vain:
                raise WaitedForBefore(error) from None
            raise

    try:
        wire.eventually(look, within=within)
    except WaitedForBefore as before:
        raise before.error from None
    except StatementFalse as error:
        if wire.case_context.waits_once:
            in_vain.add(_signature(wire, error))
        raise


def _signature(wire: Wire, error: StatementFalse) -> str:
    return signature(error.kind, error.sentence, error.about, wire.case_context.prefix)


def _unless_known(wire: Wire, what: str, judge: Callable[[], None]) -> None:
    """Judges; what several looks have found false before is a warning: one bug must not fail every case."""
    try:
        judge()
    except StatementFalse as error:
        known = _signature(wire, error) in wire.case_context.look_failures
        if not known and not _lacks_permission(error):
            raise
        why = f", as in {SEVERAL} cases before" if known else ""
        wire.noted.append(f"{PART} {what}{why}: {error.sentence}")


def _lacks_permission(error: StatementFalse) -> bool:
    """Whether the answer was a refusal for want of permission: cases about that API decide whether it may be."""
    return any(f"{errors.name(code)} ({code})" in error.sentence for code in RESOURCES)


def _looks(wire: Wire, found: Subjects, undisturbed: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    for topic in found.topics[:MOST_SUBJECTS]:
        wire.refresh_metadata(topic)
        for partition in sorted(wire.known_partitions(topic))[:MOST_PARTITIONS]:
            yield f"{topic}-{partition}", PartitionLook(wire, topic, partition, _is_compacted(wire, topic)).judge
    demanded = {} if OFFSETS_RETENTION in wire.chosen_settings else found.acknowledged
    for group in found.groups[:MOST_SUBJECTS] if wire.versions("OffsetFetch") else ():
        yield f"group {group}", GroupLook(wire, group, demanded.get(group, {}), not undisturbed).judge
    if all(map(wire.versions, PRODUCERS)):
        for transactional_id in found.transactional_ids[:MOST_SUBJECTS]:
            yield f"transactional id {transactional_id}", TransactionLook(wire, transactional_id).judge


def _is_compacted(wire: Wire, topic: str) -> bool:
    """Whether records may be missing between others."""
    if not wire.versions("DescribeConfigs"):
        return True
    return COMPACT in (wire.configs_of_topic(topic).get("cleanup.policy") or "")
