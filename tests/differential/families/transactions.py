"""Transactions: begun, filled, ended, timed out, looked at; from the newest instance and from fenced ones."""

from __future__ import annotations

from typing import Any

from tests.differential.families import makes
from tests.differential.step import Learn, Settled, Step
from tests.differential.telling import codes
from tests.differential.world import Producer, World


def _mine(world: World) -> Producer | None:
    own = [each for each in world.producers if each.transactional_id is not None]
    return world.pick(own) if own else None


def _who(world: World, producer: Producer, wrong: float = 0.12) -> dict[str, Any]:
    """Names the producer; at times with an epoch or an id that is not its."""
    epoch: int = producer.epoch
    if world.chance(wrong):
        epoch += world.pick([1, -1])
    tid = producer.transactional_id if not world.chance(wrong / 4) else world.pick(["", f"{world.ours}-nobody"])
    return {"transactional_id": tid, "producer_id": producer.producer, "producer_epoch": epoch}


def _opens(producer: Producer, *places: tuple[str, int]) -> Learn:
    """What an answer without an error teaches: a transaction is under way, and these partitions are in it."""

    def learn(answer: dict[str, Any]) -> None:
        if not any(codes(answer)):
            producer.open = (producer.open or set()) | set(places)

    return learn


@makes("InitProducerId", 2.0)
def init(world: World) -> Step | None:
    tid = world.pick(world.transactional_ids)
    known = next((each for each in world.producers if each.transactional_id == tid), None)
    fields: dict[str, Any] = {"transactional_id": tid, "transaction_timeout_ms": world.pick([60_000] * 8 + [0, 10**9])}
    if world.chance(0.05):
        fields["transactional_id"] = ""
    if known and world.chance(0.3):
        fields |= {"producer_id": known.producer, "producer_epoch": known.epoch + world.pick([0, 0, 0, 1, -1])}
    step = Step("InitProducerId", world.version("InitProducerId"), fields, world.line())

    def learn(answer: dict[str, Any]) -> None:
        if answer["error_code"] or fields["transactional_id"] != tid:
            return
        if known is None:
            world.producers.append(Producer(answer["producer_id"], answer["producer_epoch"], tid))
        else:
            known.restart(answer["producer_id"], answer["producer_epoch"])
            known.open = None
        step.settle.append(Settled("ended", tid))

    step.learn = learn
    return step


@makes("AddPartitionsToTxn", 3.0)
def add_partitions(world: World) -> Step | None:
    producer = _mine(world)
    if producer is None:
        return None
    name, partition = world.some_topic(0.1)
    who = _who(world, producer)
    version = world.version("AddPartitionsToTxn")
    topics = [{"name": name, "partitions": [partition]}]
    if version >= 4:
        only_verify = world.chance(0.3)
        fields: dict[str, Any] = {"transactions": [who | {"verify_only": only_verify, "topics": topics}]}
    else:
        only_verify = False
        fields = {f"v3_and_below_{key}": value for key, value in who.items()} | {"v3_and_below_topics": topics}
    learn = None if only_verify else _opens(producer, (name, partition))
    return Step("AddPartitionsToTxn", version, fields, world.line(), learn=learn)


@makes("AddOffsetsToTxn", 1.2)
def add_offsets(world: World) -> Step | None:
    producer = _mine(world)
    if producer is None:
        return None
    group = world.pick([each.name for each in world.groups] * 4 + [""])
    fields = _who(world, producer) | {"group_id": group}
    return Step("AddOffsetsToTxn", world.version("AddOffsetsToTxn"), fields, world.line(), learn=_opens(producer))


@makes("TxnOffsetCommit", 1.2)
def commit_offsets(world: World) -> Step | None:
    producer = _mine(world)
    if producer is None:
        return None
    group = world.pick(world.groups)
    name, partition = world.some_topic(0.1)
    place = {
        "partition_index": partition,
        "committed_offset": world.rng.randint(0, 9),
        "committed_metadata": world.pick(["", "m", None]),
    }
    fields = _who(world, producer) | {"group_id": group.name, "topics": [{"name": name, "partitions": [place]}]}
    if group.members and world.chance(0.5):
        member = world.pick(group.members)
        fields |= {
            "member_id": member.member,
            "generation_id_or_member_epoch": member.generation + world.pick([0, 0, 1]),
        }
    version = world.version("TxnOffsetCommit", 0, 5)
    return Step("TxnOffsetCommit", version, fields, world.line(), learn=_opens(producer))


@makes("EndTxn", 2.5)
def end(world: World) -> Step | None:
    producer = _mine(world)
    if producer is None:
        return None
    who = _who(world, producer)
    step = Step("EndTxn", world.version("EndTxn"), who | {"committed": world.chance(0.6)}, world.line())

    def learn(answer: dict[str, Any]) -> None:
        if answer["error_code"]:
            return
        producer.open = None
        if "producer_epoch" in answer and answer["producer_id"] != -1:
            producer.restart(answer["producer_id"], answer["producer_epoch"])
        step.settle.append(Settled("ended", str(who["transactional_id"])))

    step.learn = learn
    return step


@makes("DescribeTransactions", 0.8)
def describe(world: World) -> Step | None:
    tid = world.pick([*world.transactional_ids, f"{world.ours}-nobody", ""])
    return Step("DescribeTransactions", 0, {"transactional_ids": [tid]}, world.line())


@makes("ListTransactions", 0.6)
def listing(world: World) -> Step | None:
    fields: dict[str, Any] = {"state_filters": world.pick([[], ["Ongoing"], ["CompleteCommit", "Empty"], ["Sleeping"]])}
    if (producer := _mine(world)) and world.chance(0.3):
        fields["producer_id_filters"] = [producer.producer]
    if world.chance(0.2):
        fields["transactional_id_pattern"] = world.pick([f"{world.ours}.*", "("])
    return Step("ListTransactions", world.version("ListTransactions"), fields, world.line())
