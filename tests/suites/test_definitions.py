"""What of a file counts for whoever mentions some names of it."""

from __future__ import annotations

import ast

import pytest

from brokertrial.suites.proving.case_dependencies import _said
from brokertrial.suites.proving.definitions import ReachedDefinitions, definitions, mentions

SOURCE = '''
"""A helper of cases."""
from threading import Thread
from brokertrial.wire import errors as codes
from brokertrial.suites.probe.base import Base

LIMIT = 3
QUERY = "SELECT op FROM dirty"
dirty = "SELECT 1"

class Nodes(Base):
    """Nodes."""
    most: int = 5

    def crash(self, node):
        return _killed(node)

    def freeze(self):
        return LIMIT

    def __len__(self):
        return 1

class Worker(Thread):
    def run(self):
        return listen()

class Drawn:
    def begin(self, kind):
        return getattr(self, f"_{kind}")()

    def _late(self):
        return 1

def _killed(node):
    return codes.NONE

def listen():
    return 2

def look():
    return QUERY

def lonely():
    return 7

@registered
def rule():
    return 8
'''
FILE = "suites/probe/nodes.py"


def digest(source: str, *names: str) -> str:
    found = ReachedDefinitions()
    found.add({FILE: definitions(ast.parse(source), _said)})
    found.mention(names)
    return found.digest()


@pytest.mark.parametrize(
    ("old", "new", "names", "counts"),
    [
        ("return 7", "return 6", ("Nodes", "crash"), False),
        ("return 7", "return 6", ("lonely",), True),
        ("return codes.NONE", "return 0", ("Nodes", "crash"), True),
        ("return codes.NONE", "return 0", ("Nodes", "freeze"), False),
        ("return codes.NONE", "return 0", ("crash",), False),  # nobody makes a Nodes
        ("LIMIT = 3", "LIMIT = 4", ("Nodes", "freeze"), True),
        ("LIMIT = 3", "LIMIT = 4", ("Nodes", "crash"), False),
        ("import errors as", "import codes as", ("Nodes", "crash"), True),
        ("import errors as", "import codes as", ("Nodes", "freeze"), False),
        ("most: int = 5", "most: int = 6", ("Nodes",), True),
        ("Nodes(Base)", "Nodes(object)", ("Nodes",), True),
        ("return 1\n\nclass Worker", "return 0\n\nclass Worker", ("Nodes",), True),  # __len__
        ("return 2", "return 3", ("Worker",), True),  # Thread calls run
        ("return 2", "return 3", ("Nodes", "run"), False),
        ("return 1\n\ndef _killed", "return 0\n\ndef _killed", ("Drawn", "begin"), True),  # by getattr
        ('dirty = "SELECT 1"', 'dirty = "SELECT 2"', ("look",), True),  # within a query
        ("return 8", "return 9", (), True),  # its decorator may keep it
        ("def lonely():", 'def lonely():\n    """Words."""', ("lonely",), False),
        ("def crash(self, node):", "def crash(self, node: int) -> int:", ("Nodes", "crash"), False),
        ("def lonely", "def another():\n    return 1\n\ndef lonely", ("Nodes", "crash", "lonely"), False),
        ('"""A helper of cases."""', "import sys\nsys.flags()", (), True),
        ('"""A helper of cases."""', "if TYPE_CHECKING:\n    import sys", (), False),
    ],
)
def test_a_change_counts_where_it_is_reached(old: str, new: str, names: tuple[str, ...], counts: bool) -> None:
    assert SOURCE.count(old) == 1
    assert (digest(SOURCE, *names) != digest(SOURCE.replace(old, new), *names)) is counts


def test_all_of_a_file_that_begins_counts() -> None:
    whole = [ReachedDefinitions(), ReachedDefinitions()]
    for found, source in zip(whole, (SOURCE, SOURCE.replace("return 7", "return 6")), strict=True):
        found.add({FILE: definitions(ast.parse(source), _said)}, whole=[FILE])
    assert whole[0].digest() != whole[1].digest()


def test_files_and_names_come_in_any_order() -> None:
    files = {
        "a.py": "def one():\n    return two()\n",
        "b.py": "def two():\n    return three()\n",
        "c.py": "three = 1\n",
    }
    defined = {file: definitions(ast.parse(text), _said) for file, text in files.items()}
    together, begun = ReachedDefinitions(), ReachedDefinitions()
    together.add(defined)
    together.mention(["one"])
    begun.mention(["one"])
    begun.add({"b.py": defined["b.py"]})
    for file in ("c.py", "a.py"):
        begun = begun.copy()
        begun.add({file: defined[file]})
    assert begun.digest() == together.digest() != ReachedDefinitions().digest()


def test_what_begins_with_another_leaves_it_as_it_was() -> None:
    first = ReachedDefinitions()
    first.add({FILE: definitions(ast.parse(SOURCE), _said)})
    before = first.digest()
    first.copy().mention(["lonely"])
    assert first.digest() == before


def test_names_are_mentioned_in_code_in_strings_that_are_names_and_in_queries() -> None:
    text = 'def f(x: Kind) -> Other:\n    """Words here."""\n    a.b(c="d.e")\n    return "no name", "SELECT q"'
    code = ast.parse(text)
    assert set(mentions(code)) == {"a", "b", "d", "e", "q", "SELECT"}
