"""Transactions: begun, filled, ended, timed out, looked at; from the newest instance and from fenced ones."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, ModelProducer
from brokertrial.suites.explore.normalise import codes
from brokertrial.suites.explore.step import Learn, RequestStep, Visible


def _mine(model: Model) -> ModelProducer | None:
    own = [each for each in model.producers if each.transactional_id is not None and not each.short]
    return model.pick(own) if own else None


def _who(model: Model, producer: ModelProducer, wrong: float = 0.12) -> dict[str, Any]:
    """Names the producer; at times with an epoch or an id that is not its."""
    epoch: int = producer.epoch
    if model.chance(wrong):
        epoch += model.pick([1, -1])
    tid = producer.transactional_id if not model.chance(wrong / 4) else model.pick(["", f"{model.prefix}-nobody"])
    return {"transactional_id": tid, "producer_id": producer.producer, "producer_epoch": epoch}


def _opens(producer: ModelProducer, *places: tuple[str, int]) -> Learn:
    """What an answer without an error teaches: a transaction is under way, and these partitions are in it."""

    def learn(answer: dict[str, Any]) -> None:
        if not any(codes(answer)):
            producer.open = (producer.open or set()) | set(places)

    return learn


@rule("InitProducerId", 2.0)
def init(model: Model) -> RequestStep | None:
    tid = model.pick(model.transactional_ids)
    known = next((each for each in model.producers if each.transactional_id == tid), None)
    fields: dict[str, Any] = {"transactional_id": tid, "transaction_timeout_ms": model.pick([60_000] * 8 + [0, 10**9])}
    if model.chance(0.05):
        fields["transactional_id"] = ""
    if known and model.chance(0.3):
        fields |= {"producer_id": known.producer, "producer_epoch": known.epoch + model.pick([0, 0, 0, 1, -1])}
    step = RequestStep("InitProducerId", model.version("InitProducerId"), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if answer["error_code"] or fields["transactional_id"] != tid:
            return
        if known is None:
            model.producers.append(ModelProducer(answer["producer_id"], answer["producer_epoch"], tid))
        else:
            known.restart(answer["producer_id"], answer["producer_epoch"])
            known.open = None
        step.until.append(Visible("ended", tid))

    step.learn = learn
    return step


@rule("AddPartitionsToTxn", 3.0)
def add_partitions(model: Model) -> RequestStep | None:
    producer = _mine(model)
    if producer is None:
        return None
    places = model.some_partitions(0.1)
    who = _who(model, producer)
    version = model.version("AddPartitionsToTxn")
    topics = [{"name": name, "partitions": indexes} for name, indexes in places.items()]
    if version >= 4:
        only_verify = model.chance(0.3)
        fields: dict[str, Any] = {"transactions": [who | {"verify_only": only_verify, "topics": topics}]}
    else:
        only_verify = False
        fields = {f"v3_and_below_{key}": value for key, value in who.items()} | {"v3_and_below_topics": topics}
    added = [(name, index) for name, indexes in places.items() for index in indexes]
    learn = None if only_verify else _opens(producer, *added)
    return RequestStep("AddPartitionsToTxn", version, fields, model.connection(), learn=learn)


@rule("AddOffsetsToTxn", 1.2)
def add_offsets(model: Model) -> RequestStep | None:
    producer = _mine(model)
    if producer is None:
        return None
    group = model.pick([each.name for each in model.groups] * 4 + [""])
    fields = _who(model, producer) | {"group_id": group}
    return RequestStep(
        "AddOffsetsToTxn", model.version("AddOffsetsToTxn"), fields, model.connection(), learn=_opens(producer)
    )


@rule("TxnOffsetCommit", 1.2)
def commit_offsets(model: Model) -> RequestStep | None:
    producer = _mine(model)
    if producer is None:
        return None
    group = model.pick(model.groups)
    topics = [
        {
            "name": name,
            "partitions": [
                {
                    "partition_index": index,
                    "committed_offset": model.between(0, 9),
                    "committed_leader_epoch": model.pick([-1, 0]),
                    "committed_metadata": model.pick(["", "m", None]),
                }
                for index in indexes
            ],
        }
        for name, indexes in model.some_partitions(0.1).items()
    ]
    fields = _who(model, producer) | {"group_id": group.name, "topics": topics}
    if group.members and model.chance(0.5):
        member = model.pick(group.members)
        fields |= {
            "member_id": member.member,
            "generation_id_or_member_epoch": member.generation + model.pick([0, 0, 1]),
        }
    version = model.version("TxnOffsetCommit", 0, 5)
    return RequestStep("TxnOffsetCommit", version, fields, model.connection(), learn=_opens(producer))


@rule("EndTxn", 2.5)
def end(model: Model) -> RequestStep | None:
    producer = _mine(model)
    if producer is None:
        return None
    who = _who(model, producer)
    step = RequestStep("EndTxn", model.version("EndTxn"), who | {"committed": model.chance(0.6)}, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if answer["error_code"]:
            return
        producer.open = None
        if "producer_epoch" in answer and answer["producer_id"] != -1:
            producer.restart(answer["producer_id"], answer["producer_epoch"])
        step.until.append(Visible("ended", str(who["transactional_id"])))

    step.learn = learn
    return step


@rule("DescribeTransactions", 0.8)
def describe(model: Model) -> RequestStep | None:
    tid = model.pick([*model.transactional_ids, f"{model.prefix}-nobody", ""])
    return RequestStep("DescribeTransactions", 0, {"transactional_ids": [tid]}, model.connection())


@rule("ListTransactions", 0.6)
def listing(model: Model) -> RequestStep | None:
    fields: dict[str, Any] = {"state_filters": model.pick([[], ["Ongoing"], ["CompleteCommit", "Empty"], ["Sleeping"]])}
    if (producer := _mine(model)) and model.chance(0.3):
        fields["producer_id_filters"] = [producer.producer]
    if model.chance(0.2):
        fields["transactional_id_pattern"] = model.pick([f"{model.prefix}.*", "("])
    return RequestStep("ListTransactions", model.version("ListTransactions"), fields, model.connection())
