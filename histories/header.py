"""What a history says of itself: the case, the target, the seed; at its close, every part with its checksum."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

FORMAT = 1
FILE = "history.json"


class Header(msgspec.Struct, kw_only=True):
    """What was known when the case began.

    `nodes` and `unclean_election` decide what an acknowledgement is worth; `settings` holds what else explains the run.
    """

    case: str
    target: str
    target_version: str = ""
    seed: int = 0
    schedule: Any = None
    nodes: int | None = None
    unclean_election: bool = False
    suite_version: str = ""
    profile: str = ""
    attempt: int = 1
    settings: dict[str, Any] = {}


class Part(msgspec.Struct, kw_only=True):
    """A closed part file: how many rows, how many bytes, and the SHA-256 of those bytes."""

    table: str
    file: str
    rows: int
    bytes: int
    sha256: str


class Title(msgspec.Struct, kw_only=True):
    """The whole of history.json. `complete` comes last and is true only when everything before it was written."""

    format: int = FORMAT
    identity: str
    clock: str
    started_ns: int
    started_at: str
    header: Header
    closed_ns: int | None = None
    parts: list[Part] = []
    digest: str = ""
    complete: bool = False


class HistoryRefused(Exception):
    """A history that must not be judged; the message is one sentence that says why."""


class HistoryIncomplete(HistoryRefused):
    """The run that wrote it ended before it could close it."""


class HistoryTampered(HistoryRefused):
    """What is on the disk is not what the recorder wrote."""


class HistoryWriteFailed(Exception):
    """The disk did not take what was recorded."""


def digest_of(title: Title) -> str:
    """A checksum of everything in the title but itself."""
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(title, digest=""))).hexdigest()


def write_title(folder: Path, title: Title) -> None:
    """Replaces history.json in one step: a reader finds the old one or the new one, never a half."""
    title.digest = digest_of(title)
    temporary = folder / (FILE + ".tmp")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(title), indent=1))
    temporary.replace(folder / FILE)


def read_title(folder: Path) -> Title:
    """history.json, checked against its own checksum; raises HistoryTampered."""
    file = folder / FILE
    try:
        raw = file.read_bytes()
    except OSError as problem:
        raise HistoryTampered(f"{file} cannot be read ({problem.strerror}): this folder holds no history.") from problem
    try:
        title = msgspec.json.decode(raw, type=Title)
    except msgspec.MsgspecError as problem:
        raise HistoryTampered(f"{file} is cut short or was changed: {problem}.") from problem
    if not 1 <= title.format <= FORMAT:
        raise HistoryTampered(f"{file} has format {title.format}; this version reads up to {FORMAT}.")
    if title.digest != digest_of(title):
        raise HistoryTampered(f"{file} was changed after it was written: its checksum does not match.")
    return title
