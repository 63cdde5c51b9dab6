"""Data folders that a Kafka accepts as its own, and the class archive that halves its start."""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from brokertrial.suites.targets import readiness, reaper
from brokertrial.suites.targets.apache import settings
from brokertrial.suites.targets.apache.jars import KafkaRelease
from brokertrial.suites.targets.apache.jvm import FLAGS, Java
from brokertrial.suites.targets.apache.settings import ClusterMember
from brokertrial.suites.targets.base import TargetNotReady
from brokertrial.wire.ports import free_ports

_FORMAT_WITHIN_S = 120
_ARCHIVES_KEPT = 12


def folder(data: Path, member: ClusterMember) -> Path:
    """Where this node's settings and log folder are."""
    return data / f"node-{member.node_id}"


def logging_flags(release: KafkaRelease, workdir: Path) -> list[str]:
    """JVM flags that send the log to stdout, whichever logger the release has. Absolute: a node has its own folder."""
    old = not release.has_log4j_2
    workdir.mkdir(parents=True, exist_ok=True)
    path = workdir.resolve() / ("log4j.properties" if old else "log4j2.yaml")
    path.write_text(settings.LOG4J_1 if old else settings.LOG4J_2)
    return [f"-Dlog4j.configuration=file:{path}" if old else f"-Dlog4j2.configurationFile={path}"]


def format_all(
    run: list[str], release: KafkaRelease, members: list[ClusterMember], data: Path, given: Sequence[str] = ()
) -> None:
    """Writes settings and formats the storage of every node; `run` is java with its class path.

    One JVM formats the first node of those with the same roles; the others get a copy with their own ids: what else is
    in it (the level of the metadata and, in a dynamic quorum, the voters) is the same everywhere.
    """
    cluster, static = new_uuid(), not release.has_dynamic_quorum
    directories = {member.node_id: new_uuid() for member in members}
    for member in members:
        place = folder(data, member)
        place.mkdir(parents=True)
        text = settings.text(member, members, str(place / "log"), given, static_quorum=static)
        (place / "server.properties").write_text(text)
    controllers = [member for member in members if member.controller_port]
    voters = ",".join(f"{m.node_id}@{m.host}:{m.controller_port}:{directories[m.node_id]}" for m in controllers)
    for alike in (controllers, [member for member in members if not member.controller_port]):
        if alike:
            place = folder(data, alike[0])
            command = [*run, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(place / "server.properties")]
            _format([*command, "-I", voters] if alike is controllers and not static else command)
            _copy_storage(data, alike, directories)


def _copy_storage(data: Path, members: list[ClusterMember], directories: Mapping[int, str]) -> None:
    """The first one's, to the others."""
    for member in members[1:]:
        log = folder(data, member) / "log"
        shutil.copytree(folder(data, members[0]) / "log", log)
        identity = log / "meta.properties"
        identity.write_text(as_its_own(identity.read_text(), member.node_id, directories[member.node_id]))


def write_broker_settings(members: list[ClusterMember], data: Path, connect: str, given: Sequence[str] = ()) -> None:
    """The settings of every broker of a cluster with a ZooKeeper, which needs no formatted storage."""
    for member in members:
        place = folder(data, member)
        place.mkdir(parents=True)
        text = settings.zookeeper_text(member, len(members), str(place / "log"), connect, given)
        (place / "server.properties").write_text(text)


def as_its_own(identity: str, node_id: int, directory_id: str) -> str:
    """The copied identity of a log folder as this node's own. Before 3.7 a folder has no id (KIP-858)."""
    named = re.sub(r"(?m)^node\.id=.*$", f"node.id={node_id}", identity)
    return re.sub(r"(?m)^directory\.id=.*$", f"directory.id={directory_id}", named)


def archived(java: Java, release: KafkaRelease) -> Path:
    """The class archive, made now if this JVM has not yet run these jars. Without it a start just takes longer."""
    archive = java.archive(release)
    if not archive.is_file() and release.runs_kraft:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".making-") as scratch:
            made = Path(scratch) / archive.name
            _train(java, release, Path(scratch), made)
            if made.is_file():
                made.replace(archive)
                _keep_the_newest(archive.parent)
    return archive


def _keep_the_newest(folder: Path) -> None:
    """Archives are 50 MB each, and every JVM, release and place of an unpacked Kafka has its own."""
    by_age = sorted(folder.glob("*.archive"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_age[_ARCHIVES_KEPT:]:
        old.unlink(missing_ok=True)  # a JVM that has it open keeps it


def _train(java: Java, release: KafkaRelease, scratch: Path, made: Path) -> None:
    """Starts one node, waits until it serves, and stops it: the JVM writes the archive at its end."""
    if not (flags := java.train(made)):
        return
    port, controller_port = free_ports(2)
    member = ClusterMember(1, port, controller_port)
    run = [str(java.path), *FLAGS]
    rest = [*logging_flags(release, scratch), "-cp", release.class_path]
    format_all([*run, *rest], release, [member], scratch / "data")
    log = scratch / "log"
    with log.open("wb") as out:
        command = [*run, *flags, *rest, "kafka.Kafka", str(folder(scratch / "data", member) / "server.properties")]
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    reaper.watch(process.pid)
    try:
        _until_started(process, member.port)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    except (TargetNotReady, subprocess.TimeoutExpired):
        return
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reaper.forget(process.pid)


def _until_started(process: subprocess.Popen[bytes], port: int) -> None:
    def must_run() -> None:
        if process.poll() is not None:
            raise TargetNotReady("the run that makes the class archive ended early")

    what = "the run that makes the class archive did not serve"
    readiness.wait_until(what, lambda: readiness.ask(("127.0.0.1", port)), 60, must_run)


def _format(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FORMAT_WITHIN_S, start_new_session=True)
    except subprocess.TimeoutExpired as error:
        raise TargetNotReady(f"Kafka's storage was not formatted within {_FORMAT_WITHIN_S} s") from error
    if done.returncode:
        lines = tuple((done.stdout + done.stderr).splitlines()[-20:])
        raise TargetNotReady("Kafka's storage could not be formatted", last_lines=lines)


def new_uuid() -> str:
    """A new id of a cluster or a folder, as Kafka writes it; none that begins with a dash, as options do."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
