"""A run as one file: a zip of run.json and of every file that it names, and how such a file is opened again.

An archive may come from anybody. run.json is read first, within its own bound, and says what there may be: a member
that it does not name, that is named twice, that is no plain file or leaves the folder, and one of another size are
refused before anything of them is written. What is unpacked is bounded as a whole, whatever run.json says.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from brokertrial.ci import run_folder
from brokertrial.ci.errors import UserError
from brokertrial.histories.tempdirs import Scratch

SUFFIX = ".zip"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the same run is the same bytes, whenever it is packed."""
MOST_MEMBERS = 200_000
MOST_TITLE = 256 << 20
"""Bytes of run.json, which names the other files."""
EXPANSION = 100
"""How many times its own size an archive may become; Parquet hardly shrinks, JSON does by ten to thirty."""
ALLOWED_ANYWAY = 256 << 20
CHUNK = 1 << 20
SPARE = 64 << 20
"""Bytes that stay free on the disk."""
STORED_AS_IT_IS = (".parquet", ".arrow", ".zip", ".gz", ".png")


def pack(run: Path, file: Path) -> int:
    """Writes a closed, unchanged run into one file and returns the size in bytes; a half is never left there."""
    sealed = run_folder.verify(run)
    scratch = file.with_name(f".{file.name}.new")
    try:
        with zipfile.ZipFile(scratch, "w", allowZip64=True) as archive:
            for name in (run_folder.NAME, *sorted(sealed["files"])):
                _add(archive, run / name, name)
        os.replace(scratch, file)
    except OSError as problem:
        raise UserError(f"{file} cannot be written: {problem.strerror}.") from None
    finally:
        scratch.unlink(missing_ok=True)
    return file.stat().st_size


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    member = zipfile.ZipInfo(name, EPOCH)
    member.create_system = 3  # Unix: the same bytes on every system
    member.external_attr = 0o644 << 16
    member.compress_type = zipfile.ZIP_STORED if path.suffix in STORED_AS_IT_IS else zipfile.ZIP_DEFLATED
    with path.open("rb") as content, archive.open(member, "w", force_zip64=path.stat().st_size >= 1 << 31) as into:
        shutil.copyfileobj(content, into, CHUNK)


def is_archive(path: Path) -> bool:
    """Whether a path names an archive: by its name, so that a damaged one is refused as such."""
    return path.suffix == SUFFIX and path.is_file()


@cache
def _unpacked(path: Path, changed_ns: int) -> tuple[Scratch, Path]:
    """The run folder of an archive, once a process; it is removed with the process at the latest."""
    scratch = Scratch("archive")
    try:
        folder = Path(scratch.name) / path.stem
        folder.mkdir()
        unpack(path, folder)
    except BaseException:
        scratch.cleanup()
        raise
    return scratch, folder


def unpacked(path: Path) -> Path:
    """A temporary folder with the run of this archive; raises UserError for what may not be unpacked."""
    return _unpacked(path.absolute(), path.stat().st_mtime_ns)[1]


def unpack(path: Path, folder: Path) -> None:
    """Unpacks an archive into an empty folder; raises UserError with one sentence for what is no archive of a run."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path)
            if run_folder.NAME not in members:
                raise UserError(f"{path} is no archive of a run: it holds no {run_folder.NAME}.")
            title = members.pop(run_folder.NAME)
            if title.file_size > MOST_TITLE:
                raise _refused(path, f"its {run_folder.NAME} has {title.file_size:,} bytes")
            _extract(archive, title, folder, title.file_size, path)
            named = run_folder.read(folder)["files"]
            _match(members, named, path)
            for name, member in members.items():
                _extract(archive, member, folder, named[name]["size"], path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as damage:
        raise UserError(f"{path} is damaged: {damage}.") from None
    except OSError as problem:
        raise UserError(f"{path} cannot be unpacked: {problem.strerror or problem}.") from None


def _refused(path: Path, why: str) -> UserError:
    return UserError(f"{path} is refused: {why}.")


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > MOST_MEMBERS:
        raise _refused(path, f"it has {len(entries):,} members, more than {MOST_MEMBERS:,}")
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        if (why := wrong(entry)) is not None:
            raise _refused(path, f"its member {entry.filename!r} {why}")
        if entry.filename in members:
            raise _refused(path, f"it has two members {entry.filename!r}")
        members[entry.filename] = entry
    return members


def wrong(entry: zipfile.ZipInfo) -> str | None:
    """What is wrong with a member, by its name and kind alone; None for a plain file inside the folder."""
    name = entry.filename
    parts = PurePosixPath(name).parts
    if not name or name != str(PurePosixPath(name)) or name.startswith("/") or {".", ".."} & set(parts):
        return "has a name that leaves the folder, or is no plain one"
    if "\\" in name or ":" in name or not name.isprintable():
        return "has a name that means something else on another system"
    if (kind := entry.external_attr >> 16 & 0o170000) not in (0, 0o100000):
        return f"is no plain file (its kind is {kind:o})"
    if entry.flag_bits & 1:
        return "is encrypted"
    return None


def _match(members: Mapping[str, zipfile.ZipInfo], named: Mapping[str, Any], path: Path) -> None:
    """The members are the files that run.json names, in sizes that may be written."""
    if foreign := sorted(members.keys() - named.keys()):
        raise _refused(path, f"its member {foreign[0]!r} is not named in {run_folder.NAME}")
    if missing := sorted(named.keys() - members.keys()):
        raise _refused(path, f"{missing[0]!r}, which {run_folder.NAME} names, is missing")
    sizes = [_size(named[name], name, path) for name in members]
    for name, member in members.items():
        if member.file_size != named[name]["size"]:
            raise _refused(
                path, f"{name!r} has {member.file_size:,} bytes; {run_folder.NAME} names {named[name]['size']:,}"
            )
    _within_bounds(sizes, path)


def _size(seal: Any, name: str, path: Path) -> int:
    size = seal.get("size") if isinstance(seal, dict) else None
    if not isinstance(size, int) or size < 0:
        raise _refused(path, f"{run_folder.NAME} names no size of {name!r}")
    return size


def _within_bounds(sizes: Sequence[int], path: Path) -> None:
    total, own = sum(sizes), path.stat().st_size
    if total > max(ALLOWED_ANYWAY, own * EXPANSION):
        raise _refused(path, f"it would become {total:,} bytes, more than {EXPANSION} times its own {own:,}")
    place = tempfile.gettempdir()
    free = shutil.disk_usage(place).free
    if total + SPARE > free:
        raise _refused(path, f"it would become {total:,} bytes, and {free:,} are free in {place}")


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, size: int, path: Path) -> None:
    """Writes one member, never more than `size` bytes of it: what a zip says of itself may be a lie."""
    target = folder / member.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    left = size
    with archive.open(member) as content, target.open("xb") as into:
        while chunk := content.read(min(CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise _refused(path, f"{member.filename!r} is longer than the {size:,} bytes that it is said to have")
            into.write(chunk)
    if left:
        raise _refused(path, f"{member.filename!r} is {left:,} bytes shorter than it is said to be")
