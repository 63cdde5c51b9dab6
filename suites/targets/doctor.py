"""What a target can do, found out by starting it once and trying; and what this machine can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.owners import is_orphan
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.capabilities import CAPABILITIES
from brokertrial.suites.probe import naming
from brokertrial.suites.running.support import TargetSupport, broken_claims
from brokertrial.suites.targets import Target, TargetProblem, open_target, readiness
from brokertrial.suites.targets.apache import jvm
from brokertrial.suites.targets.effects import ActWithoutEffect, checked
from brokertrial.suites.targets.network.abilities import tried
from brokertrial.suites.targets.processes import ProcessTarget
from brokertrial.wire.addresses import all_parsed

AbilityState = Literal["works", "does not", "not stated", "silent"]


@dataclass(frozen=True, slots=True)
class Ability:
    """One ability of a target or a machine, and what was seen of it."""

    ability: str
    state: AbilityState
    detail: str


def examine(text: str) -> list[Ability]:
    """Starts the target once, in a folder of its own, tries every ability, and stops it. Nothing is left behind.

    A target that cannot be started is a finding too, never an exception.
    """
    with Scratch("doctor") as folder:
        try:
            target = open_target(text, Path(folder))
        except TargetProblem as problem:
            return [Ability("target string", "does not", str(problem))]
        begun = time.monotonic()
        try:
            target.start()
        except TargetProblem as problem:
            return [Ability("start", "does not", str(problem))]
        try:
            took = time.monotonic() - begun
            return [Ability("start", "works", f"every node served after {took:.1f} s"), *_examined(target)]
        finally:
            target.stop()


def _examined(target: Target) -> list[Ability]:
    found = [_version(target), _metadata(target), _topic(target), _logs(target)]
    node_controls = list(checked(target.nodes).values())
    node_control = node_controls[-1] if node_controls else None
    for ability, attempt in _ATTEMPTS.items():
        if ability not in target.capabilities:
            found.append(
                Ability(ability, "not stated", f"cases that need {CAPABILITIES[ability].need} are not applicable")
            )
        elif node_control is None:
            found.append(Ability(ability, "does not", "there is no node that could be acted on alone"))
        else:
            found.append(_tried(ability, lambda act=attempt, node=node_control: act(node)))  # type: ignore[misc]
            if found[-1].state == "does not":
                _bring_back(target)
    found.append(_claims(target))
    found.append(_tried("stop", lambda: _stop(target)))
    return found


def _version(target: Target) -> Ability:
    try:
        said = target.version()
    except TargetProblem as problem:
        return Ability("version", "does not", str(problem))
    return Ability("version", "not stated" if said.startswith("not stated") else "works", said)


def _metadata(target: Target) -> Ability:
    def ask() -> str:
        brokers = sorted(readiness.ask(all_parsed(target.bootstrap)[0]).brokers.items())
        return "Metadata names " + ", ".join(f"{node} at {host}:{port}" for node, (host, port) in brokers)

    return _tried("ready", ask)


def _topic(target: Target) -> Ability:
    if "create_topics" not in target.capabilities:
        return Ability("create topics", "not stated", "topics appear on use; cases that need settings do not apply")
    name = naming.name(next(iter(naming.prefixes(os.urandom(8).hex()))), "", "doctor")
    return _tried("create topics", lambda: readiness.make_and_remove_topic(all_parsed(target.bootstrap), name))


def _logs(target: Target) -> Ability:
    if "logs" not in target.capabilities:
        return Ability("logs", "not stated", "failures are shown without the broker's own log lines")
    stated = target.stated_logs if isinstance(target, ProcessTarget) else ()
    if missing := [str(path) for path in stated if not path.is_file()]:
        return Ability("logs", "does not", f"stated, and not there: {', '.join(missing)}")
    if lines := len(target.log_lines(0, time.monotonic_ns())):
        return Ability("logs", "works", f"{lines} line{'s' * (lines > 1)} since the start")
    return Ability("logs", "silent", "no line since the start; what the broker prints is kept")


def _claims(target: Target) -> Ability:
    """What is claimed is looked for in ApiVersions, as a run does before its first case."""
    yes = sorted(feature for feature, has in target.claims.items() if has)
    if not yes:
        return Ability("claims", "not stated", "what is missing never fails")

    def look() -> str:
        seen = readiness.ask(all_parsed(target.bootstrap)[0])
        offer = TargetSupport(dict(seen.offered), dict(seen.features), target.capabilities, len(seen.brokers))
        broken = broken_claims(target.claims, offer)
        _must(not broken, "; ".join(f"{feature}: {why}" for feature, why in broken.items()))
        return ", ".join(yes)

    return _tried("claims", look)


def _kill(node_control: NodeControl) -> str:
    node_control.kill()
    _must(not node_control.alive(), "it still answers after the kill")
    node_control.restart()
    return f"node {node_control.node_id} was killed and came back on its port"


def _terminate(node_control: NodeControl) -> str:
    begun = time.monotonic()
    node_control.terminate()
    took = time.monotonic() - begun
    asked = getattr(node_control, "ended_when_asked", None)
    node_control.restart()
    _must(asked is not False, f"it did not stop by itself within {took:.1f} s and was killed")
    return f"node {node_control.node_id} stopped by itself after {took:.1f} s"


def _restart(node_control: NodeControl) -> str:
    begun = time.monotonic()
    node_control.restart()
    return f"node {node_control.node_id} was stopped and served again after {time.monotonic() - begun:.1f} s"


def _pause(node_control: NodeControl) -> str:
    try:
        node_control.pause()
    finally:
        node_control.resume()
    what = "it did not answer after it was resumed"
    readiness.wait_until(what, lambda: readiness.ask(node_control.address), 30, lambda: None)
    return f"node {node_control.node_id} was silent while paused and answered again after"


def _stop(target: Target) -> str:
    places = [node_control.address for node_control in target.nodes.values()]
    target.stop()
    for place in places if "started" in target.capabilities else ():
        try:
            readiness.ask(place, timeout_s=1.0)
        except readiness.NotYet:
            continue
        raise TargetProblem(f"{place[0]}:{place[1]} still answers after the stop")
    return "everything that was started has ended"


_ATTEMPTS: dict[str, Callable[[NodeControl], str]] = {
    "kill": _kill,
    "terminate": _terminate,
    "restart": _restart,
    "pause": _pause,
}


def _tried(ability: str, attempt: Callable[[], str]) -> Ability:
    try:
        return Ability(ability, "works", attempt())
    except (TargetProblem, ActWithoutEffect, readiness.NotYet, OSError, subprocess.SubprocessError) as problem:
        return Ability(ability, "does not", str(problem))


def _bring_back(target: Target) -> None:
    try:
        target.recover()
    except TargetProblem:
        return  # the next attempts will say the same


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise TargetProblem(otherwise)


def machine(toxiproxy: str | None = None) -> list[Ability]:
    """What this machine can do, and what each missing thing costs. `toxiproxy`: the address of one that runs."""
    return [
        Ability("Python", "works", f"{sys.version.split()[0]} on {sys.platform}"),
        _java(),
        _program("Maven", "mvn", "--version", "`kafka:VERSION` cannot fetch jars; what is cached still runs"),
        _program("Go", "go", "version", "Porcupine, the second engine for linearizability, and Toxiproxy are left out"),
        _containers(),
        _toxiproxy(toxiproxy),
        *_network(),
        _processors(),
    ]


def _java() -> Ability:
    try:
        java = jvm.find("kafka:")
    except TargetProblem as problem:
        return Ability("Java", "does not", problem.sentence + " `kafka:` targets cannot be started.")
    return Ability("Java", "works", f"{java.version} at {java.path}")


def _program(name: str, command: str, asked: str, cost: str) -> Ability:
    if (path := shutil.which(command)) is None:
        return Ability(name, "does not", f"`{command}` is not on the PATH: {cost}")
    said = _said([path, asked])
    return Ability(name, "works" if said else "does not", said or f"`{command} {asked}` fails: {cost}")


def _containers() -> Ability:
    from brokertrial.suites.targets.containers import engine  # loads its client library

    cost = "targets in containers cannot be tried; nothing else needs it"
    try:
        client = engine.engine()
        version, left = client.version().get("Version", "not stated"), engine.left_behind(client)
    except (TargetProblem, *engine.PROBLEMS) as problem:
        said = problem.said.replace("\n ", ";") if isinstance(problem, TargetProblem) else str(problem)
        return Ability("containers", "does not", f"{said}; {cost}")
    more = f"; {len(left)} containers of processes that were killed: doctor --clean" if left else ""
    return Ability("containers", "works", f"engine {version}{more}")


def remove_containers() -> list[str]:
    """Removes the containers of processes that were killed; their names. None where no engine answers."""
    from brokertrial.suites.targets.containers import engine

    try:
        return engine.remove(engine.engine(), is_orphan)
    except (TargetProblem, *engine.PROBLEMS):
        return []


def _toxiproxy(address: str | None) -> Ability:
    from brokertrial.suites.toxiproxy import ability  # loads its client library

    works, detail = ability.tried(address)
    states: dict[bool | None, AbilityState] = {True: "works", False: "does not", None: "not stated"}
    return Ability("Toxiproxy", states[works], detail)


def _network() -> list[Ability]:
    """The faults between nodes, each tried for real."""
    return [
        Ability(
            f"network: {one.name}",
            "does not" if one.problem else "works",
            f"{one.problem}; it takes {one.needs}" if one.problem else "tried",
        )
        for one in tried()
    ]


def _processors() -> Ability:
    count = os.cpu_count() or 1
    enough: AbilityState = "works" if count >= 2 else "does not"
    return Ability("processors", enough, f"{count}; below 2 the limits on time are easily missed")


def _said(command: list[str]) -> str:
    """The first line that a command prints; empty if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return lines[0] if lines and done.returncode == 0 else ""
