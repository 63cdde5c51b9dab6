"""The APIs that this broker serves: one file each (or one for a few close relatives).

A file opens with what the API does here, its versions and its gaps, and registers its handlers:

    @handles("Metadata", 0, 13)
    def metadata(request: Struct, context: Context) -> Struct | None: ...

A handler may be plain or `async`; a plain one that has to wait may return an awaitable. The connection answers in
order, so it takes no other request until the answer is there. None means: no answer is sent (acks=0).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from brokertrial.wire import apis
from brokertrial.wire.messages import Struct

if TYPE_CHECKING:
    from brokertrial.reference_impl.api.broker import Broker

HandlerResult = Struct | None | Awaitable[Struct | None]
Handler = Callable[[Struct, "Context"], HandlerResult]


class Context(NamedTuple):
    """Who asks: everything a handler may know beside the request's body."""

    node: Broker
    api: apis.Api
    version: int
    correlation_id: int
    client_id: str | None
    connection_id: int
    client_host: str


@dataclass(frozen=True, slots=True)
class Served:
    """One API as it is advertised: a range of versions and the function that answers."""

    api: apis.Api
    min_version: int
    max_version: int
    handler: Handler
    forwarded: bool = False
    """The controller's to decide: other nodes pass the request on to it."""


Dispatch = Callable[[Served, Struct, Context], HandlerResult]


class CloseConnection(Exception):
    """A handler gives up on the connection: the protocol has no answer for what happened (acks=0 that failed)."""


_served: dict[int, Served] = {}
_of_controller: dict[int, Served] = {}


def handles(
    name: str, min_version: int, max_version: int, *, forwarded: bool = False, of_controller: bool = False
) -> Callable[[Handler], Handler]:
    """Registers a function as the one that answers the API of this name, in these versions.

    A `forwarded` one runs where the controller is; one `of_controller` is not for clients at all.
    """

    def register(handler: Handler) -> Handler:
        api = apis.by_name(name)
        table = _of_controller if of_controller else _served
        if api.key in table and table[api.key].handler.__module__ != handler.__module__:
            raise ValueError(f"{name} has two handlers: {table[api.key].handler.__module__} and {handler.__module__}")
        table[api.key] = Served(api, min_version, max_version, handler, forwarded)
        return handler

    return register


def served() -> dict[int, Served]:
    """All APIs by key; importing every file of this folder is the only registration."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_served.items()))


def served_by_controller() -> dict[int, Served]:
    """What the process that is nothing but a controller answers: brokers, and what they forward to it."""
    from brokertrial.reference_impl.api import of_controller

    forwarded = {key: one for key, one in served().items() if one.forwarded or one.api.name == "ApiVersions"}
    for module in pkgutil.iter_modules(of_controller.__path__):
        importlib.import_module(f"{of_controller.__name__}.{module.name}")
    return forwarded | _of_controller
