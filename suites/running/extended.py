"""What others contribute is loaded before anything is started, so that a broken contribution is one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from brokertrial import extensions
from brokertrial.suites.case import by_id
from brokertrial.suites.guarantees import UnknownGuarantee, guarantee


def load(folders: Sequence[str] = ()) -> dict[str, dict[str, list[str]]]:
    """What is contributed, by origin and group; raises BrokenExtension for the first that cannot be used."""
    extensions.use_folders(folders)
    groups = {group for group in extensions.GROUPS if extensions.sources(group)}
    if "cases" in groups:
        by_id()
    if "checks" in groups:
        _load_checks()
    if "faults" in groups:
        from brokertrial.faults.kinds import all_kinds

        all_kinds()
    if "targets" in groups:
        from brokertrial.suites.targets import known_targets

        known_targets()
    return extensions.contributed()


def _load_checks() -> None:
    from brokertrial.checkers.check import all_checks  # brings Arrow along: most commands need none

    for check in all_checks().values():
        try:
            guarantee(check.guarantee)
        except UnknownGuarantee as error:
            raise extensions.BrokenExtension(f"check {check.name!r}: {error}.") from error
