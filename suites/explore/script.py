"""A finding as a Python program of its own: it needs a socket and nothing else, and can be handed to a tracker.

It holds a small codec (script_runtime.txt), the layout of the messages that it sends, and the story. Ids that a broker
chooses are taken from the answers in which they came.
"""

from __future__ import annotations

import pprint
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brokertrial.suites.explore.comparison import DifferingField
from brokertrial.suites.explore.normalise import table
from brokertrial.suites.explore.peer import CLOSED, HELD
from brokertrial.suites.explore.sequence import ComparedExchange, SequenceOutcome
from brokertrial.suites.explore.step import RESTART, RequestStep, StepBatch, Symbol
from brokertrial.wire import apis
from brokertrial.wire.messages import Struct
from brokertrial.wire.schema_text import Field, parts

RUNTIME = Path(__file__).with_name("script_runtime.txt")
WIDTH = 118
#: What the runtime can compress; any other batch is written down as bytes.
COMPRESSIONS = ("none", "gzip")
NEAR_MS = 4 * 86_400_000


def script(outcome: SequenceOutcome, oracle: str, cause: str) -> str:
    """The text of the program for a shrunk sequence; it exits with 1 where the broker answers as the target did."""
    story = _Story(outcome)
    layouts = {(each.step.api, each.step.version): _layout(each.step) for each in outcome.exchanges if each.target.sent}
    difference = outcome.difference
    assert difference is not None
    expected = _expected(outcome.exchanges[-1], difference.places)
    lines = [
        f'"""{cause}',
        "",
        f"    python this.py HOST:PORT        exit status 1: as found; 0: as {oracle} answers",
        '"""',
        "",
        RUNTIME.read_text("utf-8").rstrip(),
        "",
        "",
        f"SCHEMAS = {pprint.pformat(layouts, width=WIDTH, compact=True)}",
        "",
        *story.lines(),
        f"# {oracle} answers: {_short(outcome.exchanges[-1].oracle.answer)}",
        f"verdict({story.last}, {expected!r})",
        "",
    ]
    return "\n".join(lines)


class _Story:
    """The requests as statements; each answer has a name, in which later requests find the ids."""

    def __init__(self, outcome: SequenceOutcome) -> None:
        self._outcome = outcome
        self._places: dict[Symbol, str] = {}
        self._version = 0
        self.last = "None"

    def lines(self) -> Iterator[str]:
        for number, exchange in enumerate(self._outcome.exchanges, 1):
            step, name = exchange.step, f"a{number}"
            if step.api == RESTART:
                yield f'input("Restart the broker now ({step.fields["how"]}), then press Enter: ")'
                yield "connections.clear()"
                continue
            within = ", within=1.0" if step.blocks and HELD in (exchange.oracle.answer, exchange.target.answer) else ""
            self._version = step.version
            values = self._literal(step.fields, exchange.target.sent)
            yield f"{name} = ask({step.connection}, {step.api!r}, {step.version}, {values}{within})"
            self.last = name
            self._remember(name, exchange.target.received)
            for held, _ in exchange.target.late:
                yield f"{name}_{held} = receive({held})"
            if step.until:
                yield "time.sleep(2)  # until the change is visible everywhere"

    def _remember(self, name: str, received: Struct | None) -> None:
        for symbol, actual in self._outcome.ids.items():
            if symbol not in self._places and (path := _path(received, actual)) is not None:
                self._places[symbol] = name + path

    def _literal(self, value: Any, sent: Any) -> str:
        """A value of a request as Python: what was sent, but for ids, names and times."""
        if isinstance(sent, Struct):
            given = value if isinstance(value, Mapping) else {}
            shown = {each.name: getattr(sent, each.name) for each in _sent_fields(sent, self._version)}
            inner = (f"{name!r}: {self._literal(given.get(name), own)}" for name, own in shown.items())
            return "{" + ", ".join(inner) + "}"
        if isinstance(sent, (list, tuple)):
            same = isinstance(value, (list, tuple)) and len(value) == len(sent)
            return "[" + ", ".join(map(self._literal, value if same else [None] * len(sent), sent)) + "]"
        if isinstance(value, Symbol) and value in self._places:
            return self._places[value]
        if isinstance(value, StepBatch) and not value.wrong and value.compression in COMPRESSIONS:
            return self._batch(value)
        return self._scalar(sent)

    def _scalar(self, sent: Any) -> str:
        now, prefix = self._outcome.now_ms, self._outcome.prefix
        if isinstance(sent, int) and not isinstance(sent, bool) and abs(sent - now) < NEAR_MS:
            return f"NOW + {sent - now}" if sent >= now else f"NOW - {now - sent}"
        if isinstance(sent, str) and prefix and prefix in sent:
            parts_ = [repr(part) if part else "" for part in sent.split(prefix)]
            return " + NAME + ".join(parts_).strip(" +") if any(parts_) else "NAME"
        if isinstance(sent, (bytes, bytearray, memoryview)):
            data = bytes(sent)
            return repr(data) if len(data) < 64 else f'bytes.fromhex("{data.hex()}")'
        return repr(sent) if isinstance(sent, (bool, int, float, str)) or sent is None else repr(str(sent))

    def _batch(self, batch: StepBatch) -> str:
        words = []
        if batch.key is not None:
            words.append(f"key={batch.key!r}")
        if batch.producer != -1:
            producer = self._places.get(batch.producer, "-1") if isinstance(batch.producer, Symbol) else batch.producer
            words.append(f"producer_id={producer}, epoch={batch.epoch}, sequence={batch.sequence}")
        words += ["transactional=True"] if batch.transactional else []
        words += [f"compression={batch.compression!r}"] if batch.compression != "none" else []
        words += ["headers=[('first', b'1'), ('second', None)]"] if batch.shape == "headers" else []
        words += [f"timestamp={self._scalar(batch.timestamp)}"] if batch.timestamp != self._outcome.now_ms else []
        values = [
            "None" if batch.shape == "null" else f"b'{batch.tag}.{n}' + bytes({batch.size})" for n in range(batch.count)
        ]
        shown = f"[{', '.join(values)}]"
        return f"batch({', '.join([shown, *words])})"


