"""badge.svg: the badge as a picture, for a wiki or a page that may not ask shields.io."""

from __future__ import annotations

from brokertrial.ci.gate.files.badge import LABEL, shown
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports.report import environment

NAME = "badge.svg"
COLORS = {
    "brightgreen": "#2c7a1f",
    "yellowgreen": "#5b7300",
    "yellow": "#8a6100",
    "red": "#b3261e",
    "lightgrey": "#666666",
}
"""Dark enough for white text (WCAG, contrast of 4.5 to 1)."""
CHARACTER, PADDING = 6.6, 10
"""Pixels: of a character at 11 px, and on both sides of a text together."""


def render(gated: Gated) -> str:
    """One picture."""
    message, color = shown(gated)
    left, right = (round(len(text) * CHARACTER) + PADDING for text in (LABEL, message))
    return environment().get_template("badge.svg.j2").render(
        label=LABEL, message=message, color=COLORS[color], left=left, right=right
    )  # fmt: skip
