"""Turns the message definitions of a Kafka release into our schema text, and its error codes into a Python table.

    make schema KAFKA=4.4.0                       fetches the jars of that release (needs Maven), then the same as
    python -m brokertrial.wire.schema_from_kafka PATH...      jars, JSON files, or folders of them

The definitions are the files `common/message/*.json` inside kafka-clients (requests, responses, headers, consumer
protocol) and inside kafka-group-coordinator and kafka-transaction-coordinator (what the internal topics hold). Error
codes are asked of the class `Errors` itself by `java`, with the given jars (and slf4j-api) as its class path.
Only facts are taken over, no descriptions: see wire/NOTICE.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MAX_VERSION = 32767
JAVA_WITHIN_S = 300
VersionBounds = tuple[int, int] | None
Json = dict[str, Any]

ERRORS_PROGRAM = """
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.errors.RetriableException;
class ShowErrors {
    public static void main(String[] arguments) {
        for (Errors e : Errors.values())
            System.out.printf("error %d %s %b%n", e.code(), e.name(), e.exception() instanceof RetriableException);
    }
}
"""


def snake_case(name: str) -> str:
    """Kafka's own rule: an underscore before each capital that does not follow a capital."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", name).lower()


def versions(text: str) -> VersionBounds:
    if text == "none":
        return None
    if text.endswith("+"):
        return int(text[:-1]), MAX_VERSION
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def overlap(one: VersionBounds, other: VersionBounds) -> VersionBounds:
    if one is None or other is None:
        return None
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else None


def shown(part: VersionBounds, whole: VersionBounds) -> str:
    """`part` as text, relative to the range that it lies in: nothing if equal, `N+` if it reaches the end."""
    if part is None:
        return "none"
    if part == whole:
        return ""
    if whole is not None and part[1] >= whole[1]:
        return f"{part[0]}+"
    return str(part[0]) if part[0] == part[1] else f"{part[0]}-{part[1]}"


def default_of(field: Json) -> str:
    """The default as text, or nothing where it is the type's own zero."""
    kind, value = field["type"], field.get("default")
    if value is None or value == "" or (kind.startswith("[]") and value != "null"):
        return ""
    if kind == "bool":
        return "true" if str(value).lower() == "true" else ""
    if re.fullmatch(r"u?int\d+", kind):
        number = int(str(value), 0)
        return str(number) if number else ""
    return str(value)


FieldRow = tuple[str, str, str, str]  # name, type, versions, the rest


def field_lines(
    fields: list[Json], common: dict[str, list[Json]], within: VersionBounds, depth: int
) -> Iterator[FieldRow]:
    for field in fields:
        present = overlap(versions(field.get("versions") or field["taggedVersions"]), within)
        if present is None:
            continue
        nullable = overlap(versions(field.get("nullableVersions", "none")), present)
        mark = "" if nullable is None else "?" + shown(nullable, present)
        kind = field["type"]
        base = kind.removeprefix("[]")
        array = base != kind
        is_struct = base[0].isupper()
        name = "  " * depth + snake_case(field["name"])
        extra = []
        if "tag" in field:
            if overlap(versions(field["taggedVersions"]), present) != present:
                raise ValueError(f"{field['name']}: tagged in some of its versions only")
            extra.append(f"tag {field['tag']}")
        if default := default_of(field):
            extra.append(f"default {default}")
        if field.get("ignorable"):
            extra.append("ignorable")
        if field.get("flexibleVersions") == "none":
            extra.append("inflexible")
        if is_struct:
            yield name + ("[]" if array else "{}") + mark, "", shown(present, within), "  ".join(extra)
            yield from field_lines(field.get("fields") or common[base], common, present, depth + 1)
        else:
            yield name, kind + mark, shown(present, within), "  ".join(extra)


def section(title: str, definition: Json) -> str:
    common = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", [])}
    rows = list(field_lines(definition["fields"], common, versions(definition["validVersions"]), 1))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = ["  ".join(map(str.ljust, row, [*widths, 0])).rstrip() for row in rows]
    return "\n".join([title, *lines]) + "\n"


def range_text(definition: Json) -> str:
    valid = versions(definition["validVersions"])
    assert valid is not None
    return f"{valid[0]}-{valid[1]}" if valid[0] != valid[1] else str(valid[0])


