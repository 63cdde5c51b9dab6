"""Jepsen's definitions as loops over lists."""

from checkers.naive import Oracle

ORACLES: dict[str, Oracle] = {}
