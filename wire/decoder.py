"""Writes the source of one decoder: a flat function for one message part in one version.

Every length is compared with the bytes that are left before anything is allocated, a count with the least that so many
elements would take. A request has at most `MOST_ELEMENTS` array elements and unknown tags in all, as two bytes of one
can cost a hundred in memory. Records stay views of the frame.
"""

from dataclasses import replace

from brokertrial.wire.primitives import FIXED
from brokertrial.wire.schema_text import NEVER, Field, MessageSchema
from brokertrial.wire.source import Source, compact, tagged, untagged
from brokertrial.wire.structs import Struct, default_source, struct_class

MOST_ELEMENTS = 100_000  # far more partitions than one honest request names


class DecoderSource:
    def __init__(self, part: MessageSchema, version: int) -> None:
        self.part, self.version = part, version
        self.flexible = version in part.flexible
        self.code = Source(f"def decode_{part.api}_{part.direction}_v{version}(data, view, pos, end):")
        self.run: list[tuple[str, str]] = []  # (format, target) of fixed fields not yet read
        self.after_run: list[str] = []
        self.is_bounded = part.direction != "response"
        if self.is_bounded:
            self.code(f"budget = {MOST_ELEMENTS}")
        self.struct(part.fields, "message", struct_class(part.api, part.direction), "")
        self.code("return message, pos")

    def read_run(self, comment: str = "") -> None:
        """Reads the fixed fields collected so far with one call."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        size = sum(SIZES[code] for code, _ in self.run)
        function = self.code.method(codes, "unpack_from")
        self.code(f"{', '.join(target for _, target in self.run)}, = {function}(data, pos)", comment)
        self.code(f"pos += {size}")
        for line in self.after_run:
            self.code(line)
        self.run, self.after_run = [], []

    def struct(self, fields: tuple[Field, ...], var: str, kind: type[Struct], path: str) -> None:
        name = self.code.constant("C_" + (path.rstrip(".").replace(".", "_") or "message"), kind)
        self.code(f"{var} = new({name})")
        for field in untagged(fields, self.version):
            self.field(field, f"{var}.{field.name}", path + field.name, kind)
        self.read_run(path.rstrip("."))
        for field in fields:
            if self.version not in field.versions or field.tag is not None:
                self.default(field, f"{var}.{field.name}", path + field.name, kind)
        if self.flexible:
            self.tags(fields, var, kind, path)
        else:
            self.code(f"{var}._unknown_tags = ()")

    def default(self, field: Field, target: str, path: str, kind: type[Struct]) -> None:
        source = default_source(field)
        if not source.startswith("C_"):
            self.code(f"{target} = {source}")
            return
        child = kind._children[field.name]
        inner = self.code.name("one")
        name = self.code.constant("C_" + path.replace(".", "_"), child)
        self.code(f"{target} = {inner} = new({name})")
        for sub in field.fields:
            self.default(sub, f"{inner}.{sub.name}", f"{path}.{sub.name}", child)
        self.code(f"{inner}._unknown_tags = ()")

    def tags(self, fields: tuple[Field, ...], var: str, kind: type[Struct], path: str) -> None:
        count, where = self.code.name("count"), path.rstrip(".") or "the message"
        known = tagged(fields, self.version)
        self.uvarint(count, f"tags of {where}")
        with self.code.block(f"if {count}:"):
            self.spend(count, where)
            if known:
                self.known_tags(known, count, var, kind, path)
            else:
                self.code(f"{var}._unknown_tags, pos = unknown_tags(data, pos, end, {count}, {where!r})")
        with self.code.block("else:"):
            self.code(f"{var}._unknown_tags = ()")

    def known_tags(self, known: list[Field], count: str, var: str, kind: type[Struct], path: str) -> None:
        tag, stop, unknown = (self.code.name(stem) for stem in ("tag", "stop", "unknown"))
        self.code(f"{unknown} = []")
        with self.code.block(f"for _ in range({count}):"):
            self.code(f"{tag}, pos, {stop} = tag_head(data, pos, end, {path.rstrip('.') or 'the message'!r})")
            word = "if"
            for field in known:
                with self.code.block(f"{word} {tag} == {field.tag}:"):
                    self.field(field, f"{var}.{field.name}", path + field.name, kind)
                    self.read_run(path + field.name)
                    with self.code.block(f"if pos != {stop}:"):
                        self.code(f"bad_tag({path + field.name!r}, pos - {stop})")
                word = "elif"
            with self.code.block("else:"):
                self.code(f"{unknown}.append(({tag}, bytes(data[pos:{stop}])))")
                self.code(f"pos = {stop}")
        self.code(f"{var}._unknown_tags = tuple({unknown})")

    def uvarint(self, target: str, comment: str = "") -> None:
        self.read_run()
        self.code(f"{target} = data[pos]", comment)
        self.code("pos += 1")
        with self.code.block(f"if {target} > 127:"):
            self.code(f"{target}, pos = read_uvarint(data, pos - 1)")

    def length(self, field: Field, stem: str, code: str, path: str) -> str:
        """Reads a length or count into a variable; -1 is null."""
        target = self.code.name(stem)
        if compact(field, self.part, self.version):
            self.uvarint(target, path)
            self.code(f"{target} -= 1")
        else:
            self.run.append((code, target))
            self.read_run(path)
        return target

    def field(self, field: Field, target: str, path: str, kind: type[Struct]) -> None:
        if field.array:
            self.array(field, target, path, kind)
        elif field.kind == "struct":
            self.single(field, target, path, kind)
        elif field.kind == "uuid":
            raw = self.code.name("raw")
            self.run.append(("16s", raw))
            self.after_run.append(f"{target} = uuid_from({raw})")
        elif field.kind in FIXED:
            self.run.append((FIXED[field.kind][0], target))
        else:
            self.text_or_bytes(field, target, path)

    def text_or_bytes(self, field: Field, target: str, path: str) -> None:
        length = self.length(field, "length", "h" if field.kind == "string" else "i", path)
        stop = self.code.name("stop")
        if self.version in field.nullable:
            with self.code.block(f"if {length} == -1:"):
                self.code(f"{target} = None")
            with self.code.block("else:"):
                self.take(field, target, length, stop, path)
        else:
            self.take(field, target, length, stop, path)

    def take(self, field: Field, target: str, length: str, stop: str, path: str) -> None:
        self.code(f"{stop} = pos + {length}")
        with self.code.block(f"if not pos <= {stop} <= end:"):
            self.code(f"bad_length({path!r}, {length}, end - pos)")
        self.code(f"{target} = {TAKE[field.kind].format(stop=stop)}", path)
        self.code(f"pos = {stop}")

    def single(self, field: Field, target: str, path: str, kind: type[Struct]) -> None:
        self.read_run()
        child, inner = kind._children[field.name], self.code.name("one")
        if self.version not in field.nullable:
            self.struct(field.fields, inner, child, path + ".")
            self.code(f"{target} = {inner}")
            return
        mark = self.code.name("mark")
        self.code(f"{mark} = data[pos]", path)
        self.code("pos += 1")
        with self.code.block(f"if {mark} > 127:" if field.tag is None else f"if {mark} == 0:"):
            self.code(f"{target} = None")
        with self.code.block("else:"):
            self.struct(field.fields, inner, child, path + ".")
            self.code(f"{target} = {inner}")

    def array(self, field: Field, target: str, path: str, kind: type[Struct]) -> None:
        count = self.length(field, "count", "i", path)
        if self.version in field.nullable:
            with self.code.block(f"if {count} == -1:"):
                self.code(f"{target} = None")
            with self.code.block("else:"):
                self.elements(field, target, count, path, kind)
        else:
            self.elements(field, target, count, path, kind)

    def elements(self, field: Field, target: str, count: str, path: str, kind: type[Struct]) -> None:
        least = self.least(field)
        with self.code.block(f"if not 0 <= {count} * {least} <= end - pos:"):
            self.code(f"bad_count({path!r}, {count}, end - pos)")
        self.spend(count, path)
        if field.kind in FIXED and field.kind != "uuid":
            self.code(f"{target} = list(unpack_from(f'>{{{count}}}{FIXED[field.kind][0]}', data, pos))", path)
            self.code(f"pos += {count} * {least}")
            return
        items, item = self.code.name("items"), self.code.name("item")
        self.code(f"{target} = {items} = []")
        with self.code.block(f"for _ in range({count}):", path):
            if field.kind == "struct":
                self.struct(field.fields, item, kind._children[field.name], path + ".")
            else:
                element = replace(field, array=False, nullable=NEVER)
                self.field(element, item, path, kind)
                self.read_run(path)
            self.code(f"{items}.append({item})")

    def spend(self, count: str, path: str) -> None:
        """Counts the elements of a whole request, before they are made."""
        if self.is_bounded:
            self.code(f"budget -= {count}")
            with self.code.block("if budget < 0:"):
                self.code(f"too_many({path!r})")

    def least(self, field: Field) -> int:
        """The fewest bytes that one element of an array takes; at least one, so that a count is always bounded."""
        if field.kind != "struct":
            return self.least_plain(field)
        inner = sum(self.least_single(f) for f in untagged(field.fields, self.version))
        return max(1, inner + (1 if self.flexible else 0))

    def least_single(self, field: Field) -> int:
        if field.array:
            return 1 if compact(field, self.part, self.version) else 4
        if field.kind == "struct":
            return 1 if self.version in field.nullable else self.least(field)
        return self.least_plain(field)

    def least_plain(self, field: Field) -> int:
        if field.kind in FIXED:
            return FIXED[field.kind][1]
        if compact(field, self.part, self.version):
            return 1
        return 2 if field.kind == "string" else 4


SIZES = dict(FIXED.values())
TAKE = {
    "string": "str(data[pos:{stop}], 'utf-8')",
    "bytes": "bytes(data[pos:{stop}])",
    "records": "view[pos:{stop}]",
}


def decoder_source(part: MessageSchema, version: int) -> Source:
    return DecoderSource(part, version).code
