"""Writes suites/running/healthy_times.json: how long each case takes on a healthy target, from full runs that passed.

    python -m bench.healthy_times RUN_FOLDER ...

Of each case the shortest time counts. A case that passed in none of these runs keeps the time that it had.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from brokertrial.suites.case import by_id
from brokertrial.suites.running.estimates import TIMES, measured, measured_in


def main(folders: list[str]) -> int:
    """Reads the runs and writes the file."""
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    found = measured_in([_times(Path(folder)) for folder in folders])
    kept = {case: seconds for case, seconds in measured().items() if case in by_id()}
    times = dict(sorted((kept | found).items()))
    TIMES.write_text(msgspec.json.format(msgspec.json.encode(times), indent=1).decode() + "\n", encoding="utf-8")
    print(f"{len(found)} cases measured, {sum(times.values()) / 60:.1f} min in all: {TIMES.name}")
    return 0


def _times(folder: Path) -> dict[str, float]:
    """Seconds of each case that passed at its first attempt."""
    times: dict[str, float] = {}
    for line in (folder / "results.jsonl").read_bytes().splitlines():
        result = msgspec.json.decode(line).get("result")
        if result and result["verdict"] == "pass" and len(result["attempts"]) == 1 and result["case"] in by_id():
            times[result["case"]] = result["duration_s"]
    return times


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
