"""Which APIs exist, their keys and versions, and which header each version uses."""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from brokertrial.wire.schema_text import FOLDER, NEVER, Versions, after, header_words, parse_versions


@dataclass(frozen=True, slots=True)
class Api:
    name: str
    key: int
    min_version: int
    max_version: int
    flexible_versions: Versions
    unstable_version: int | None  # the newest version, while Kafka does not offer it by default
    listeners: tuple[str, ...]  # who serves it: broker, controller

    def flexible(self, version: int) -> bool:
        return version in self.flexible_versions

    def request_header_version(self, version: int) -> int:
        return 2 if version in self.flexible_versions else 1

    def response_header_version(self, version: int) -> int:
        """ApiVersions always answers with header 0, so that a client that knows nothing yet can read it."""
        return 1 if version in self.flexible_versions and self.name != "ApiVersions" else 0

    @property
    def newest(self) -> int:
        """The newest version that Kafka offers by default."""
        return self.max_version if self.unstable_version is None else self.unstable_version - 1


def _read() -> tuple[Api, ...]:
    found = []
    for path in FOLDER.glob("*.txt"):
        with path.open(encoding="utf-8") as file:
            words = file.readline().split()
        if words[0] != "api":
            continue
        versions = parse_versions(after(words, "request") or "none")
        unstable = after(words, "unstable")
        found.append(
            Api(
                name=words[2],
                key=int(words[1]),
                min_version=versions.low,
                max_version=versions.high,
                flexible_versions=parse_versions(after(words, "flexible") or "none"),
                unstable_version=None if unstable is None else int(unstable),
                listeners=tuple((after(words, "listeners") or "").split(",")),
            )
        )
    return tuple(sorted(found, key=lambda api: api.key))


ALL = _read()
_BY_NAME = {api.name: api for api in ALL}
_BY_KEY = {api.key: api for api in ALL}


def by_name(name: str) -> Api:
    """The API of that name; LookupError offers the nearest names."""
    try:
        return _BY_NAME[name]
    except KeyError:
        near = ", ".join(get_close_matches(name, _BY_NAME)) or "see wire/schema"
        raise LookupError(f"no Kafka API is called {name!r} (nearest: {near})") from None


def by_key(key: int) -> Api | None:
    """The API of that key, or None: a peer may send any number."""
    return _BY_KEY.get(key)


@cache
def data_versions(name: str) -> Versions:
    """The versions of a data message, for instance ConsumerProtocolAssignment."""
    words = header_words(name)
    return parse_versions(after(words, "versions") or "none") if words[0] == "data" else NEVER
