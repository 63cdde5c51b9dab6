"""What a case may need, and what a target states."""

from __future__ import annotations

from brokertrial.ci.reference_pages import table
from brokertrial.suites.capabilities import CAPABILITIES

TITLE = "Capabilities"
INTRODUCTION = "The words of `needs=` in a case and of the capabilities of a target; `doctor --target` tries them."


def page() -> str:
    """One table: the word, what a case asks for by it, what a target states by it."""
    rows = [
        (f"`{name}`", capability.need, capability.stated or found_out(name))
        for name, capability in CAPABILITIES.items()
    ]
    return table(("word", "a case needs", "a target states"), rows)


def found_out(name: str) -> str:
    """How a run knows of what no target states."""
    return "(CreateTopics is offered)" if CAPABILITIES[name].by_request else "(seen by the run)"