def _sent_fields(sent: Struct, version: int) -> Iterator[Field]:
    """The fields that the version has; of the tagged ones those that are set."""
    for each in sent._fields:
        if version in each.versions and (each.tag is None or getattr(sent, each.name) is not None):
            yield each


def _layout(step: RequestStep) -> dict[str, Any]:
    api = apis.by_name(step.api)
    both = parts(step.api)
    return {
        "key": api.key,
        "flexible": step.version in both["request"].flexible,
        "request": _fields(both["request"].fields, step.version),
        "response": _fields(both["response"].fields, step.version),
    }


def _fields(fields: tuple[Field, ...], version: int) -> list[Any]:
    """Name, type, whether it is an array, whether it may be null, tag, inner fields."""
    return [
        (each.name, each.kind, each.array, version in each.nullable, each.tag, _fields(each.fields, version))
        for each in fields
        if version in each.versions
    ]


def _path(value: Any, actual: Any) -> str | None:
    """Where in an answer a value is, as Python would index it."""
    if isinstance(value, Struct):
        inner = ((f"[{name!r}]", own) for name, own in value._items())
    elif isinstance(value, (list, tuple)):
        inner = ((f"[{number}]", own) for number, own in enumerate(value))
    else:
        return "" if type(value) is type(actual) and value == actual else None
    for step, own in inner:
        if (rest := _path(own, actual)) is not None:
            return step + rest
    return None


def _expected(last: ComparedExchange, places: tuple[DifferingField, ...]) -> dict[str, list[Any]]:
    """What the oracle answered in the fields that differ, where they are plain numbers or words."""
    names = {place.field.rsplit(".", 1)[-1] for place in places if isinstance(place.oracle, (int, str, bool))}
    names -= {name for rule in table() for name in rule.fields}  # what a broker is free to choose
    found = {name: _values(last.oracle.received, name) for name in sorted(names)}
    return {name: values for name, values in found.items() if values and CLOSED not in values}


def _values(value: Any, field: str) -> list[Any]:
    if isinstance(value, Struct):
        return [
            each
            for name, own in value._items()
            for each in ([own] if name == field and isinstance(own, (int, str, bool)) else _values(own, field))
        ]
    return [each for own in value for each in _values(own, field)] if isinstance(value, (list, tuple)) else []


def _short(answer: Any) -> str:
    return str(answer)[:1_000]
