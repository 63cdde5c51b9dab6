"""Every kind of fault: what it does, and what a schedule says of it."""

from __future__ import annotations

import inspect

from brokertrial.ci.reference_pages import first_paragraph, table
from brokertrial.faults import kinds

TITLE = "Faults"
INTRODUCTION = (
    "What a schedule may do to a cluster: faults of messages, at the proxy, of processes, "
    "and of the network between nodes."
)


def page() -> str:
    """One table: the kind, its constructor, and what it does."""
    rows = [
        (f"`{name}`", _call(name), first_paragraph(kind.__doc__ or inspect.getmodule(kind).__doc__))
        for name, kind in sorted(kinds.all_kinds().items())
    ]
    return table(("kind", "in a case", "what it does"), rows)


def _call(kind: str) -> str:
    """The constructor that cases call, with its parameters."""
    name = kind.replace("-", "_")
    constructor = getattr(inspect.getmodule(kinds.kind_of(kind)), name, None)
    return f"`{name}({', '.join(inspect.signature(constructor).parameters)})`" if constructor else "-"
