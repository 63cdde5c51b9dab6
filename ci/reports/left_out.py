"""What a run left out, by reason: one line a reason, however many cases it took away."""

from __future__ import annotations

CHOSEN = ("not selected", "deselected")  # by the user, who knows