def flexible_text(definition: Json) -> str:
    return str(definition.get("flexibleVersions", "none"))


def api_text(request: Json, response: Json) -> tuple[str, str]:
    name = request["name"].removesuffix("Request")
    if flexible_text(request) != flexible_text(response):
        raise ValueError(f"{name}: request and response become flexible in different versions")
    head = [f"api {request['apiKey']} {name} ", f"request {range_text(request)} ", f"response {range_text(response)} "]
    head.append(f"flexible {flexible_text(request)} ")
    if request.get("latestVersionUnstable"):
        head.append(f"unstable {range_text(request).rpartition('-')[2]} ")
    head.append("listeners " + ",".join(request.get("listeners", [])))
    return name, " ".join(head) + "\n\n" + section("request", request) + "\n" + section("response", response)


def data_text(definition: Json) -> tuple[str, str]:
    name = definition["name"]
    number = f"{definition['apiKey']} " if "apiKey" in definition else ""
    head = f"data {number}{name}  versions {range_text(definition)}  flexible {flexible_text(definition)}"
    return name, head + "\n\n" + section("data", definition)


def read_definitions(paths: Iterable[Path]) -> Iterator[Json]:
    for path in paths:
        if path.is_dir():
            yield from read_definitions(sorted([*path.glob("*.jar"), *path.glob("*.json")]))
        elif path.suffix == ".json":
            yield parse_definition(path.read_text("utf-8"))
        elif path.suffix == ".jar":
            with zipfile.ZipFile(path) as jar:
                for member in sorted(jar.namelist()):
                    if re.fullmatch(r"common/message/\w+\.json", member):
                        yield parse_definition(jar.read(member).decode("utf-8"))
        else:
            raise ValueError(f"{path}: neither a jar, nor a JSON file, nor a folder")


def parse_definition(text: str) -> Json:
    """A definition is JSON with whole-line comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    return dict(json.loads("\n".join(lines)))


def schema_texts(definitions: Iterable[Json]) -> dict[str, str]:
    """File name -> text, for every message that still has a version."""
    alive = [d for d in definitions if d["validVersions"] != "none"]
    requests = {d["apiKey"]: d for d in alive if d["type"] == "request"}
    responses = {d["apiKey"]: d for d in alive if d["type"] == "response"}
    texts = [api_text(request, responses[key]) for key, request in sorted(requests.items())]
    texts += [data_text(d) for d in alive if d["type"] not in ("request", "response") and "Schema" not in d["name"]]
    return {f"{snake_case(name)}.txt": text for name, text in texts}


def ask_errors(paths: Iterable[Path]) -> list[tuple[int, str, bool]]:
    """Code, name and whether it is retriable of every error; empty where Java, or its class path, does not do it."""
    files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    jars = [str(file) for file in files if file.suffix == ".jar"]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "ShowErrors.java")
        program.write_text(ERRORS_PROGRAM)
        command = ["java", "--class-path", ":".join(jars), str(program)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=JAVA_WITHIN_S
            )
        except subprocess.TimeoutExpired:
            return []
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("error ")]
    return sorted((int(code), name, retriable == "true") for _, code, name, retriable in rows)


def errors_text(rows: list[tuple[int, str, bool]]) -> str:
    lines = ['"""Kafka\'s error codes, as its class `Errors` states them. Written by wire/schema_from_kafka.py."""', ""]
    lines += [f"{name} = {code}" for code, name, _ in rows]
    lines += ["", "RETRIABLE_CODES = frozenset(", "    {"]
    lines += [f"        {name}," for _, name, retriable in rows if retriable]
    return "\n".join([*lines, "    }", ")"]) + "\n"


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 4
    paths = [Path(argument) for argument in arguments]
    texts = schema_texts(read_definitions(paths))
    if not texts:
        print("no message definitions found in: " + ", ".join(arguments))
        return 1
    folder = HERE / "schema"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    print(f"{len(texts)} schema files written to {folder}")
    rows = ask_errors(paths) if shutil.which("java") else []
    if rows:
        (HERE / "error_codes.py").write_text(errors_text(rows), "utf-8")
        print(f"{len(rows)} error codes written to {HERE / 'error_codes.py'}")
    else:
        print(
            "error codes left as they were: `java` (of a JDK, 11 or newer) must answer within "
            f"{JAVA_WITHIN_S} s, and be given kafka-clients and slf4j-api"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
