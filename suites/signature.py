"""The stable name of a failure: what was false, without anything that differs between two runs of the same broker.

    statement:Produce.responses.partition_responses.base_offset:is too low; it must be #
    protocol:Fetch:the answer cannot be decoded: malformed Fetch response # at byte #
    no-answer:Heartbeat        anomaly:duplicate        died        claim

A signature holds no names, ids, offsets or times: `#` stands for them. An entry of known.toml names one.
"""

from __future__ import annotations

import re

LONGEST = 240
API = re.compile(r"(?P<api>[A-Z][A-Za-z]+) v\d+:? ")
INDEX = re.compile(r"(?<=\w)\[\d+\]")
QUOTED = re.compile(r"""\bb?(?:'[^']*'|"[^"]*")|'[^']*'|"[^"]*\"""")
PARENTHESES = re.compile(r"\s*\([^()]*\)")
BRACKETS = re.compile(r"\[[^\[\]{}]*\]|\{[^\[\]{}]*\}")
WITH_DIGIT = re.compile(r"-?[\w.:/+=-]*\d[\w/+=-]*(?:[.:][\w/+=-]+)*")
COMPARED = re.compile(r"\bis (-?\d+); it must be (-?\d+)(?![\w.])")
ROW = re.compile(r"#(?:[\s,:;-]*(?:and )?#)+")


def signature(kind: str, sentence: str, about: str = "", ours: str = "") -> str:
    """Of a failure of this Reason kind. `about`: API and field, as in `Produce.responses.base_offset`; `ours`: how the
    names that this run made begin."""
    found = API.match(sentence)
    api, _, path = about.partition(".")
    api = api or (found["api"] if found else "")
    if kind == "no-answer":
        return f"{kind}:{api}" if api else kind
    if kind not in ("statement", "protocol"):
        return kind
    path = INDEX.sub("", path)
    words = normalised(sentence[found.end() :] if found else sentence, ours)
    words = words.removeprefix(path).strip() if path else words
    place = ".".join(part for part in (api, path) if part)
    return ":".join(part for part in (kind, place, words) if part)


def normalised(sentence: str, ours: str = "") -> str:
    """A sentence without names of ours, numbers, quoted text and lists of values."""
    text = re.sub(rf"[^\s'\",;()\[\]{{}}]*{re.escape(ours)}[^\s'\",;()\[\]{{}}]*", "#", sentence) if ours else sentence
    text = QUOTED.sub("#", COMPARED.sub(_side, INDEX.sub("", text)))
    for pattern, put in ((PARENTHESES, ""), (BRACKETS, "#")):
        while (shorter := pattern.sub(put, text)) != text:
            text = shorter
    text = ROW.sub("#", WITH_DIGIT.sub("#", text))
    return " ".join(text.split())[:LONGEST].strip(" .")


def _side(told: re.Match[str]) -> str:
    """An offset that is too low is another failure than one that is too high: records are gone, or were never there."""
    return f"is {'too low' if int(told[1]) < int(told[2]) else 'too high'}; it must be #"
