"""Every ability that a target may state, tried once on the running target: works, does not work, not stated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from suites.targets import CAPABILITIES, Target, TargetProblem
from wire.client import Connection
from wire.messages import request

Trial = Callable[[Target], str]


@dataclass(frozen=True)
class Ability:
    """What came of trying one ability."""

    name: str
    outcome: str
    detail: str = ""


class DoesNot(Exception):
    """The ability was tried and did not do what its name says."""


def try_all(target: Target) -> Iterator[Ability]:
    """Tries every ability of the target, one after the other; the target is brought back after each."""
    for name, meaning in CAPABILITIES.items():
        if name not in target.capabilities:
            yield Ability(name, "not stated", meaning)
            continue
        trial = TRIALS.get(name)
        if trial is None:
            yield Ability(name, "stated", meaning)
            continue
        try:
            yield Ability(name, "works", trial(target))
        except (DoesNot, TargetProblem, OSError) as problem:
            yield Ability(name, "does not work", str(problem))
        if not target.alive():
            target.recover()


def _kill(target: Target) -> str:
    return _gone(target, "kill")


def _terminate(target: Target) -> str:
    return _gone(target, "terminate")


def _gone(target: Target, how: str) -> str:
    node_id, victim = _victim(target)
    getattr(victim, how)()
    if victim.alive():
        raise DoesNot(f"node {node_id} is still alive after {how}")
    return f"node {node_id} is gone"


def _restart(target: Target) -> str:
    node_id, victim = _victim(target)
    if victim.alive():
        (victim.kill if "kill" in target.capabilities else victim.terminate)()
    began = time.monotonic()
    victim.restart()
    if not victim.alive():
        raise DoesNot(f"node {node_id} is not alive after restart")
    return f"node {node_id} serves again after {time.monotonic() - began:.1f} s"


def _pause(target: Target) -> str:
    node_id, victim = _victim(target)
    victim.pause()
    try:
        if not victim.paused():
            raise DoesNot(f"node {node_id} says that it is not paused")
        if _answers(victim.address, 1.0):
            raise DoesNot(f"node {node_id} still answers while it is paused")
    finally:
        victim.resume()
    if not _answers(victim.address, 10.0):
        raise DoesNot(f"node {node_id} does not answer 10 s after resume")
    return f"node {node_id} was silent, then answered again"


def _nodes(target: Target) -> str:
    if len(target.nodes) < 2:
        raise DoesNot(f"it has {len(target.nodes)} nodes that can be told apart")
    return f"ids {', '.join(map(str, sorted(target.nodes)))}"


def _logs(target: Target) -> str:
    lines = target.log_lines(0, time.monotonic_ns())
    if not lines:
        raise DoesNot("no log line was seen since it was started")
    return f"{len(lines)} lines so far"


def _version(target: Target) -> str:
    version = target.version()
    if not version or version == "not stated":
        raise DoesNot("it does not say which version it is")
    return version


def _create_topics(target: Target) -> str:
    host, _, port = target.bootstrap.split(",")[0].rpartition(":")
    topic = {"name": f"brokertrial-doctor-{time.time_ns()}", "num_partitions": 1, "replication_factor": 1}
    connection = Connection(host, int(port), client_id="brokertrial-doctor", timeout_s=15)
    try:
        answer = connection.call(request("CreateTopics", topics=[topic], timeout_ms=10_000))
        created = answer.topics[0]
        if created.error_code not in (0, 36):
            raise DoesNot(f"CreateTopics answered error {created.error_code}")
        connection.call(request("DeleteTopics", topics=[{"name": topic["name"]}], topic_names=[], timeout_ms=10_000))
    finally:
        connection.close()
    return "a topic was made and deleted"


def _victim(target: Target) -> tuple[int, Any]:
    if not target.nodes:
        raise DoesNot("it has no node that can be hurt")
    node_id = min(target.nodes)
    return node_id, target.nodes[node_id]


def _answers(address: tuple[str, int], timeout_s: float) -> bool:
    """Whether ApiVersions is answered."""
    try:
        connection = Connection(*address, client_id="brokertrial-doctor", timeout_s=timeout_s)
    except OSError:
        return False
    try:
        connection.call(request("ApiVersions"), version=0, timeout_s=timeout_s)
    except OSError:
        return False
    finally:
        connection.close()
    return True


TRIALS: dict[str, Trial] = {
    "kill": _kill,
    "terminate": _terminate,
    "pause": _pause,
    "restart": _restart,
    "nodes": _nodes,
    "create_topics": _create_topics,
    "logs": _logs,
    "version": _version,
}
