"""Python source in the making: lines, indentation, fresh names, and the constants that it uses."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct as Format
from typing import Any

from brokertrial.wire.primitives import SCOPE
from brokertrial.wire.schema_text import Field, MessageSchema


class Source:
    """Collects generated lines; `compile` turns them into a function."""

    def __init__(self, head: str) -> None:
        self.lines = [head]
        self.scope: dict[str, Any] = dict(SCOPE)
        self.depth = 1
        self._names = 0

    def __call__(self, line: str, comment: str = "") -> None:
        self.lines.append("    " * self.depth + line + (f"  # {comment}" if comment else ""))

    @contextmanager
    def block(self, head: str, comment: str = "") -> Iterator[None]:
        self(head, comment)
        self.depth += 1
        yield
        self.depth -= 1

    def name(self, stem: str) -> str:
        """A variable that nothing else uses: decoders and encoders are flat."""
        self._names += 1
        return f"{stem}{self._names}"

    def constant(self, name: str, value: Any) -> str:
        self.scope[name] = value
        return name

    def method(self, codes: str, method: str) -> str:
        """`pack_iq` or `unpack_iq`: a bound method of the big-endian format, named after it."""
        name = f"{method.removesuffix('_from')}_{codes.replace('?', 'B').replace('16s', 'U')}"
        if "?" in codes:
            name += "_flag" + "".join(str(i) for i, code in enumerate(codes) if code == "?")
        return self.constant(name, getattr(Format(">" + codes), method))

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def compile(self, title: str) -> Any:
        exec(compile(self.text(), f"<{title}>", "exec"), self.scope)
        return self.scope[self.lines[0].split("(")[0].removeprefix("def ")]


def untagged(fields: tuple[Field, ...], version: int) -> list[Field]:
    """The fields on the wire in their own place, in order."""
    return [f for f in fields if version in f.versions and f.tag is None]


def tagged(fields: tuple[Field, ...], version: int) -> list[Field]:
    """The fields in the tag section, in ascending order."""
    return sorted((f for f in fields if version in f.versions and f.tag is not None), key=lambda f: f.tag or 0)


def compact(field: Field, part: MessageSchema, version: int) -> bool:
    return version in part.flexible and not field.inflexible
