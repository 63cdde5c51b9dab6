"""What every kind of fault is: a value with its parameters, a pure decision, and the words for it."""

import random
from typing import Any, ClassVar, Literal, Protocol, TypedDict, Unpack

import msgspec

from brokertrial.faults.actions import Action
from brokertrial.faults.match import Match
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import Members, PacketEffect
from brokertrial.faults.schedule import FaultModel, Window
from brokertrial.faults.toxiproxy.toxic import Toxic
from brokertrial.faults.triggers import AT_HEAL, AT_ONCE, Trigger
from brokertrial.wire.messages import Struct


class Message(Protocol):
    """One request, or the answer to it, as the proxy holds it. Decoded only when a fault looks inside."""

    @property
    def is_response(self) -> bool: ...
    @property
    def api(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def request(self) -> Struct:
        """The decoded request, to be read only."""

    @property
    def answer(self) -> Struct:
        """The answer, decoded for this call alone: a fault may change it and return it in a `Replace`."""

    @property
    def random(self) -> random.Random:
        """A stream of this message's own: (seed, window, client, node, connection, API, ordinal)."""


class MessageFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault that the proxy makes on single messages. The subclass says what it models and what it leaves true."""

    kind: ClassVar[str]
    model: ClassVar[FaultModel]
    needs: ClassVar[tuple[str, ...]] = ("proxy",)
    verb: ClassVar[str]
    noun: ClassVar[Literal["request", "response", "message"]]
    in_flight: ClassVar[bool] = False
    """Whether it also concerns answers to requests that passed before the window began."""
    telling: ClassVar[bool] = True
    """Whether each hit is worth an event with the broker's own code; otherwise the first hundred are."""

    def decide(self, message: Message) -> Action:
        """What happens to this message. Asked for the request, and again for its answer."""
        raise TypeError(f"{type(self).__name__} decides nothing")

    def bars_answers(self) -> bool:
        """Whether an `in_flight` fault keeps back what the broker sends, the end of the connection too."""
        return self.in_flight

    @classmethod
    def words(cls, window: Window) -> str:
        """The window for people, without its times."""
        preposition = {"request": "to", "response": "from", "message": "at"}[cls.noun]
        return f"{cls.verb} {(window.match or Match()).words(cls.noun, preposition)}" + _said(window)


class ProcessFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault done to a whole node, and what undoes it."""

    kind: ClassVar[str]
    model: ClassVar[FaultModel] = "crash-stop"
    needs: ClassVar[tuple[str, ...]]
    verb: ClassVar[str]

    def begin(self, node_control: NodeControl) -> None:
        """Does it; returns when it is done."""
        raise TypeError(f"{type(self).__name__} does nothing")

    def undo(self, node_control: NodeControl) -> None:
        """Brings the node back; harmless when there is nothing to undo."""
        if not node_control.alive():
            node_control.restart()

    @classmethod
    def words(cls, window: Window) -> str:
        """The window for people, without its times."""
        target = window.target or "any"
        return f"{cls.verb} {target if not target.isdigit() else 'node ' + target}" + _said(window)


class NetworkFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault done to the packets between nodes, and between nodes and clients, by the kernel.

    What `effects` names is taken back when the window ends, and gone with the namespaces should nobody do that.
    """

    kind: ClassVar[str]
    model: ClassVar[FaultModel] = "omission"
    needs: ClassVar[tuple[str, ...]] = ("network",)
    verb: ClassVar[str]
    """A sentence without its subject, with `{}` where the node is named."""

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        """What is done to which packets, if the window means these nodes."""
        raise TypeError(f"{type(self).__name__} does nothing")

    def rhythm_ms(self) -> tuple[float, float] | None:
        """For how long it is there, and away, by turns; None where it is there until the window ends."""
        return None

    @classmethod
    def words(cls, window: Window) -> str:
        """The window for people, without its times."""
        target = window.target or "any"
        where = f"node {target}" if target.isdigit() else target
        return f"{cls.verb.format(where)}{_said(window)}"


class ByteFault(NetworkFault, frozen=True, forbid_unknown_fields=True):
    """A fault done by Toxiproxy to the bytes between nodes and clients; by the kernel where there is no Toxiproxy, and
    `effects` says how. The connections of its nodes are closed when the window ends.
    """

    needs = ("toxiproxy",)
    ends_connections: ClassVar[bool] = False
    """Whether it has bitten when a connection has ended, and not before; else when a request has met it."""

    def toxics(self) -> list[Toxic]:
        """What is put on the line of each node."""
        raise TypeError(f"{type(self).__name__} does nothing")


class MessageFaultOptions(TypedDict, total=False):
    """What every constructor of a message fault takes: which messages (see `Match`), from when, until when."""

    api: str | tuple[str, ...]
    client: str
    node: str | int
    topic: str
    partition: int
    group: str
    transactional_id: str
    fields: dict[str, Any]
    skip: int
    every: int
    times: int
    p: float
    begin: Trigger
    end: Trigger
    id: str


class ProcessFaultOptions(TypedDict, total=False):
    """What every constructor of a process fault takes beside its target."""

    begin: Trigger
    end: Trigger
    id: str


def message_window(fault: MessageFault, **where: Unpack[MessageFaultOptions]) -> Window:
    """The window of a message fault; only parameters that differ from their defaults are written down."""
    when = {name: where.pop(name) for name in ("begin", "end", "id") if name in where}
    match: dict[str, Any] = dict(where)
    if "times" in match:
        match["count"] = match.pop("times")
    if isinstance(match.get("api"), str):
        match["api"] = (match["api"],)
    if "node" in match:
        match["node"] = str(match["node"])
    return Window(
        kind=fault.kind,
        params=_stated(fault),
        match=Match(**match),
        model=fault.model,
        needs=fault.needs,
        begin=when.get("begin", AT_ONCE),  # type: ignore[arg-type]
        end=when.get("end", AT_HEAL),  # type: ignore[arg-type]
        id=when.get("id", ""),  # type: ignore[arg-type]
    )


def process_window(
    fault: ProcessFault | NetworkFault, target: str | int, **when: Unpack[ProcessFaultOptions]
) -> Window:
    """The window of a fault of nodes: of a process, or of its network."""
    return Window(
        kind=fault.kind,
        params=_stated(fault),
        target=str(target),
        model=fault.model,
        needs=fault.needs,
        begin=when.get("begin", AT_ONCE),
        end=when.get("end", AT_HEAL),
        id=when.get("id", ""),
    )


def _said(window: Window) -> str:
    said = ", ".join(f"{value} ms" if name == "ms" else f"{name} {value}" for name, value in window.params.items())
    return f" ({said})" if said else ""


def _stated(fault: MessageFault | ProcessFault | NetworkFault) -> dict[str, Any]:
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(fault))}
    built: dict[str, Any] = msgspec.to_builtins(fault)
    return {name: value for name, value in built.items() if defaults[name] != value}
