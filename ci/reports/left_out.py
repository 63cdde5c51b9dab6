"""What a run left out, and by what its cases were chosen: one line a reason, however many cases it took away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from brokertrial.suites.events import LeftOut, RunStarted

NOT_SELECTED = "not selected"
CHOSEN = (NOT_SELECTED, "deselected")  # by the user, who knows


def chosen_by(run: RunStarted) -> str:
    """The profile; where cases were named, they ran whatever the profile, which is only the size of each."""
    if is_named(run):
        return f"named by --select, each as large as in profile {run.profile}"
    return f"profile {run.profile}"


def is_named(run: RunStarted) -> bool:
    """Whether the cases were named by --select."""
    return any(left.reason == NOT_SELECTED for left in run.left_out)


def by_reason(left_out: Iterable[LeftOut], named: int, without: Collection[str] = ()) -> Iterator[str]:
    """`736 cases: not in the smoke profile`; the names too, where they are no more than so many."""
    cases: dict[str, list[str]] = {}
    for left in left_out:
        cases.setdefault(left.reason, []).append(left.case)
    for reason, names in cases.items():
        if reason not in without:
            count = f"{len(names)} case{'s' * (len(names) > 1)}"
            yield f"{', '.join(names) if len(names) <= named else count}: {reason}"
