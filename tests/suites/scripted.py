"""A broker made of functions, on the other side of an Exchanger: no socket, no clock but its own."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from uuid import UUID

from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.exchanger import ClosedByPeer, ConnectRefused, ReadTimeout, TranscriptEntry
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire.apis import ALL
from brokertrial.wire.frames import decode_request, encode_response
from brokertrial.wire.messages import response

TOPIC = "bt-x-topic"
SCENE = CaseContext(capabilities=("started",), prefix="bt-x", case="tests/case", latency_ms=1.0)

Handler = Callable[[Any], Any]


class ScriptedExchanger:
    """Answers each API with a handler: request struct -> response struct, bytes, None (silence) or "close"."""

    def __init__(self, **handlers: Handler) -> None:
        self.handlers = {"ApiVersions": api_versions, "Metadata": metadata, **handlers}
        self.tape: list[TranscriptEntry] = []
        self.refuse: set[str] = set()
        self.seen: list[str] = []
        self.ns = 0
        self._queues: dict[str, deque[bytes | str]] = defaultdict(deque)

    def open(self, connection, node, address, timeout_s):
        if connection in self.refuse:
            self._note("refused", connection, text="refused")
            raise ConnectRefused("refused")
        self._note("open", connection)

    def send(self, connection, frame, api="", version=-1):
        ns = self._note("request", connection, api=api, version=version, data=frame)
        header, struct = decode_request(frame[4:])
        self.seen.append(struct._api)
        answer = self.handlers[struct._api](struct)
        if isinstance(answer, bytes | str):
            self._queues[connection].append(answer)
        elif answer is not None:
            sent = header.api_version if struct._api != "ApiVersions" or answer.error_code != 35 else 0
            self._queues[connection].append(encode_response(answer, sent, header.correlation_id)[4:])
        return ns

    def together(self):
        return nullcontext()

    def receive(self, connection, timeout_s, api="", version=-1):
        if not self._queues[connection]:
            self.ns += int(timeout_s * 1e9)
            self._note("silence", connection, api=api, version=version)
            raise ReadTimeout
        answer = self._queues[connection].popleft()
        if answer == "close":
            self._note("closed", connection, api=api, version=version, text="the broker closed the connection")
            raise ClosedByPeer("the broker closed the connection")
        assert isinstance(answer, bytes)
        return answer, self._note("answer", connection, api=api, version=version, data=answer)

    def close(self, connection):
        self._queues.pop(connection, None)
        self._note("close", connection)

    def clock(self):
        wall = 1_700_000_000_000 + self.ns // 1_000_000
        return self._note("clock", text=str(wall)), wall

    def pause(self, seconds):
        self.ns += int(seconds * 1e9)

    def act(self, what, do):
        result = do()
        self._note("action", what, text=result)
        return result

    def observe(self, path, look):
        seen = look()
        self._note("znode", path, text=seen)
        return seen

    def _note(self, kind, connection="", *, api="", version=-1, data=b"", text=""):
        self.ns += 1_000
        self.tape.append(TranscriptEntry(kind, connection, 1, api, version, data, text, self.ns))
        return self.ns


def api_versions(asked):
    served = [{"api_key": api.key, "min_version": api.min_version, "max_version": api.newest} for api in ALL]
    return response("ApiVersions", api_keys=served)


def metadata(asked):
    names = [row.name for row in asked.topics or []]
    return response(
        "Metadata",
        brokers=[{"node_id": 1, "host": "h", "port": 9}],
        controller_id=1,
        topics=[
            {
                "name": name,
                "error_code": 0 if name == TOPIC else 3,
                "topic_id": UUID(int=7),
                "partitions": [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}],
            }
            for name in names
        ],
    )


def produced(offset=0, error=0):
    def answer(asked):
        return response(
            "Produce",
            responses=[
                {
                    "name": row.name,
                    "topic_id": row.topic_id,
                    "partition_responses": [
                        {"index": part.index, "base_offset": offset, "error_code": error} for part in row.partition_data
                    ],
                }
                for row in asked.topic_data
            ],
        )

    return answer


def wire_to(**handlers: Handler) -> tuple[Wire, ScriptedExchanger]:
    exchanger = ScriptedExchanger(**handlers)
    return Wire(exchanger, SCENE, [("h", 9)]), exchanger


__all__ = ["SCENE", "TOPIC", "ScriptedExchanger", "produced", "wire_to"]
