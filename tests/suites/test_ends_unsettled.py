"""A leader that is just elected may not know the end of its log yet (KIP-207): who needs it, asks again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.messages import response
from tests.suites.scripted import TOPIC, wire_to


def ends(codes: list[int]):
    def answer(asked):
        asked_for = asked.topics[0]
        row = {"partition_index": asked_for.partitions[0].partition_index, "error_code": codes.pop(0), "offset": 5}
        return response("ListOffsets", topics=[{"name": asked_for.name, "partitions": [row]}])

    return answer


@pytest.mark.parametrize(
    "need",
    [
        lambda wire: wire.log_end(TOPIC),
        lambda wire: wire.list_offsets(TOPIC, at="latest").must_name(5),
        lambda wire: wire._wait_for_leader(TOPIC, 0),
    ],
)
def test_an_end_that_is_not_known_yet_is_asked_for_again(need: Callable[[Wire], object]) -> None:
    codes = [errors.OFFSET_NOT_AVAILABLE, errors.OFFSET_NOT_AVAILABLE, 0]
    wire, _ = wire_to(ListOffsets=ends(codes))
    need(wire)
    assert codes == []
