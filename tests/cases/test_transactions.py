"""Legal behaviour that must not fail a case about transactions."""

import pytest

from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import StatementFalse
from brokertrial.wire import errors
from brokertrial.wire.messages import response
from tests.suites.scripted import TOPIC, produced, wire_to


def first_then_taken(*codes):
    answers = [produced(error=code) for code in codes] + [produced(offset=4)]
    return lambda asked: answers.pop(0)(asked) if len(answers) > 1 else answers[0](asked)


@pytest.mark.parametrize("code", [errors.CONCURRENT_TRANSACTIONS, errors.NOT_ENOUGH_REPLICAS, errors.NOT_COORDINATOR])
def test_a_batch_that_cannot_be_verified_yet_is_sent_again(code):
    wire, _ = wire_to(Produce=first_then_taken(code, code))
    wire.produce(TOPIC, batch("a", transactional=True), transactional_id="bt-x").must_be_at(4)


@pytest.mark.parametrize("code", [errors.INVALID_TXN_STATE, errors.INVALID_PRODUCER_EPOCH])
def test_a_batch_that_is_refused_for_good_is_not(code):
    wire, _ = wire_to(Produce=first_then_taken(code))
    with pytest.raises(StatementFalse):
        wire.produce(TOPIC, batch("a", transactional=True), transactional_id="bt-x").must_be_at(4)


def ends(*stable):
    """ListOffsets: the end is 3; the last stable offset as given, one after the other."""
    left = list(stable)

    def answer(asked):
        offset = 3 if asked.isolation_level == 0 else left.pop(0) if len(left) > 1 else left[0]
        part = {"partition_index": 0, "offset": offset, "timestamp": -1}
        return response("ListOffsets", topics=[{"name": TOPIC, "partitions": [part]}])

    return answer


def test_markers_may_come_after_the_end_was_acknowledged():
    wire, _ = wire_to(ListOffsets=ends(0, 0, 0, 3))
    assert wire.await_settled(TOPIC) == 3


def test_markers_that_never_come_are_a_failure():
    wire, _ = wire_to(ListOffsets=ends(0))
    with pytest.raises(StatementFalse, match="last stable offset"):
        wire.await_settled(TOPIC)
