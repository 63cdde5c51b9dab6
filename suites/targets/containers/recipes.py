"""How a broker in a container is told its ports, its peers and its settings: by image.

An image says by the label `brokertrial.recipe` which of these it follows; others are taken for Apache Kafka's own,
which reads KAFKA_... from its environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brokertrial.suites.targets.apache import settings
from brokertrial.suites.targets.apache.settings import ClusterMember

RECIPE = "brokertrial.recipe"
"""The label that names one."""
RELEASE = "org.opencontainers.image.version"
"""The usual label for the release of what is inside."""
DATA = "/var/lib/brokertrial"
APACHE, REFERENCE = "apache-kafka", "bundled-broker"


@dataclass(frozen=True, slots=True)
class Told:
    """What one container is told."""

    environment: Mapping[str, str]
    command: Sequence[str] = ()


def apache_kafka(member: ClusterMember, members: list[ClusterMember], cluster: str, given: Sequence[str]) -> Told:
    """Every setting as a variable: `a.b-c_d` is KAFKA_A_B___C__D."""
    text = settings.text(member, members, DATA, given, static_quorum=True)
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    variables = {_variable(key): value for key, _, value in pairs}
    return Told({**variables, "CLUSTER_ID": cluster, "KAFKA_HEAP_OPTS": "-Xmx384m -Xms64m"})


def bundled_broker(node: int, port: int, controller: tuple[str, int] | None, given: Sequence[str]) -> Told:
    """The words that its process takes."""
    command = ["node", "--data", DATA, "--node-id", str(node), "--port", str(port)]
    command += ["--controller", "{}:{}".format(*controller)] if controller else []
    return Told({}, [*command, *(f"--set={each}" for each in given)])


def bundled_controller(port: int, given: Sequence[str]) -> Told:
    """The same of the controller of several."""
    return Told({}, ["controller", "--data", DATA, "--port", str(port), *(f"--set={each}" for each in given)])


def _variable(setting: str) -> str:
    return "KAFKA_" + setting.replace("_", "__").replace("-", "___").replace(".", "_").upper()
