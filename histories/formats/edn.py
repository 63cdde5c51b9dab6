"""EDN, the notation of Clojure's data, as far as histories use it: a reader that needs one form in memory at a time.

Keywords and symbols become their names, `nil` None, lists and vectors lists, sets lists, tagged forms what they tag.
A map with a key that cannot be one of a dict is read as well: such a key becomes its text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

_TOKEN = re.compile(
    r"""[\s,]+|;[^\n]*"""
    r"""|(?P<open>\#_|\#\{|\#:{1,2}[^\s{]*\{|[\[({])"""
    r"""|(?P<close>[\])}])"""
    r"""|(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<cut>"(?:[^"\\]|\\.)*\Z)"""
    r"""|(?P<char>\\(?:newline|space|tab|return|formfeed|backspace|u[0-9a-fA-F]{4}|.))"""
    r"""|(?P<tag>\#\^?[A-Za-z][^\s,\[\](){}";]*)"""
    r"""|(?P<atom>[^\s,\[\](){}";]+)""",
    re.DOTALL,
)
_INTEGER = re.compile(r"[+-]?\d+N?\Z")
_NUMBER = re.compile(r"[+-]?\d")
_WORDS = {"nil": None, "true": True, "false": False}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSES = {"[": "]", "(": ")", "{": "}"}
_DISCARD = object()
_TAG = object()


class BadNotation(ValueError):
    """Text that is no EDN: what is wrong, and in which line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


def forms(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Each form with the line in which it begins. One list around all of them (a whole history) is looked through."""
    stack: list[_Open] = []
    wrapped: str | None = None
    begun = False
    line = 0
    for line, kind, token in _tokens(lines):
        if kind == "open" and not stack and not begun and token in ("[", "("):
            wrapped, begun = _CLOSES[token], True
        elif kind == "close" and not stack and token == wrapped:
            wrapped = None
        else:
            begun = True
            done = _take(stack, line, kind, token)
            if done is not None and done.value is not _DISCARD:
                yield done.line, done.value
    if stack:
        raise BadNotation(stack[0].line, "what begins here never ends")
    if wrapped:
        raise BadNotation(line, f"the list around the history is never closed with {wrapped!r}")


class _Open:
    """A form that has begun."""

    __slots__ = ("closer", "items", "line", "token", "value")

    def __init__(self, line: int, token: str, closer: str) -> None:
        self.line = line
        self.token = token
        self.closer = closer
        self.items: list[Any] = []
        self.value: Any = None


def _take(stack: list[_Open], line: int, kind: str, token: str) -> _Open | None:
    """One more token; the outermost form, when this has completed it."""
    if kind == "open" or kind == "tag":
        closer = "" if kind == "tag" or token == "#_" else _CLOSES[token[-1]]
        stack.append(_Open(line, token, closer))
        return None
    if kind == "close":
        if not stack or stack[-1].closer != token:
            raise BadNotation(line, f"{token!r} closes nothing that is open")
        form = stack.pop()
        value = _value(form)
    else:
        form = _Open(line, token, "")
        value = _atom(line, kind, token)
    while stack and not stack[-1].closer:
        prefix = stack.pop()
        value = _DISCARD if prefix.token == "#_" else value
        if value is _DISCARD and prefix.token != "#_":
            raise BadNotation(line, f"{prefix.token} stands before nothing")
        form = prefix
    if stack:
        if value is not _DISCARD:
            stack[-1].items.append(value)
        return None
    form.value = value
    return form


def _value(form: _Open) -> Any:
    if form.closer != "}" or form.token == "#{":
        return form.items
    if len(form.items) % 2:
        raise BadNotation(form.line, "a map has a key without a value")
    keys = iter(form.items)
    return {_key(key): value for key, value in zip(keys, keys, strict=True)}


def _key(key: Any) -> Any:
    return key if isinstance(key, (int, str)) and not isinstance(key, bool) else repr(key)


def _atom(line: int, kind: str, token: str) -> Any:
    if kind == "text":
        return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", _escape, token[1:-1], flags=re.DOTALL)
    if kind == "char":
        return token[1:]
    if token[0] == ":":
        return token[1:].rpartition("/")[2]
    if _INTEGER.match(token):
        return int(token.rstrip("N"))
    if _NUMBER.match(token):
        try:
            return float(token.rstrip("M"))
        except ValueError:
            return token
    return _WORDS.get(token, token)


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if code[0] == "u" and len(code) == 5 else _ESCAPES.get(code, code)


def _tokens(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    kept = ""
    first = 0
    number = 0
    for number, line in enumerate(lines, start=1):
        text, at = (kept + line, first) if kept else (line, number)
        kept, position, end = "", 0, len(text)
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise BadNotation(at, f"{text[position : position + 20]!r} is no EDN")
            kind = match.lastgroup
            if kind == "cut":
                kept, first = text[position:], at
                break
            if kind is not None:
                yield number, kind, match[0]
            position = match.end()
    if kept:
        raise BadNotation(first, "a text that begins here is never closed")
