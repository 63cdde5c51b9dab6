"""Removes what is ours from a cluster: by the names that a case made, or everything with the run's prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from suites.probe.conditions import Scene
from suites.probe.exchanger import LiveExchanger
from suites.probe.failures import CannotConnect, NoAnswer
from suites.probe.wire import Wire
from suites.targets.address import reached
from wire import errors
from wire.messages import request

LEAVES = -1  # the epoch of a member that leaves (KIP-848)
OURS = "ours.json"
HURRIED_S = 3.0


class Ours(msgspec.Struct, frozen=True):
    """Kept in the run folder: by which names a run is known on its cluster, and where that is."""

    prefix: str
    bootstrap: str
    reach: dict[str, str] = {}


class Janitor(Wire):
    """A probe that clears away. `hurried`, as after Ctrl-C, it waits a few seconds for each answer and no longer."""

    hurried = False

    @property
    def patience_s(self) -> float:
        return HURRIED_S if self.hurried else super().patience_s


def forget(wire: Wire) -> None:
    """Deletes the topics and groups that a probe made; what cannot be deleted now is left to the end of the run.

    A broker that is silent is not asked again: each of a dozen groups would wait for as long as the first.
    """
    topics, groups = list(dict.fromkeys(wire.made_topics)), list(dict.fromkeys(wire.made_groups))
    deletions = [partial(_remove_topics, wire, topics)] if topics else []
    deletions += [partial(_remove_group, wire, group) for group in groups]
    all(_answered(delete) for delete in deletions)  # up to the first that meets silence
    wire.made_topics.clear()
    wire.made_groups.clear()


def _remove_topics(wire: Wire, topics: Sequence[str]) -> None:
    if wire.versions("DeleteTopics"):
        wire.delete_topic(*topics).error  # noqa: B018 - looked at, so settled


def _remove_group(wire: Wire, group: str) -> None:
    """Deletes a group, even one whose members have not been given up yet: they are told to leave."""
    if not wire.versions("DeleteGroups"):
        return
    if wire.delete_groups(group, retry=False).error != errors.NON_EMPTY_GROUP:
        return
    for member in wire.describe_group(group).struct.groups[0].members:
        if member.group_instance_id:
            wire.leave_group(group, instance_ids=[member.group_instance_id]).error  # noqa: B018 - as above
        else:
            wire.leave_group(group, member.member_id).error  # noqa: B018
    if wire.versions("ConsumerGroupDescribe"):
        described = wire.ask(request("ConsumerGroupDescribe", group_ids=[group]), to=wire.coordinator(group))
        for member in described.struct.groups[0].members:
            wire.consumer_group_heartbeat(group, member.member_id, LEAVES).error  # noqa: B018
    wire.delete_groups(group, retry=False).error  # noqa: B018


def clean(wire: Wire, prefix: str) -> tuple[list[str], list[str]]:
    """Deletes every topic and group whose name begins with the prefix, and nothing else; returns their names."""
    named = [row.name for row in wire.metadata(all_topics=True).struct.topics]
    topics = [name for name in named if name and name.startswith(f"{prefix}-")]
    groups: list[str] = []
    if wire.versions("ListGroups"):
        for node in wire.nodes:
            listed = wire.list_groups(to=node).struct.groups
            groups += [row.group_id for row in listed if row.group_id.startswith(f"{prefix}-")]
    wire.made_topics, wire.made_groups = list(topics), list(groups)  # forgetting empties its own
    forget(wire)
    return topics, groups


def clean_run(run_dir: Path) -> tuple[list[str], list[str]]:
    """What `doctor --clean RUN` does: removes what a killed run left on its cluster."""
    ours = msgspec.json.decode((run_dir / OURS).read_bytes(), type=Ours)
    pairs = (entry.rpartition(":") for entry in ours.bootstrap.split(","))
    addresses = [(host, int(port)) for host, _, port in pairs]
    scene = Scene(prefix=ours.prefix, case="cleaning")
    reach = partial(reached, table=ours.reach)
    return clean(Wire(LiveExchanger(lambda entry: None), scene, addresses, reach), ours.prefix)


def _answered(act: Callable[[], object]) -> bool:
    """Whether the broker said anything to it, if only that it refuses; to whom no connection leads is not silent."""
    try:
        act()
    except CannotConnect:
        return True
    except NoAnswer:
        return False
    except Exception:  # noqa: BLE001 - clearing away must never change a verdict; `doctor --clean` can do it later
        return True
    return True
