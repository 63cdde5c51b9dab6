"""A request whose answer may come while a node is cut off, after the heal, or never."""

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.failures import NoResponse
from brokertrial.suites.probe.fitting import fitted
from brokertrial.suites.probe.rendering import errors_in

FIRST = 1


class OpenRequest:
    """On a connection of its own; `version` is the newest where none is given."""

    def __init__(self, wire, node, asked, name, version=None):
        self.wire, self.api = wire, asked._api
        self.version = wire.versions(self.api)[-1] if version is None else version
        self.line = wire.connect(f"{name} alone", node)
        self.response = Response(self.line.send(fitted(asked, self.version), self.version, correlation_id=FIRST))
        self.over = False

    def await_answer(self, within):
        """Takes the answer, if it comes in this time; a connection that is closed brings none any more."""
        if self.over:
            return
        exchange = self.response.asked
        try:
            exchange.answer_frame = self.line.receive_bytes(within, self.api)
        except NoResponse:
            self.over = not self.line.open
            return
        self.over = True
        exchange.answer = self.wire.decoded(self.api, self.version, exchange.answer_frame, correlation_id=FIRST)
        self.response.examined = True
        self.line.close()

    @property
    def answered(self):
        """Whether it has its answer."""
        return self.response.asked.answer is not None

    @property
    def acknowledged(self):
        """Whether it was answered, and without an error."""
        answer = self.response.asked.answer
        return answer is not None and not any(errors_in(answer))

    @property
    def said(self):
        """For a person."""
        if not self.answered:
            return "not answered"
        return "acknowledged" if self.acknowledged else f"refused with {self.response.error}"


def await_answers(requests, first_s, other_s):
    """They were sent at the same time: what is late for the first is late for the others."""
    requests[0].await_answer(first_s)
    for request in requests[1:]:
        request.await_answer(other_s)
