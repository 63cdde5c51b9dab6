"""`example`, `example:3`: a broker that the suite starts; here it is the bundled one under another name."""

from pathlib import Path

from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.process import LaunchPlan
from brokertrial.suites.targets.processes import ProcessTarget, python
from brokertrial.wire.ports import free_ports


class Example(ProcessTarget):
    """One node. What is not said here (kill, pause, restart, logs, readiness) every process target has."""

    scheme = "example"
    summary = "one broker of the example package"
    examples = ("example",)

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self.capabilities = self.capabilities | {"version"}

    def version(self) -> str:
        return "1.0 of the example"

    def plans(self) -> dict[int, LaunchPlan]:
        (port,) = free_ports(1)
        data = str(self.data / "node-1")
        command = python("brokertrial.reference_impl", "node", "--data", data, "--port", str(port), "--node-id", "1")
        return {1: self.plan(1, command, ("127.0.0.1", port))}
