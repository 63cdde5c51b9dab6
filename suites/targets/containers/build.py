"""Images that are made here, without a registry and without a base: of Apache Kafka's jars and a JDK, and of the
bundled broker."""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.targets.apache import jars, jvm
from brokertrial.suites.targets.apache.settings import LOG4J_2
from brokertrial.suites.targets.base import TargetNotAvailable
from brokertrial.suites.targets.containers.engine import calls, engine
from brokertrial.suites.targets.containers.recipes import APACHE, RECIPE, REFERENCE, RELEASE
from brokertrial.suites.targets.containers.root_files import RootFiles

KAFKA, BUNDLED = "brokertrial/kafka", "brokertrial/reference"
JLINK_WITHIN_S = 300
PYTHON_HOME = "/opt/brokertrial"
NEEDED = ("cramjam", "google-crc32c", "google-re2", "msgspec", "uvloop")
"""What the bundled broker imports, by the names of its packages."""

# As the official image does: the wrapper writes the settings from KAFKA_... and formats the storage, then Kafka runs.
RUN = """\
#!/bin/sh
set -e
FLAGS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
LOG=-Dlog4j2.configurationFile=/opt/kafka/config/log4j2.yaml
SAID=$(/opt/java/bin/java $FLAGS -cp "/opt/kafka/libs/*" kafka.docker.KafkaDockerWrapper setup \\
  --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config \\
  --final-configs-dir /opt/kafka/config 2>&1) || case "$SAID" in
  *"already formatted"*) ;;
  *) echo "$SAID"; exit 1 ;;
esac
exec /opt/java/bin/java $KAFKA_HEAP_OPTS $FLAGS $LOG \\
  -cp "/opt/kafka/libs/*" kafka.Kafka /opt/kafka/config/server.properties
"""
ALONE = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.dirs=/var/lib/brokertrial
"""


def kafka_image(version: str, name: str = "") -> str:
    """An image of a release from 4.0 on, with the environment of the official one; its name."""
    release = jars.fetched(version)
    if not release.has_log4j_2:
        raise TargetNotAvailable(
            f"images are made of Kafka 4.0 and newer, not of {version}: older ones log another way."
        )
    java = jvm.find("image build")

    def fill(files: RootFiles) -> None:
        with Scratch("jlink") as folder:
            runtime = _runtime(java, Path(folder) / "java")
            files.tree(runtime, "/opt/java", lambda path: path.parts[0] in ("jmods", "man", "legal", "include", "demo"))
        for jar in release.jars:
            files.file(jar, f"/opt/kafka/libs/{jar.name}")
        files.file(Path("/bin/sh"), "/bin/sh")
        for place in ("/opt/kafka/config", "/mnt/shared/config", "/var/lib/brokertrial"):
            files.folder(place)
        files.text("/opt/kafka/run", RUN, 0o755)
        files.text("/etc/kafka/docker/server.properties", ALONE)
        for of in ("log4j2.yaml", "tools-log4j2.yaml"):
            files.text(f"/etc/kafka/docker/{of}", LOG4J_2)

    labels = {RECIPE: APACHE, RELEASE: release.version}
    return _made(name or f"{KAFKA}:{release.version}", fill, ["/opt/kafka/run"], labels)


def bundled_image(name: str = "") -> str:
    """An image of the bundled broker of this installation; its name."""
    version = metadata.version("brokertrial")

    def fill(files: RootFiles) -> None:
        python, library = Path(sys.base_prefix), Path(sysconfig.get_path("stdlib"))
        files.file(Path(sys.executable).resolve())
        files.tree(library, leave_out=_not_needed)
        package = Path(__file__).parents[3]
        for source in sorted(package.glob("*.py")):
            files.file(source, f"{PYTHON_HOME}/brokertrial/{source.name}")
        for part in ("wire", "reference_impl"):
            files.tree(package / part, f"{PYTHON_HOME}/brokertrial/{part}", _not_needed)
        for needed in NEEDED:
            _distribution(files, needed)
        files.folder(str(python))

    command = [str(Path(sys.executable).resolve()), "-P", "-m", "brokertrial.reference_impl"]
    labels = {RECIPE: REFERENCE, RELEASE: version}
    return _made(name or f"{BUNDLED}:{version}", fill, command, labels, [f"ENV PYTHONPATH={PYTHON_HOME}"])


def _made(
    name: str,
    fill: Callable[[RootFiles], None],
    command: Sequence[str],
    labels: dict[str, str],
    more: Sequence[str] = (),
) -> str:
    if platform.system() != "Linux":
        raise TargetNotAvailable("images are made of the programs of this machine, which must run Linux.")
    client: Any = engine()
    repository, _, tag = name.partition(":")
    changes = [f"ENTRYPOINT [{', '.join(map(_quoted, command))}]", *more]
    changes += [f"LABEL {key}={_quoted(value)}" for key, value in labels.items()]
    with Scratch("image") as folder:
        archive = Path(folder) / "root.tar"
        with tarfile.open(archive, "w") as root:
            files = RootFiles(root)
            files.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
            files.text("/etc/group", "root:x:0:\n")
            files.folder("/tmp", 0o1777)
            files.folder("/root")
            fill(files)
        with calls(f"import the image {name}"):
            client.api.import_image(src=str(archive), repository=repository, tag=tag or "latest", changes=changes)
    with calls(f"find the image {name}"):
        client.images.get(name)
    return name


def _runtime(java: jvm.Java, place: Path) -> Path:
    """A Java that is no larger than it needs to be; that of the machine, where it brings no tool for that."""
    jlink = java.home / "bin" / "jlink"
    if not jlink.is_file() or not (java.home / "jmods").is_dir():
        return java.home
    modules = "java.se,jdk.unsupported,jdk.management,jdk.management.agent,jdk.security.auth,jdk.security.jgss"
    command = [str(jlink), "--add-modules", modules, "--strip-java-debug-attributes", "--no-man-pages"]
    done = subprocess.run(
        [*command, "--no-header-files", "--output", str(place)],
        capture_output=True,
        text=True,
        timeout=JLINK_WITHIN_S,
        stdin=subprocess.DEVNULL,
    )
    return place if done.returncode == 0 else java.home


def _not_needed(path: Path) -> bool:
    left_out = {"test", "tests", "site-packages", "idlelib", "tkinter", "ensurepip", "lib2to3", "__pycache__"}
    return bool(left_out.intersection(path.parts)) or path.parts[0].startswith("config-") or path.suffix == ".a"


def _distribution(files: RootFiles, name: str) -> None:
    """The files of an installed package."""
    try:
        listed = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        raise TargetNotAvailable(f"the bundled broker needs {name}, which is not installed.") from None
    for each in listed:
        source = Path(str(each.locate()))
        if ".." not in each.parts and source.is_file() and source.suffix != ".pyc":
            files.file(source, f"{PYTHON_HOME}/{each}")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
