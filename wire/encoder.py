"""Writes the source of one encoder: a flat function for one message part in one version.

It appends buffers to a list; fixed fields next to each other become one `struct.pack`, records are never copied.
"""

from dataclasses import replace

from brokertrial.wire.primitives import FIXED
from brokertrial.wire.schema_text import NEVER, Field, MessageSchema
from brokertrial.wire.source import Source, compact, tagged, untagged
from brokertrial.wire.structs import default_source

NULL_STRUCT = b"\xff"
NULL_TAGGED_STRUCT = b"\x00"


class EncoderSource:
    def __init__(self, part: MessageSchema, version: int) -> None:
        self.part, self.version = part, version
        self.flexible = version in part.flexible
        self.code = Source(f"def encode_{part.api}_{part.direction}_v{version}(message, out):")
        self.fixed: list[tuple[str, str]] = []  # (format, expression) not yet packed
        self.ready: list[str] = []  # bytes expressions not yet given to `out`
        self.out = "out"
        self.struct(part.fields, "message", "")
        self.flush()

    def pack(self) -> None:
        if not self.fixed:
            return
        function = self.code.method("".join(code for code, _ in self.fixed), "pack")
        self.ready.append(f"{function}({', '.join(expression for _, expression in self.fixed)})")
        self.fixed = []

    def flush(self) -> None:
        self.pack()
        if self.ready:
            self.code(f"{self.out}({' + '.join(self.ready)})")
        self.ready = []

    def put(self, expression: str) -> None:
        self.pack()
        self.ready.append(expression)

    def struct(self, fields: tuple[Field, ...], var: str, path: str) -> None:
        for field in fields:
            if self.version not in field.versions and not field.ignorable:
                with self.code.block(f"if {not_default(field, f'{var}.{field.name}')}:"):
                    self.code(f"refuse_field({path + field.name!r}, {var}.{field.name})")
        for field in untagged(fields, self.version):
            self.field(field, f"{var}.{field.name}", path + field.name)
        if self.flexible:
            self.tags(fields, var, path)
        else:
            with self.code.block(f"if {var}._unknown_tags:"):
                self.code(f"refuse_tags({path.rstrip('.') or 'the message'!r})")

    def tags(self, fields: tuple[Field, ...], var: str, path: str) -> None:
        known = tagged(fields, self.version)
        if not known:
            self.put(f"(V[0] if not {var}._unknown_tags else tag_section([], {var}._unknown_tags))")
            return
        self.flush()
        found, outer = self.code.name("tags"), self.out
        self.code(f"{found} = []")
        for field in known:
            with self.code.block(f"if {not_default(field, f'{var}.{field.name}')}:", path + field.name):
                body = self.code.name("body")
                self.out = f"{body}.append"
                self.code(f"{body} = []")
                self.field(field, f"{var}.{field.name}", path + field.name)
                self.flush()
                self.code(f"{found}.append(({field.tag}, b''.join({body})))")
                self.out = outer
        self.put(f"(V[0] if not {found} and not {var}._unknown_tags else tag_section({found}, {var}._unknown_tags))")

    def field(self, field: Field, value: str, path: str) -> None:
        if field.array:
            self.array(field, value, path)
        elif field.kind == "struct":
            self.single(field, value, path)
        elif field.kind in FIXED:
            self.fixed.append((FIXED[field.kind][0], f"{value}.bytes" if field.kind == "uuid" else value))
        else:
            self.text_or_bytes(field, value, path)

    def size(self, field: Field, number: str, code: str) -> None:
        """Puts a length or count that is in the variable `number`; -1 is null."""
        if not compact(field, self.part, self.version):
            self.fixed.append((code, number))
            return
        self.put(f"(V[{number} + 1] if {number} < 127 else uvarint_bytes({number} + 1))")

    def text_or_bytes(self, field: Field, value: str, path: str) -> None:
        raw, length = self.code.name("raw"), self.code.name("length")
        nullable = self.version in field.nullable
        read = f"{value}.encode()" if field.kind == "string" else value
        if nullable:
            self.code(f"{raw} = {value}", path)
            with self.code.block(f"if {raw} is None:"):
                self.code(f"{raw} = b''")
                self.code(f"{length} = -1")
            with self.code.block("else:"):
                if field.kind == "string":
                    self.code(f"{raw} = {raw}.encode()")
                self.code(f"{length} = len({raw})")
        else:
            self.code(f"{raw} = {read}", path)
            self.code(f"{length} = len({raw})")
        self.size(field, length, "h" if field.kind == "string" else "i")
        if field.kind == "string":
            self.put(raw)
        else:
            self.flush()
            self.code(f"{self.out}({raw})")

    def single(self, field: Field, value: str, path: str) -> None:
        inner = self.code.name("one")
        if self.version not in field.nullable:
            self.code(f"{inner} = {value}", path)
            self.struct(field.fields, inner, path + ".")
            return
        self.flush()
        self.code(f"{inner} = {value}", path)
        with self.code.block(f"if {inner} is None:"):
            self.code(f"{self.out}({NULL_STRUCT if field.tag is None else NULL_TAGGED_STRUCT!r})")
        with self.code.block("else:"):
            self.ready.append("b'\\x01'")
            self.struct(field.fields, inner, path + ".")
            self.flush()

    def array(self, field: Field, value: str, path: str) -> None:
        items, count = self.code.name("items"), self.code.name("count")
        nullable = self.version in field.nullable
        self.code(f"{items} = {value}", path)
        if nullable:
            self.code(f"{count} = -1 if {items} is None else len({items})")
        else:
            self.code(f"{count} = len({items})")
        self.size(field, count, "i")
        if field.kind in FIXED and field.kind != "uuid":
            code = FIXED[field.kind][0]
            self.put(f"(pack(f'>{{{count}}}{code}', *{items}) if {count} > 0 else b'')")
            return
        self.flush()
        item = self.code.name("item")
        with self.code.block(f"for {item} in {items} or ():"):
            if field.kind == "struct":
                self.struct(field.fields, item, path + ".")
            elif field.kind == "uuid":
                self.put(f"{item}.bytes")
            else:
                self.text_or_bytes(replace(field, array=False, nullable=NEVER), item, path)
            self.flush()


def not_default(field: Field, value: str) -> str:
    """An expression: is the value another than the default? Arrays by length, so that `[]` equals `()`."""
    default = default_source(field)
    if default == "None":
        return f"{value} is not None"
    if field.array:
        return f"({value} is None or len({value}))" if field.nullable.low <= field.nullable.high else f"len({value})"
    if field.kind == "struct":
        inner = " or ".join(not_default(f, f"{value}.{f.name}") for f in field.fields) or "False"
        return f"({value} is None or {inner} or {value}._unknown_tags)"
    if field.kind == "uuid":
        return f"({value} is not ZERO_UUID and {value} != ZERO_UUID)"
    if field.kind == "bool":
        return f"not {value}" if default == "True" else f"{value}"
    return f"{value} != {default}"


def encoder_source(part: MessageSchema, version: int) -> Source:
    return EncoderSource(part, version).code
