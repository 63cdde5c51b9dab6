"""What a target must be able to do with one of its nodes so that a schedule can disturb it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol, runtime_checkable


class NodeCommand(NamedTuple):
    """A program with its arguments, and the folder that it runs in."""

    words: tuple[str, ...]
    folder: str


@runtime_checkable
class NodeControl(Protocol):
    """One node of a target. Every call returns when it is done, or raises with one sentence that says why it cannot
    be."""

    @property
    def node_id(self) -> int:
        """The id that Metadata gives this node."""

    @property
    def address(self) -> tuple[str, int]:
        """Where clients reach it without the proxy."""

    @property
    def pid(self) -> int | None:
        """Its process on this machine; None when there is none that we may signal (a container, a command of
        `[actions]`)."""

    def kill(self) -> None:
        """Ends it at once (SIGKILL); returns when the process is gone. Its page cache survives."""

    def terminate(self) -> None:
        """Asks it to stop (SIGTERM) and waits until it has."""

    def pause(self) -> None:
        """Stops it where it stands (SIGSTOP)."""

    def resume(self) -> None:
        """Lets it go on (SIGCONT)."""

    def restart(self) -> None:
        """Starts it with the data and the port it had; returns when it serves, or raises at its deadline."""

    def alive(self) -> bool:
        """Whether its process exists (a paused one does)."""

    def paused(self) -> bool:
        """Whether it stands still."""


@runtime_checkable
class TakesSettings(Protocol):
    """A node whose broker can be started with other settings than it had."""

    def choose(self, settings: Mapping[str, str]) -> None:
        """What it is started with from its next start on, besides its own; replaces what was chosen before."""


@runtime_checkable
class UndoneByCommand(Protocol):
    """A victim without a process of ours: what is done to it can be undone by a command, even when the suite is
    gone."""

    def undo_command(self, what: Literal["paused", "down"]) -> NodeCommand | None:
        """The command that lets it go on, or starts it again; None where there is none."""
