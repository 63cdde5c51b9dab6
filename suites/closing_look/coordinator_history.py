"""What a case asked of the coordinators of its groups and transactions, as histories of one object each, for the exact
search (checkers/linearizability/search/models/group.py and transaction.py).

    JoinGroup  a -> generation 2           join {a} -> {2}
    Heartbeat  a, 2 -> NONE                heartbeat {a, 2} -> {}
    LeaveGroup a -> NONE                   leave {a} -> {}
    Heartbeat  a, 2 -> NONE                heartbeat {a, 2} -> {}        no order explains this one

A request whose answer does not say whether it had an effect may have had it at any later time, or never. Objects whose
rules are wider than the models' are left out: see `_is_plain_group` and `_is_plain_transaction`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from brokertrial.checkers.linearizability.search.question import Op, Question
from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.wire import errors
from brokertrial.wire.records import RecordsMalformed, batches

GROUP_APIS = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "TxnOffsetCommit"})
ASK_THE_GROUP = ("SyncGroup", "Heartbeat")
"""A commit to a group that was forgotten is refused by the name of its generation as well."""
OTHER_PROTOCOLS = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat", "DeleteGroups")
GROUP_ERRORS = {
    errors.NONE: "",
    errors.ILLEGAL_GENERATION: "generation",
    errors.UNKNOWN_MEMBER_ID: "member",
    errors.REBALANCE_IN_PROGRESS: "rebalance",
}
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
TRANSACTION_ERRORS = {errors.NONE: "", errors.INVALID_TXN_STATE: "state", **dict.fromkeys(FENCED, "fenced")}
IMPLICIT = {"Produce": 12, "TxnOffsetCommit": 5}
"""From these versions on the broker itself adds what is written to the transaction (KIP-890)."""
EXPLICIT = ("AddPartitionsToTxn", "AddOffsetsToTxn")
BUMPS = 5
"""From this version of EndTxn on the answer names the next epoch, and what is empty may be aborted (KIP-890)."""


class CoordinatorHistory(NamedTuple):
    """The history of one group, or one transactional id, and the exchange of each operation."""

    what: str
    question: Question
    exchanges: Mapping[int, PendingExchange]


class CoordinatorCall(NamedTuple):
    """One operation on an object. `told` None: nobody knows whether it had an effect."""

    f: str
    asked: dict[str, Any]
    told: dict[str, Any] | None
    exchange: PendingExchange


def coordinator_histories(exchanges: Sequence[PendingExchange]) -> list[CoordinatorHistory]:
    """Every group and transactional id that the models know the whole rules of."""
    groups: dict[str, list[PendingExchange]] = defaultdict(list)
    transactions: dict[str, list[PendingExchange]] = defaultdict(list)
    others: set[str] = set()
    for asked in exchanges:
        request = asked.request
        if request._api in OTHER_PROTOCOLS:
            others.update(getattr(request, "groups_names", None) or [getattr(request, "group_id", "")])
        elif request._api in GROUP_APIS:
            groups[request.group_id].append(asked)
        if transactional_id := _transactional_id(request):
            transactions[transactional_id].append(asked)
        elif request._api == "AddPartitionsToTxn":  # several at once, as brokers ask each other
            others.update(each.transactional_id for each in request.transactions)
    found = []
    for group, its in groups.items():
        if group not in others and _is_plain_group(its):
            found += _history(f"group {group}", "group", _group_steps(its))
    for transactional_id, its in transactions.items():
        if transactional_id not in others and _is_plain_transaction(its):
            found += _history(f"transactional id {transactional_id}", "transaction", _transaction_steps(its))
    return found


def _history(what: str, model: str, steps: Iterable[CoordinatorCall]) -> list[CoordinatorHistory]:
    ops, exchanges = [], {}
    for number, step in enumerate(steps, 1):
        returned = None if step.told is None else step.exchange.received_ns
        ops.append(Op(number, step.f, step.exchange.sent_ns, returned, step.asked, step.told))
        exchanges[number] = step.exchange
    return [CoordinatorHistory(what, Question(model, ops, name=what), exchanges)] if ops else []


def _is_plain_group(exchanges: Sequence[PendingExchange]) -> bool:
    """Whether it is a group of dynamic members (KIP-345 gives an id from one member to the next), each join was
    answered, and the group was not forgotten and made anew, which begins at generation 1 again."""
    highest = 0
    for asked in exchanges:
        request, answer = asked.request, asked.answer
        members = getattr(request, "members", None) or ()
        if any(getattr(each, "group_instance_id", None) for each in (request, *members)):
            return False
        if request._api != "JoinGroup":
            continue
        if answer is None:
            return False
        if answer.error_code == errors.NONE:
            if answer.generation_id == 1 < highest:
                return False
            highest = max(highest, answer.generation_id)
    return highest > 0


def _group_steps(exchanges: Iterable[PendingExchange]) -> Iterator[CoordinatorCall]:
    joined = {
        asked.answer.member_id: asked.sent_ns
        for asked in sorted(exchanges, key=lambda asked: -asked.sent_ns)
        if asked.request._api == "JoinGroup" and asked.answer is not None and asked.answer.error_code == errors.NONE
    }
    for asked in exchanges:
        request, answer = asked.request, asked.answer
        if answer is None:
            continue  # unanswered, these only read, or take a member out that is not heard of again
        if request._api == "JoinGroup":
            if answer.error_code == errors.NONE:
                yield CoordinatorCall("join", {"member": answer.member_id}, {"generation": answer.generation_id}, asked)
            continue
        for member, error in _members(asked):
            known = member in joined and joined[member] < asked.received_ns
            if error not in GROUP_ERRORS or not (known or error != errors.NONE):
                continue  # who has an id alone may leave (KIP-394)
            told = {"error": GROUP_ERRORS[error]}
            if request._api == "LeaveGroup":
                if error in (errors.NONE, errors.UNKNOWN_MEMBER_ID):
                    yield CoordinatorCall("leave", {"member": member}, told, asked)
            elif _generation(request) >= 0 and (request._api in ASK_THE_GROUP or error == errors.NONE):
                yield CoordinatorCall("heartbeat", {"member": member, "generation": _generation(request)}, told, asked)


def _members(asked: PendingExchange) -> list[tuple[str, int]]:
    """Each member that a request is about, with its error."""
    request, answer = asked.request, asked.answer
    assert answer is not None
    if request._api == "LeaveGroup" and asked.version >= 3:
        if answer.error_code:
            return []
        return [(each.member_id, each.error_code) for each in answer.members]
    if request._api in ("OffsetCommit", "TxnOffsetCommit"):
        found = {part.error_code for topic in answer.topics for part in topic.partitions}
        return [(request.member_id, found.pop())] if len(found) == 1 and request.member_id else []
    return [(request.member_id, answer.error_code)]


def _generation(request: Any) -> int:
    found = getattr(request, "generation_id", None)
    return int(request.generation_id_or_member_epoch if found is None else found)


def _transactional_id(request: Any) -> str:
    return getattr(request, "transactional_id", None) or getattr(request, "v3_and_below_transactional_id", None) or ""


def _is_plain_transaction(exchanges: Sequence[PendingExchange]) -> bool:
    """Whether one producer id had the name throughout (epochs begin anew with the next), no two-phase commit was asked
    for (KIP-939), and every end that names the next epoch was answered."""
    ids = set()
    for asked in exchanges:
        request, answer = asked.request, asked.answer
        if request._api == "InitProducerId":
            if request.keep_prepared_txn or request.enable2_pc:
                return False
            if answer is not None and answer.error_code == errors.NONE:
                ids.add(answer.producer_id)
        if request._api == "EndTxn" and asked.version >= BUMPS:
            if answer is None or answer.error_code not in {*TRANSACTION_ERRORS, errors.CONCURRENT_TRANSACTIONS}:
                return False
            if answer.error_code == errors.NONE:
                ids.add(answer.producer_id)
    return len(ids) == 1


def _transaction_steps(exchanges: Iterable[PendingExchange]) -> Iterator[CoordinatorCall]:
    granted: set[int] = set()
    for asked in sorted(exchanges, key=lambda asked: asked.sent_ns):
        match asked.request._api:
            case "InitProducerId":
                yield from _init(asked, granted)
            case "AddPartitionsToTxn" | "AddOffsetsToTxn" | "Produce" | "TxnOffsetCommit":
                yield from _added(asked, granted)
            case "EndTxn":
                yield from _ended(asked, granted)


def _init(asked: PendingExchange, granted: set[int]) -> Iterator[CoordinatorCall]:
    answer = asked.answer
    if answer is None or answer.error_code != errors.NONE:
        yield CoordinatorCall("init", {}, None, asked)
    elif not (asked.request.producer_id >= 0 and answer.producer_epoch in granted):
        granted.add(answer.producer_epoch)  # asked again with the epoch of before, the answer is the same (KIP-360)
        yield CoordinatorCall("init", {}, {"epoch": answer.producer_epoch}, asked)


def _added(asked: PendingExchange, granted: set[int]) -> Iterator[CoordinatorCall]:
    request = asked.request
    if request._api in IMPLICIT and asked.version < IMPLICIT[request._api]:
        return
    epochs, codes = _epochs(request), _codes(asked)
    for epoch in epochs:
        told = None
        if codes == {errors.NONE} and len(epochs) == 1:
            told = {"error": ""}
        elif request._api in EXPLICIT and codes and codes <= set(FENCED) and epoch <= max(granted, default=-1):
            told = {"error": "fenced"}
        yield CoordinatorCall("add", {"epoch": epoch}, told, asked)


def _epochs(request: Any) -> set[int]:
    """The producer epochs that a request names."""
    if request._api == "AddPartitionsToTxn":
        return {request.v3_and_below_producer_epoch}
    if request._api != "Produce":
        return {request.producer_epoch}
    parts = (part for topic in request.topic_data for part in topic.partition_data)
    return {epoch for part in parts for epoch in _epochs_in(part.records or b"")}


def _epochs_in(records: Any) -> Iterator[int]:
    try:
        for each in batches(records):
            if each.header.is_transactional:
                yield each.header.producer_epoch
    except RecordsMalformed:
        return


def _codes(asked: PendingExchange) -> set[int]:
    """The errors of all that a request named."""
    answer = asked.answer
    if answer is None:
        return set()
    match asked.request._api:
        case "AddPartitionsToTxn":
            rows = answer.results_by_topic_v3_and_below
            return {part.partition_error_code for row in rows for part in row.results_by_partition}
        case "AddOffsetsToTxn":
            return {answer.error_code}
        case "Produce":
            return {part.error_code for topic in answer.responses for part in topic.partition_responses}
        case _:
            return {part.error_code for topic in answer.topics for part in topic.partitions}


def _ended(asked: PendingExchange, granted: set[int]) -> Iterator[CoordinatorCall]:
    request, answer = asked.request, asked.answer
    wanted = {"epoch": request.producer_epoch, "commit": request.committed}
    if answer is not None and answer.error_code == errors.CONCURRENT_TRANSACTIONS:
        return  # refused while the one before is being ended
    if answer is None or answer.error_code not in TRANSACTION_ERRORS:
        yield CoordinatorCall("end", wanted, None, asked)
        return
    told: dict[str, Any] = {"error": TRANSACTION_ERRORS[answer.error_code]}
    if told["error"] == "fenced" and request.producer_epoch > max(granted, default=-1):
        return  # an epoch of the future is refused by the same name
    if asked.version >= BUMPS:
        if not request.committed:
            yield CoordinatorCall("add", {"epoch": request.producer_epoch}, None, asked)
        if answer.error_code == errors.NONE:
            told["next"] = answer.producer_epoch
            granted.add(answer.producer_epoch)
    yield CoordinatorCall("end", wanted, told, asked)
