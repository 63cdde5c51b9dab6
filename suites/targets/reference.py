"""`reference`: the bundled broker, one node, as a process of its own; with a planted bug where one is named."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from suites.targets.address import Address, nearest
from suites.targets.base import FEATURES, TargetNotAvailable, TargetNotBuilt, UnknownTarget
from suites.targets.ports import free_ports
from suites.targets.process import Plan
from suites.targets.processes import ProcessTarget, python

_NOT_YET = frozenset({"share-groups"})


class Reference(ProcessTarget):
    """Ready within a second. Its claims never shrink: a broker without EndTxn still claims transactions, and fails."""

    scheme = "reference"
    summary = "the bundled broker, also with one planted bug"
    examples = ("reference", "reference?mutant=M05", "reference?without=EndTxn")
    options: ClassVar[Mapping[str, str]] = {
        "mutant": "a planted bug, such as M05 or M05:every=3",
        "without": "APIs that it shall not offer, separated by commas",
        "emulate": "the Kafka release whose features it offers, such as 3.9",
        "set": "a broker setting, such as message.max.bytes=2000 (several: separated by commas)",
    }

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        if address.where not in ("", "1"):
            if address.where.isdecimal():
                raise TargetNotBuilt(f"{address.text}: a reference cluster is not built yet; `reference` has one node.")
            raise UnknownTarget(f"{address.text}: after `reference:` stands a number of nodes, not `{address.where}`.")
        self._options = address.options
        self.capabilities = self.capabilities | {"version"}

    @property
    def claims(self) -> dict[str, bool]:
        return {feature: feature not in _NOT_YET for feature in FEATURES}

    def version(self) -> str:
        try:
            return metadata.version("brokertrial")
        except metadata.PackageNotFoundError:
            return "not stated"

    def plans(self) -> dict[int, Plan]:
        if importlib.util.find_spec("reference_impl") is None:
            raise TargetNotAvailable("reference needs the bundled broker, and this installation has none.")
        if mutant := self._options.get("mutant"):
            _must_be_planted(mutant)
        port = free_ports(1)[0]
        data = self.data / "node-1"
        command = python("reference_impl", "node", "--data", str(data), "--port", str(port), "--node-id", "1")
        for option in ("mutant", "without", "emulate"):
            if option in self._options:
                command += [f"--{option}", self._options[option]]
        for setting in self._options["set"].split(",") if "set" in self._options else ():
            command += ["--set", setting]
        return {1: self.plan(1, command, ("127.0.0.1", port))}


def mutants() -> dict[str, str]:
    """The planted bugs by id, each with its sentence, as the broker itself lists them."""
    listed = subprocess.run(
        python("reference_impl", "mutants", "--json"), capture_output=True, text=True, timeout=60, check=True
    )
    said = json.loads(listed.stdout)
    return {str(each["id"]): str(each["story"]) for each in said}


def _must_be_planted(mutant: str) -> None:
    """A misspelt bug must not be a clean broker: refused, with the nearest names."""
    try:
        known = mutants()
    except (subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return  # the node itself refuses what it does not know
    name = mutant.partition(":")[0]
    if name not in known:
        raise UnknownTarget(f"`{name}` is no planted bug of the bundled broker.", hint=nearest(name, known))
