"""Prints the jars of a release that wire/schema_from_kafka.py reads.

python -m brokertrial.suites.targets.apache 4.4.0
"""

from __future__ import annotations

import re
import sys

from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.targets.apache.jars import fetched
from brokertrial.suites.targets.base import TargetProblem

DEFINING = r"(kafka-clients|kafka-group-coordinator|kafka-transaction-coordinator|slf4j-api)-\d[^/]*\.jar"
"""Requests and responses, what the internal topics hold, and what the class of the error codes needs."""


def main(arguments: list[str]) -> int:
    """Fetches the release if the cache has it not; its exit status."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return ExitStatus.USAGE
    try:
        release = fetched(arguments[0])
    except TargetProblem as problem:
        print(f"brokertrial: {problem}", file=sys.stderr)
        return problem.exit_status
    print(*(jar for jar in release.jars if re.fullmatch(DEFINING, jar.name)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
