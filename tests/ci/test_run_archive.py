"""A run as one file: what was packed is what is read, and nobody's archive writes what it should not."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from brokertrial.ci import run_archive
from brokertrial.ci.commands.archive import archive
from brokertrial.ci.commands.check import check
from brokertrial.ci.commands.explain import explain
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import discover
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.run_folder import NAME, _checksum, seal, verify
from brokertrial.ci.run_location import find
from brokertrial.suites.events import RunEvent

LINK, DEVICE, FOLDER = 0o120777 << 16, 0o060666 << 16, 0o040755 << 16


@pytest.fixture
def closed(run_folder: Path, told: list[RunEvent]) -> Path:
    """A run folder as a run leaves it."""
    state = RunState(run_folder)
    writers = discover(state, without=("console",))
    for event in told:
        state.on(event)
        for writer in writers.values():
            writer.on(event)
    seal(run_folder, {"target": "reference", "seed": 42, "status": 1}, complete=True)
    return run_folder


@pytest.fixture
def packed(closed: Path, tmp_path: Path) -> Path:
    file = tmp_path / "run.zip"
    run_archive.pack(closed, file)
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def edited(packed: Path, *, title: dict | None = None, drop: tuple[str, ...] = (), add: tuple = ()) -> Path:
    """The archive with another run.json, without some members, with others: (name or ZipInfo, bytes) each."""
    file = packed.with_name("edited.zip")
    with zipfile.ZipFile(packed) as whole, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as into:
        for entry in whole.infolist():
            content = whole.read(entry)
            if entry.filename == NAME and title is not None:
                content = json.dumps({**title, "checksum": _checksum(title)}).encode()
            if entry.filename not in drop:
                into.writestr(entry.filename, content)
        for entry, content in add:
            into.writestr(entry, content)
    return file


def refusal(file: Path, folder: Path) -> str:
    folder.mkdir()
    with pytest.raises(UserError) as caught:
        run_archive.unpack(file, folder)
    return caught.value.sentence


def test_it_holds_what_the_run_holds_and_is_the_same_bytes_again(closed: Path, packed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    folder.mkdir()
    run_archive.unpack(packed, folder)
    assert contents(folder) == contents(closed)
    verify(folder)
    second = tmp_path / "second.zip"
    run_archive.pack(folder, second)
    assert second.read_bytes() == packed.read_bytes()


def test_what_the_run_does_not_name_is_left_out(closed: Path, tmp_path: Path) -> None:
    (closed / "explain-idempotence.lost-ack-1.html").write_text("made later", encoding="utf-8")
    run_archive.pack(closed, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert not [name for name in archive.namelist() if name.startswith("explain")]


def test_a_run_that_is_not_whole_is_not_packed(closed: Path, tmp_path: Path) -> None:
    (closed / "summary.md").write_text("changed", encoding="utf-8")
    with pytest.raises(UserError, match=r"summary\.md"):
        run_archive.pack(closed, tmp_path / "run.zip")
    assert list(tmp_path.glob("*.zip")) == list(tmp_path.glob(".*")) == []


def test_commands_read_it(
    closed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert archive(closed.name, None) == 0
    assert f"brokertrial check {closed.name}.zip" in capsys.readouterr().out
    shutil.move(closed, tmp_path / "elsewhere")

    place = find(f"{closed.name}.zip/histories/idempotence.lost-ack")
    assert (place.case, place.name) == ("idempotence/lost-ack", f"{closed.name}.zip")
    assert check(f"{closed.name}.zip/idempotence.lost-ack") in (0, 1, 6)
    said = capsys.readouterr().out
    assert "idempotence/lost-ack" in said and "/tmp/brokertrial" not in said
    assert explain(f"{closed.name}.zip/idempotence/lost-ack", None) == 0
    with pytest.raises(UserError, match="not a run folder"):
        archive(f"{closed.name}.zip", None)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../outside", "leaves the folder"),
        ("/etc/outside", "leaves the folder"),
        ("histories/../../outside", "leaves the folder"),
        ("./outside", "leaves the folder"),
        ("histories//outside", "leaves the folder"),
        ("C:outside", "another system"),
        ("a\\..\\..\\outside", "another system"),
        ("outside\x1b[2J", "another system"),
        ("outside", "is not named in run.json"),
        ("summary.md", "two members"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_leave_the_folder_or_are_not_named(packed: Path, tmp_path: Path, name: str, why: str) -> None:
    assert why in refusal(edited(packed, add=((zipfile.ZipInfo(name), b"x"),)), tmp_path / "into")
    assert [path.name for path in tmp_path.rglob("*outside*")] == []


@pytest.mark.parametrize("kind", [LINK, DEVICE, FOLDER])
def test_what_is_no_plain_file(packed: Path, tmp_path: Path, kind: int) -> None:
    entry = zipfile.ZipInfo("summary.md")
    entry.external_attr = kind
    file = edited(packed, drop=("summary.md",), add=((entry, b"/etc/passwd"),))
    assert "is no plain file" in refusal(file, tmp_path / "into")


def test_a_file_of_another_size_or_a_missing_one(packed: Path, tmp_path: Path) -> None:
    longer = edited(packed, drop=("summary.md",), add=(("summary.md", b"x" * 10),))
    assert "names" in refusal(longer, tmp_path / "a")
    assert "is missing" in refusal(edited(packed, drop=("summary.md",)), tmp_path / "b")
    assert "holds no run.json" in refusal(edited(packed, drop=(NAME,)), tmp_path / "c")


def test_a_bomb_is_not_unpacked(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It announces what it is, or it lies: neither is written in full. The near miss is within the bound."""
    monkeypatch.setattr(run_archive, "ALLOWED_ANYWAY", 1 << 20)
    zeros = bytes(8 << 20)
    with zipfile.ZipFile(packed) as archive:
        title = {k: v for k, v in json.loads(archive.read(NAME)).items() if k != "checksum"}
    honest = {**title, "files": {**title["files"], "bomb": {"size": len(zeros), "sha256": ""}}}
    assert "more than 100 times" in refusal(edited(packed, title=honest, add=(("bomb", zeros),)), tmp_path / "a")

    small = {**title, "files": {**title["files"], "bomb": {"size": 10, "sha256": ""}}}
    file = edited(packed, title=small, add=(("bomb", zeros),))
    content = file.read_bytes()  # the directory says ten bytes; what is behind it is longer
    file.write_bytes(content.replace(len(zeros).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert "longer than" in refusal(file, tmp_path / "b") or "damaged" in refusal(file, tmp_path / "c")
    assert sum(path.stat().st_size for path in tmp_path.rglob("bomb")) <= 10

    monkeypatch.setattr(run_archive, "ALLOWED_ANYWAY", 16 << 20)
    (tmp_path / "d").mkdir()
    run_archive.unpack(edited(packed, title=honest, add=(("bomb", zeros),)), tmp_path / "d")


def test_damage_is_one_sentence(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    for number, content in enumerate((b"", b"PK", whole[:-30], whole[:200] + bytes(200) + whole[400:])):
        packed.write_bytes(content)
        folder = tmp_path / f"into{number}"
        folder.mkdir()
        with pytest.raises(UserError) as caught:
            run_archive.unpack(packed, folder)
            verify(folder)  # what a checksum of the zip does not cover, that of run.json does
        assert "\n" not in caught.value.sentence
