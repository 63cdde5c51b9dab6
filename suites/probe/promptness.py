"""How long is too long: limits follow the latency of the target, measured anew for each case, but only up to a cap.

    latency      at once means      slack on a limit   patience with an answer
       1 ms      2 s                2 s                20 s
     300 ms      3 s                5 s                20 s
       1 s      10 s               12 s                60 s
       8 s      10 s, see below    12 s               120 s

Above the cap a demand on time that is not met is inconclusive (`slow-target`): the target is slow in everything, or it
was slow while it was measured. Patience goes on growing, up to a bound: a slow target is not accused of silence.
"""

from __future__ import annotations

CAP_MS = 1_000.0
LEAST_S = 2.0
TIMES = 10
LONGEST_PATIENCE_S = 120.0
SLOW = "slow-target"


def is_slow(latency_ms: float) -> bool:
    """Whether demands on time are not judged on a target that takes so long for an acknowledgement."""
    return latency_ms > CAP_MS


def counted_ms(latency_ms: float) -> float:
    """The latency that limits follow."""
    return min(latency_ms, CAP_MS)


def slack_s(latency_ms: float) -> float:
    """What to add to an upper bound on time: a busy machine and a target that takes its time are not a fault."""
    return LEAST_S + TIMES * counted_ms(latency_ms) / 1000


def promptness_s(latency_ms: float, asked_s: float = 0.0, hidden_s: float | None = None) -> float:
    """What "at once" and "as soon as" mean: what was asked for, and the greater of 2 s and 10 times the latency.

    `hidden_s` is the wait that would hide a failure: the limit is never more than half of it.
    """
    limit_s = asked_s + max(LEAST_S, TIMES * counted_ms(latency_ms) / 1000)
    return limit_s if hidden_s is None else min(limit_s, hidden_s / 2)


def patience_s(latency_ms: float) -> float:
    """How long an answer may take, besides what the request itself may wait for."""
    return min(max(20.0, 60 * latency_ms / 1000), LONGEST_PATIENCE_S)


def said_of(latency_ms: float) -> str:
    """The sentence on a slow target, said once in a run."""
    return (
        f"an acknowledgement takes {latency_ms:.0f} ms here, more than {CAP_MS:.0f} ms: "
        "demands on time that are not met are inconclusive (slow-target)"
    )
