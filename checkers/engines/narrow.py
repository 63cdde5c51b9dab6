"""Large histories: a search in whole logs becomes the same search around what is suspicious."""

from dataclasses import replace

from brokertrial.checkers.check import Check

NARROWED = {"appends", "ends", "sights"}


def narrowed(check: Check) -> Check:
    """The check, with the projections of a search in logs cut down to what can matter (relations/suspicion.py)."""
    if not check.projections.keys() >= NARROWED:
        return check
    queries = {name: _near(query) if name in NARROWED else query for name, query in check.projections.items()}
    return replace(check, projections=queries)


def _near(query: str) -> str:
    return f"""
        SELECT q.* FROM ({query}) q JOIN log_suspects s ON s.log = q.log
        WHERE q.low >= s.lowest AND (q.low <= s.highest OR q.call_ns <= s.last_call)
        """
