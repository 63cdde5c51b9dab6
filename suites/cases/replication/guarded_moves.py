"""Reassignments of clients that forbid another number of replicas (KIP-860): what they may still do."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, on_the_move, partition, placed
from brokertrial.suites.cases.replication.called_off_of_any_kind import _must_be_on
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

API = "AlterPartitionReassignments"
ALONE = {"min.insync.replicas": "1"}
NONE, ANOTHER_NUMBER = errors.NONE, errors.INVALID_REPLICATION_FACTOR
NOTHING_TO_CANCEL = errors.NO_REASSIGNMENT_IN_PROGRESS


@case(
    "replication/no-other-number-where-that-is-forbidden",
    guarantees=["adm-019", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={API: 1, "ListPartitionReassignments": 0},
    detects=["B196"],
)
def the_number_is_kept_and_all_else_allowed(wire, nodes, rng):
    """Where a client forbids that the number of replicas changes, a reassignment to more or fewer nodes MUST be refused
    with INVALID_REPLICATION_FACTOR (38), and changes nothing; where one is under way, the number is that of its target.
    One to as many MUST be accepted, also again while it is under way. Cancelling MUST be accepted whatever the number
    is and was, and refused with NO_REASSIGNMENT_IN_PROGRESS (85) where nothing is under way.

    To a node that is dead, so that they stay under way; of one replica, of two and of three, to as many, more and
    fewer. Those to another number are begun by a client that allows it.
    """
    one, two, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): (before, after)
        for what, before, after in rng.sample(
            [
                ("exchanged", [one], [dead]),
                ("one of two", [one, two], [one, dead]),
                ("more", [two], [two, dead]),
                ("fewer", [one, two, dead], [dead]),
            ],
            4,
        )
    }
    for topic in moves:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(dead)
    for topic in moves:
        wire.until(lambda at=topic: dead not in partition(wire, at).isr_nodes, within=WITHIN_S, what=f"{dead} is out")
    asked = rng.choice((one, two))
    for topic, (before, after) in moves.items():
        as_many = len(before) == len(after)
        other = [one, two] if len(after) == 1 else [one]
        with wire.part(f"from {len(before)} to {len(after)}"):
            _must_be_answered(wire, asked, topic, None, NOTHING_TO_CANCEL)
            _must_be_answered(wire, asked, topic, [two] if len(before) > 1 else [one, two], ANOTHER_NUMBER)
            wire.eventually(lambda at=topic, on=before: _must_be_on(wire, asked, at, on), within=WITHIN_S)
            _must_be_answered(wire, asked, topic, after, NONE if as_many else ANOTHER_NUMBER)
            if not as_many:
                _must_be_answered(wire, asked, topic, after, NONE, forbids=False)
            for target, code in rng.sample(((after, NONE), (other, ANOTHER_NUMBER)), 2):
                _must_be_answered(wire, asked, topic, target, code)
                _must_be_under_way(wire, asked, topic, under_way=True)
            _must_be_answered(wire, asked, topic, None, NONE)
            _must_be_under_way(wire, asked, topic, under_way=False)
            _must_be_answered(wire, asked, topic, None, NOTHING_TO_CANCEL)
            wire.eventually(lambda at=topic, on=before: _must_be_on(wire, asked, at, on), within=WITHIN_S)
        wire.read_all(topic).must_hold("a")


def _must_be_answered(wire, asked, topic, target, code, *, forbids=True):
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": target}]}]
    made = request(API, timeout_ms=10_000, topics=rows, allow_replication_factor_change=not forbids)
    answer = wire.ask(made, to=asked)
    found = answer.struct.error_code or answer.struct.responses[0].partitions[0].error_code
    what = "cancelling it" if target is None else f"moving it to {target}"
    who = "a client that forbids another number" if forbids else "a client that allows any number"
    answer.must(found == code, f"{what} is answered with {errors.name(found)} ({found}) to {who}; it must be {code}")


def _must_be_under_way(wire, asked, topic, *, under_way):
    listed, answer = on_the_move(wire, asked)
    state = "is under way" if under_way else "was cancelled"
    answer.must((topic in listed) == under_way, f"on the move are {listed}; that of {topic} {state}", "topics")
