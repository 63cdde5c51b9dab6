"""What files were found to say is remembered by their text, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.suites.proving import parse_cache
from brokertrial.suites.proving.parse_cache import ParseCache, ParsedFile


class Parser:
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.parsed: list[str] = []

    def __call__(self, file: str, text: bytes) -> ParsedFile:
        self.parsed.append(file)
        return ParsedFile((file,), text.decode())


@pytest.fixture
def parse() -> Parser:
    return Parser()


def test_another_process_parses_nothing_again(tmp_path: Path, parse: Parser) -> None:
    place = tmp_path / "parsed-files-1.json"
    first = ParseCache(lambda: place)
    said = first.of("a.py", b"1", parse)
    first.keep()
    assert ParseCache(lambda: place).of("a.py", b"1", parse) == said and parse.parsed == ["a.py"]


def test_another_text_and_another_name_are_parsed(tmp_path: Path, parse: Parser) -> None:
    known = ParseCache(lambda: tmp_path / "parsed-files-1.json")
    assert [known.of(name, text, parse).content for name, text in (("a", b"1"), ("a", b"2"), ("b", b"1"))] == [
        "1", "2", "1",
    ]  # fmt: skip
    assert parse.parsed == ["a", "a", "b"]


@pytest.mark.parametrize("broken", [b"", b"[]", b'{"a": 1}'])
def test_a_place_that_cannot_be_read_costs_time_alone(tmp_path: Path, parse: Parser, broken: bytes) -> None:
    place = tmp_path / "parsed-files-1.json"
    place.write_bytes(broken)
    known = ParseCache(lambda: place)
    assert known.of("a", b"1", parse).content == "1"
    known.keep()
    assert ParseCache(lambda: place).of("a", b"1", parse).content == "1" and parse.parsed == ["a"]


def test_a_place_that_cannot_be_written_costs_time_alone(tmp_path: Path, parse: Parser) -> None:
    known = ParseCache(lambda: tmp_path / "nowhere" / "parsed-files-1.json")
    assert known.of("a", b"1", parse).content == "1"
    known.keep()


def test_what_nobody_asked_for_is_forgotten_when_it_is_too_much(
    tmp_path: Path, parse: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_cache, "MOST", 2)
    for name in ("a", "b", "c"):
        known = ParseCache(lambda: tmp_path / "parsed-files-1.json")
        known.of(name, b"1", parse)
        known.keep()
    again = ParseCache(lambda: tmp_path / "parsed-files-1.json")
    for name in ("c", "a"):
        again.of(name, b"1", parse)
    assert parse.parsed == ["a", "b", "c", "a"]


def test_what_an_older_version_found_is_removed(tmp_path: Path, parse: Parser) -> None:
    for version in (1, 2):
        known = ParseCache(lambda version=version: tmp_path / f"parsed-files-{version}.json")  # type: ignore[misc]
        known.of("a", b"1", parse)
        known.keep()
    assert [path.name for path in tmp_path.iterdir()] == ["parsed-files-2.json"]
