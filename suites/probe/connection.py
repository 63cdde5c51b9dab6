"""One connection of a probe: requests leave in order, answers must come back in that order with the right ids."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.exchanger import ClosedByPeer, ConnectRefused, Exchanger, ReadTimeout
from brokertrial.suites.probe.failures import ConnectFailed, NoResponse, ProtocolBroken
from brokertrial.suites.probe.traffic import Traffic
from brokertrial.suites.result import Evidence
from brokertrial.wire.codec import Malformed
from brokertrial.wire.frames import decode_response, encode_request
from brokertrial.wire.messages import Struct

UNSUPPORTED_VERSION = 35


class ProbeConnection:
    """A named connection to one node. Use `Wire.connect` for one of your own."""

    def __init__(
        self,
        exchanger: Exchanger,
        name: str,
        node: int,
        address: tuple[str, int],
        patience_s: float,
        client_id: str | None,
        traffic: Traffic,
        heard: Callable[[PendingExchange], None] = lambda asked: None,
    ) -> None:
        self.name = name
        self.node = node
        self.address = address
        self.client_id: str | None = client_id
        self.open = False
        self.patience_s = patience_s
        self._exchanger = exchanger
        self._heard = heard
        self._traffic = traffic
        self._correlation = 0
        self._waiting: deque[tuple[int, PendingExchange, float]] = deque()
        self._unanswered: dict[int, str] = {}
        """Correlation id -> API of the requests that want no answer."""

    @property
    def awaits_answers(self) -> bool:
        """Whether an answer is under way on it."""
        return bool(self._waiting)

    def connect(self) -> ProbeConnection:
        """Opens the connection unless it is open."""
        if not self.open:
            try:
                self._exchanger.open(self.name, self.node, self.address, self.patience_s)
            except ConnectRefused as error:
                step = "connection" if self.node >= 0 else ""  # the address that we were given is no word of the broker
                raise ConnectFailed(f"no connection to {self._where()}: {error}", step=step) from error
            self.open = True
        return self

    def count_from(self, number: int) -> None:
        """The next correlation id is one more than this; behind the largest one comes the smallest."""
        self._correlation = number

    def close(self) -> None:
        """Closes it at once; answers still under way are lost."""
        self._exchanger.close(self.name)
        self.open = False
        self._waiting.clear()
        self._unanswered.clear()

    def send(
        self,
        request: Struct,
        version: int,
        *,
        correlation_id: int | None = None,
        answered: bool = True,
        may_take_s: float = 0.0,
        written: Callable[[int], bytes] | None = None,
        sent: Struct | None = None,
    ) -> PendingExchange:
        """Sends a request; its answer is read when someone waits for it. `written` makes the frame of an odd one.

        `sent` leaves in its place, where a situation words it otherwise (suites/probe/situation.py).
        """
        self.connect()
        if correlation_id is None:
            self._correlation += 1
            correlation_id = (self._correlation + 2**31) % 2**32 - 2**31
        if written is None:
            frame = bytes(encode_request(sent or request, version, correlation_id, self.client_id))
        else:
            frame = written(correlation_id)
        sent_ns = self._exchanger.send(self.name, frame, request._api, version)
        asked = PendingExchange(request, version, frame, sent_ns, self._where(), self._arrive)
        asked.reworded = sent is not None and sent is not request
        asked.number = self._traffic.sent(self.name, asked.where, frame, asked=asked, ns=sent_ns)
        if answered:
            self._waiting.append((correlation_id, asked, self.patience_s + may_take_s))
        else:
            self._unanswered[correlation_id] = request._api
        return asked

    def send_bytes(self, frame: bytes, what: str = "") -> int:
        """Sends bytes as they are, well formed or not; returns when."""
        self.connect()
        sent_ns = self._exchanger.send(self.name, frame, what)
        self._traffic.sent(self.name, self._where(), frame, what, ns=sent_ns)
        return sent_ns

    def receive_bytes(self, within_s: float | None = None, what: str = "") -> bytes:
        """The next frame as it is, without its size; raises NoResponse."""
        try:
            return self._receive(within_s or self.patience_s, what)[0]
        except ReadTimeout:
            raise NoResponse(f"nothing came from {self._where()} within {within_s or self.patience_s:.1f} s") from None
        except ClosedByPeer as error:
            raise NoResponse(f"{self._where()}: {error}") from error

    def is_closed(self, within_s: float) -> bool:
        """Whether the broker closes the connection in that time; answers that come first are read and dropped."""
        while True:
            try:
                self._receive(within_s)
            except ReadTimeout:
                return False
            except ClosedByPeer:
                return True

    def _arrive(self, asked: PendingExchange) -> None:
        while asked.answer is None:
            if not any(entry[1] is asked for entry in self._waiting):
                raise NoResponse(
                    f"the connection to {self._where()} was lost before {asked.request._api} was answered",
                    asked.evidence(),
                    (asked.number,),
                    asked.request._api,
                    asked.step,
                )
            self._receive_next()

    def _receive_next(self) -> None:
        correlation_id, asked, patience_s = self._waiting.popleft()
        frame = self._frame_for(asked, patience_s)
        asked.answer_frame = frame
        got = int.from_bytes(frame[:4], "big", signed=True)
        if len(frame) < 4 or got != correlation_id:
            whose = f", that of a {self._unanswered[got]} that wants no answer" if got in self._unanswered else ""
            self._broken(
                asked, f"the answer carries correlation id {got}{whose}, the request that is next had {correlation_id}"
            )
        try:
            asked.answer = decode_response(asked.request._api, _layout(asked, frame), frame)[1]
        except Malformed as error:
            self._broken(asked, f"the answer cannot be decoded: {error}")
        self._heard(asked)

    def _frame_for(self, asked: PendingExchange, patience_s: float) -> bytes:
        api = asked.request._api
        try:
            frame, asked.received_ns = self._receive(patience_s, api, asked)
            return frame
        except ReadTimeout:
            sentence = f"{api} v{asked.version} got no answer from {self._where()} within {patience_s:.1f} s"
        except ClosedByPeer as error:
            sentence = f"{api} v{asked.version} got no answer: {self._where()}: {error}"
        self._waiting.clear()
        raise NoResponse(sentence, asked.evidence(), (asked.number,), api, asked.step)

    def _receive(self, timeout_s: float, api: str = "", asked: PendingExchange | None = None) -> tuple[bytes, int]:
        try:
            found = self._exchanger.receive(self.name, timeout_s, api, -1 if asked is None else asked.version)
        except ClosedByPeer:
            self.open = False
            self._traffic.closed(self.name)
            raise
        self._traffic.answered(self.name, asked, found[1])
        return found

    def _broken(self, asked: PendingExchange, sentence: str) -> None:
        proof = (
            *asked.evidence(),
            Evidence(
                "answer",
                f"{len(asked.answer_frame)} bytes",
                op=asked.number,
                note=sentence,
                bytes_hex=asked.answer_frame.hex(),
            ),
        )
        told = f"{asked.request._api} v{asked.version}: {sentence}"
        raise ProtocolBroken(told, proof, (asked.number,), step=asked.step)

    def _where(self) -> str:
        return f"node {self.node}" if self.node >= 0 else f"{self.address[0]}:{self.address[1]}"


def _layout(asked: PendingExchange, frame: bytes) -> int:
    """The version to read an answer in: an ApiVersions of an unknown version is answered in v0 (KIP-35, KIP-511)."""
    if asked.request._api == "ApiVersions" and int.from_bytes(frame[4:6], "big") == UNSUPPORTED_VERSION:
        return 0
    return asked.version
