"""The anomalies of Jepsen's Kafka workload under its own names, one file each, shaped as checkers/check.py says.

They judge a partition by the order of its values alone (checkers/relations/versions.py), so that a history needs no
streams and no start positions. Each judges histories of other harnesses; our own are judged by checkers/checks, which
know more. A row is `judged` 0 where the settings of the clients permit what it shows.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from sys import modules

from brokertrial.checkers.check import Check, checks_in


@cache
def jepsen_checks() -> Mapping[str, Check]:
    """Every check of this folder as `jepsen/NAME`, apart from the checks of the same name in checkers/checks."""
    found = checks_in(modules[__name__])
    return {name: replace(check, name=f"jepsen/{name}") for name, check in found.items()}
