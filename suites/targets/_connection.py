"""A blocking request and answer over wire.frames."""

from __future__ import annotations

import socket

from wire import apis
from wire.frames import decode_response, encode_request
from wire.messages import Struct, request


class CannotConnect(Exception): ...


class ConnectionClosed(Exception): ...


class AnswerTimeout(Exception): ...


class Connection:
    def __init__(self, host: str, port: int, *, client_id: str, timeout_s: float) -> None:
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise CannotConnect(str(error)) from error
        self._versions: dict[int, int] = {}

    def call(self, message: Struct, version: int | None = None) -> Struct:
        api = apis.by_name(message._api)
        if api.key != 18 and not self._versions:
            self.call(request("ApiVersions", client_software_name="x", client_software_version="1"))
        if version is None:
            version = 3 if api.key == 18 else min(api.max_version, self._versions[api.key])
        try:
            self._socket.sendall(encode_request(message, version, 7, "brokertrial-target"))
            size = int.from_bytes(self._read(4), "big")
            frame = self._read(size)
            if api.key == 18 and frame[4:6] == b"\0\x23":
                version = 0
                self._socket.sendall(encode_request(message, version, 7, "brokertrial-target"))
                frame = self._read(int.from_bytes(self._read(4), "big"))
            answer = decode_response(api.name, version, frame)[1]
        except TimeoutError as error:
            raise AnswerTimeout("no answer") from error
        if api.key == 18:
            self._versions = {each.api_key: each.max_version for each in answer.api_keys}
        return answer

    def _read(self, size: int) -> bytes:
        if size > 10_000_000:
            raise ConnectionClosed("not a Kafka answer")
        have = b""
        while len(have) < size:
            chunk = self._socket.recv(size - len(have))
            if not chunk:
                raise ConnectionClosed("closed by the other side")
            have += chunk
        return have

    def close(self) -> None:
        self._socket.close()
