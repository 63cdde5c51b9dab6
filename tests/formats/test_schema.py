"""The JSON Schema that ships is the one of the reader, and the example of the documentation fits it."""

import json
from pathlib import Path

import msgspec

from brokertrial.histories import formats
from brokertrial.histories.formats.jsonl_lines import HistoryFileLine, schema

ROOT = Path(__file__).parents[2]


def test_the_shipped_schema_is_the_readers_own():
    file = Path(formats.__path__[0]) / "jsonl.schema.json"

    assert json.loads(file.read_text()) == json.loads(msgspec.json.encode(schema()))


def test_the_example_of_the_documentation_can_be_read():
    lines = [line.strip() for line in (ROOT / "docs" / "formats.md").read_text().splitlines()]
    examples = [line for line in lines if line.startswith('{"is":')]

    assert len(examples) == 7
    for example in examples:
        msgspec.json.decode(example, type=HistoryFileLine)
