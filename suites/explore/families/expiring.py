"""What ends by a clock: a transaction that is open for too long, a member that is silent for too long.

Both brokers have short clocks. A request is asked only once both show that the time is over.
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, ModelProducer
from brokertrial.suites.explore.step import RequestStep, Symbol, Visible

OWN = 3
"""The last version of AddPartitionsToTxn that is for one producer."""
TRANSACTION_MS, SESSION_MS = 1_000, 1_200
NO_SECOND_JOIN = 3
"""The last version of JoinGroup in which a member needs not ask twice (KIP-394)."""


@rule("AddPartitionsToTxn", 0.3)
def time_out(model: Model) -> RequestStep | None:
    """A transaction of a producer with a short timeout: it is aborted before anything else is asked."""
    producer = next((each for each in model.producers if each.short), None)
    if producer is None:
        return None
    version = model.version("AddPartitionsToTxn", 0, OWN)
    if version > OWN:
        return None
    topics = [{"name": name, "partitions": indexes} for name, indexes in model.some_partitions(0.0).items()]
    fields = {
        "v3_and_below_transactional_id": producer.transactional_id,
        "v3_and_below_producer_id": producer.producer,
        "v3_and_below_producer_epoch": producer.epoch,
        "v3_and_below_topics": topics,
    }
    step = RequestStep("AddPartitionsToTxn", version, fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        step.until.append(Visible("ended", str(producer.transactional_id)))

    step.learn = learn
    return step


@rule("InitProducerId", 0.4)
def short(model: Model) -> RequestStep | None:
    """A producer whose transactions may last a second; what it asks in one is refused afterwards."""
    if any(each.short for each in model.producers):
        return None
    tid = f"{model.prefix}-short"
    fields = {"transactional_id": tid, "transaction_timeout_ms": TRANSACTION_MS}
    step = RequestStep("InitProducerId", model.version("InitProducerId"), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            model.producers.append(ModelProducer(answer["producer_id"], answer["producer_epoch"], tid, short=True))

    step.learn = learn
    return step


@rule("JoinGroup", 0.3)
def fall_silent(model: Model) -> RequestStep | None:
    """A member that joins an empty group and is never heard of again: the group is empty before more is asked."""
    group = model.pick(model.groups)
    if group.members or any(held.fields.get("group_id") == group.name for held in model.waiting.values()):
        return None
    fields = {
        "group_id": group.name, "member_id": "", "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": memoryview(b"m")}],
    }  # fmt: skip
    step = RequestStep("JoinGroup", model.version("JoinGroup", 0, NO_SECOND_JOIN), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if isinstance(answer["member_id"], Symbol) and not answer["error_code"]:
            step.until.append(Visible("empty", group.name))

    step.learn = learn
    return step
