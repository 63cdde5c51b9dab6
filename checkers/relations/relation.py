"""A shared query and its name."""

from typing import NamedTuple


class Relation(NamedTuple):
    """A named query; `kept` ones are read by several checks and worth keeping in memory."""

    query: str
    kept: bool = False
