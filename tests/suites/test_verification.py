"""A leader that cannot yet have a batch verified says so, and clients send again: no verdict hangs on that answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.run_case import attempt
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import Outcome
from brokertrial.wire import errors
from brokertrial.wire.frames import decode_request, encode_response
from brokertrial.wire.messages import response
from tests.suites.in_process import NODE, InProcess, told

LATE = by_id()["transactions/late-write"]


class Busy(InProcess):
    """The bundled broker behind a leader that answers the late batch itself, so often."""

    def __init__(self, data: Path, code: int, times: int) -> None:
        super().__init__(data)
        self.code, self.left = code, times
        self._answers: dict[str, bytes] = {}

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        if api != "Produce" or not connection.startswith("late") or not self.left:
            return super().send(connection, frame, api, version)
        self.left -= 1
        header, asked = decode_request(frame[4:])
        topic = asked.topic_data[0]
        row = {"index": 0, "error_code": self.code, "base_offset": 0 if not self.code else -1}
        answer = response(
            "Produce", responses=[{"name": topic.name, "topic_id": topic.topic_id, "partition_responses": [row]}]
        )
        self._answers[connection] = encode_response(answer, header.api_version, header.correlation_id)[4:]
        return self._later()

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        if (answer := self._answers.pop(connection, None)) is not None:
            return answer, self._later()
        return super().receive(connection, timeout_s, api, version)


def outcome(data: Path, code: int, times: int) -> Outcome:
    world = Busy(data, code, times)
    try:
        wire = Wire(world, CaseContext(prefix="bt-x", case=LATE.id, latency_ms=0.1), [world.address])
        return attempt(LATE, wire, world, {NODE: world}, lambda: True)  # type: ignore[dict-item]
    finally:
        world.end()


@pytest.mark.parametrize("code", [errors.NOT_ENOUGH_REPLICAS, errors.CONCURRENT_TRANSACTIONS])
def test_it_is_asked_again_until_the_leader_knows(code: int, tmp_path: Path) -> None:
    found = outcome(tmp_path, code, 3)
    assert found.verdict is Verdict.PASS, told(found)


def test_a_late_write_that_is_taken_fails_whenever_that_is(tmp_path: Path) -> None:
    assert outcome(tmp_path, errors.NONE, 1).verdict is Verdict.FAIL


def test_another_refusal_fails_at_once(tmp_path: Path) -> None:
    assert outcome(tmp_path, errors.CORRUPT_MESSAGE, 1).verdict is Verdict.FAIL


def test_a_leader_that_never_knows_fails(tmp_path: Path) -> None:
    assert outcome(tmp_path, errors.NOT_ENOUGH_REPLICAS, 10_000).verdict is Verdict.FAIL
