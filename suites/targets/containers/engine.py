"""The container engine of this machine, and what runs that were killed have left there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Before the import: the reaper container of testcontainers has to be pulled, and needs mapped ports. We have our own.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")

import docker
import docker.errors
import requests

from brokertrial.faults.owners import is_orphan
from brokertrial.suites.targets.base import TargetNotAvailable, TargetNotReady

LABEL = "brokertrial.owner"
"""On every container of ours: who made it (faults/owners.py)."""
CALL_WITHIN_S = 60
PROBLEMS = (docker.errors.DockerException, requests.RequestException)
TAKES = "it takes a container engine with Docker's API on this machine (docker.io, or podman's socket), see DOCKER_HOST"


def engine() -> Any:
    """A client of the engine that DOCKER_HOST names, or of the usual one; TargetNotAvailable where none answers."""
    try:
        client = docker.from_env(timeout=CALL_WITHIN_S)
        client.ping()
    except PROBLEMS as problem:
        raise TargetNotAvailable(f"no container engine answers: {_brief(problem)}", hint=TAKES) from problem
    return client


def answers() -> bool:
    """Whether there is an engine."""
    try:
        engine().close()
    except TargetNotAvailable:
        return False
    return True


@contextmanager
def calls(what: str) -> Iterator[None]:
    """What the engine refuses, or does not do in time, is a TargetNotReady that says what was asked."""
    try:
        yield
    except PROBLEMS as problem:
        raise TargetNotReady(f"the container engine could not {what}: {_brief(problem)}") from problem


def must_have(client: Any, image: str) -> Any:
    """The image, pulled if it is not here; TargetNotAvailable where that fails."""
    try:
        return client.images.get(image)
    except docker.errors.ImageNotFound:
        pass
    except PROBLEMS as problem:
        raise TargetNotAvailable(f"the container engine could not look for {image}: {_brief(problem)}") from problem
    try:
        return client.images.pull(image)
    except PROBLEMS as problem:
        raise TargetNotAvailable(
            f"the image {image} is not here, and cannot be pulled: {_brief(problem)}",
            hint="`brokertrial image build` makes one of Apache Kafka, and one of the bundled broker.",
        ) from problem


def remove(client: Any, whose: Callable[[str], bool]) -> list[str]:
    """Removes the containers of ours whose owner the question names; the names of those that are gone."""
    gone = []
    for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
        if whose(container.labels.get(LABEL, "")):
            try:
                container.remove(force=True, v=True)
            except docker.errors.NotFound:
                continue  # another run was faster
            gone.append(str(container.name))
    return gone


def left_behind(client: Any) -> list[str]:
    """The names of containers whose process is gone."""
    containers = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [str(each.name) for each in containers if is_orphan(each.labels.get(LABEL, ""))]


def _brief(problem: Exception) -> str:
    explanation = getattr(problem, "explanation", None)
    said = explanation if isinstance(explanation, str) and explanation else str(problem)
    return said.splitlines()[0][:300] if said else type(problem).__name__
