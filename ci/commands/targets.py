"""`brokertrial targets`: what --target takes, and a commented file for `file:`."""

from __future__ import annotations

from brokertrial.extensions import origin
from brokertrial.suites.targets import known_targets
from brokertrial.suites.targets.file import example

CONTINUED = " " * 13


def list_page() -> str:
    """Every kind of target with its examples and options."""
    lines = []
    for scheme, kind in known_targets().items():
        place = origin("targets", scheme)
        lines.append(f"{scheme:<12} {kind.summary}{f' (from {place})' if place else ''}")
        lines.append(f"{CONTINUED}for example  {'   '.join(kind.examples)}")
        lines += [f"{CONTINUED}?{option}=  {meaning}" for option, meaning in kind.options.items()]
        lines.append("")
    lines.append("`brokertrial targets --example > broker.toml` writes a commented file for `file:broker.toml`;")
    lines.append("`brokertrial doctor --target file:broker.toml` starts it once and tries every ability.\n")
    return "\n".join(lines)


def example_page() -> str:
    """A broker.toml to start from."""
    return example()
