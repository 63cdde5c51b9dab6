"""Removes what is ours from a cluster: by the names that a case made, or by all that the run wrote down."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import msgspec

from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.exchanger import LiveExchanger
from brokertrial.suites.probe.failures import ConnectFailed, NoResponse
from brokertrial.suites.probe.wire import Wire
from brokertrial.wire import errors
from brokertrial.wire.addresses import all_parsed, reached
from brokertrial.wire.messages import request

LEAVES = -1  # the epoch of a member that leaves (KIP-848)
RESOURCES_FILE, NAMES = "ours.json", "names.jsonl"
HURRIED_S = 3.0


class RunResources(msgspec.Struct, frozen=True):
    """Kept in the run folder: by which names a run is known on its cluster, and where that is."""

    prefix: str
    bootstrap: str
    reach: dict[str, str] = {}


class CleanupProbe(Wire):
    """A probe that clears away. `hurried`, as after Ctrl-C, it waits a few seconds for each answer and no longer."""

    hurried = False

    @property
    def patience_s(self) -> float:
        return HURRIED_S if self.hurried else super().patience_s


def remove_created(wire: Wire) -> None:
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


class NameJournal:
    """Every topic and group that a run may have made, written down before it is made: these alone are ever deleted."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / NAMES
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Writes a name down; it survives a kill of this process."""
        with self._lock, self._path.open("ab") as file:
            file.write(msgspec.json.encode(name) + b"\n")

    def names(self) -> set[str]:
        """All that was written; a line that was cut short named nothing that exists."""
        found: set[str] = set()
        for line in self._path.read_bytes().splitlines() if self._path.is_file() else ():
            with contextlib.suppress(msgspec.DecodeError):
                found.add(msgspec.json.decode(line, type=str))
        return found


def names_on(wire: Wire) -> tuple[list[str], list[str]]:
    """Every topic and group on a cluster."""
    topics = [str(row.name) for row in wire.metadata(all_topics=True).struct.topics if row.name]
    groups: list[str] = []
    if wire.versions("ListGroups"):
        for node in wire.nodes:
            groups += [str(row.group_id) for row in wire.list_groups(to=node).struct.groups]
    return topics, groups


def clean(wire: Wire, ours: Collection[str]) -> tuple[list[str], list[str]]:
    """Deletes the topics and groups of these names, and nothing else; returns those that were there."""
    topics, groups = names_on(wire)
    wire.made_topics = [name for name in topics if name in ours]
    wire.made_groups = [name for name in groups if name in ours]
    found = list(wire.made_topics), list(wire.made_groups)
    remove_created(wire)  # it empties both
    return found


def clean_run(run_dir: Path) -> tuple[list[str], list[str]]:
    """What `doctor --clean RUN` does: removes what a killed run left on its cluster."""
    ours = msgspec.json.decode((run_dir / RESOURCES_FILE).read_bytes(), type=RunResources)
    case_context = CaseContext(prefix=ours.prefix, case="cleaning")
    reach = partial(reached, table=ours.reach)
    return clean(
        Wire(LiveExchanger(lambda entry: None), case_context, all_parsed(ours.bootstrap), reach),
        NameJournal(run_dir).names(),
    )


def _answered(act: Callable[[], object]) -> bool:
    """Whether the broker said anything to it, if only that it refuses; to whom no connection leads is not silent."""
    try:
        act()
    except ConnectFailed:
        return True
    except NoResponse:
        return False
    except Exception:  # noqa: BLE001 - clearing away must never change a verdict; `doctor --clean` can do it later
        return True
    return True
