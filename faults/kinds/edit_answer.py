"""One field of an answer is not what the broker said."""

from typing import Any, Unpack

from brokertrial.faults import message_paths
from brokertrial.faults.actions import FORWARD, Action, Replace
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.record_edits import editable
from brokertrial.faults.schedule import BadSchedule, Window


class EditAnswer(MessageFault, frozen=True):
    """A broker that says something else than this one did: used to prove that a case can fail, never to judge a broker.

    Leaves no guarantee in force. Exactly one of `set`, `add`, `drop`, `repeat`, `swap`, `flip`, `cut` says what is
    done at `path`: replace the value, add to the number, remove / double / reverse list elements, flip a bit of the
    n-th byte, cut n bytes off. Inside record data the path goes on:
    `responses[].partitions[].records[0].records[1].value`.
    """

    kind, model, verb, noun = "edit_answer", "byzantine-wire", "edit", "response"
    path: str
    set: Any = None
    add: int | None = None
    drop: bool = False
    repeat: bool = False
    swap: bool = False
    flip: int | None = None
    cut: int | None = None

    def decide(self, message: Message) -> Action:
        if not message.is_response:
            return FORWARD
        answer = message.answer
        with editable(answer, self.path):
            edited = self._edit(answer)
        return Replace(answer) if edited else FORWARD

    def _edit(self, answer: Any) -> int:
        path = message_paths.parse(self.path)
        for wanted, act in (
            (self.drop, message_paths.drop),
            (self.repeat, message_paths.repeat),
            (self.swap, message_paths.swap),
        ):
            if wanted:
                return act(answer, path)
        return message_paths.change(answer, path, self._new)

    def _new(self, value: Any) -> Any:
        if self.add is not None:
            return value + self.add
        if self.flip is not None:
            return _flipped(bytes(value or b""), self.flip)
        if self.cut is not None:
            return bytes(value or b"")[: -self.cut]
        if isinstance(value, bytes | memoryview) and isinstance(self.set, str):
            return self.set.encode()
        return self.set


def _flipped(data: bytes, place: int) -> bytes:
    if not data:
        return data
    place %= len(data)
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def edit_answer(
    path: str,
    *,
    set: Any = None,
    add: int | None = None,
    drop: bool = False,
    repeat: bool = False,
    swap: bool = False,
    flip: int | None = None,
    cut: int | None = None,
    **where: Unpack[MessageFaultOptions],
) -> Window:
    """Edit answers: `edit_answer("topics[].partitions[].offset", add=1, api="ListOffsets")`."""
    message_paths.parse(path)
    if sum((add is not None, drop, repeat, swap, flip is not None, cut is not None)) > 1:
        raise BadSchedule("edit_answer does one thing: set, add, drop, repeat, swap, flip or cut.")
    fault = EditAnswer(path=path, set=set, add=add, drop=drop, repeat=repeat, swap=swap, flip=flip, cut=cut)
    return message_window(fault, **where)
