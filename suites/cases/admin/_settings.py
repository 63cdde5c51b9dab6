"""Topic settings of Kafka (LogConfig): the valid and invalid values of each, the spellings accepted, and the value
described.
"""

from collections.abc import Callable
from typing import NamedTuple

LONG, INT = (1 << 63) - 1, (1 << 31) - 1


class SettingValues(NamedTuple):
    """A setting: its kind, values at and within its bounds, and texts that are no value of it."""

    kind: str
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Spelling(NamedTuple):
    """A kind: its code in DescribeConfigs (ConfigType), ways to write a value, and the value that is described."""

    code: int
    spelled: tuple[Callable[[str], str], ...]
    described: Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


def _with_blanks(text: str) -> str:
    return f" {text}  "


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def _with_zeros(text: str) -> str:
    return text if text.startswith("-") else f"00{text}"


def _with_spaces(text: str) -> str:
    return text.replace(",", " , ")


def _list_described(text: str) -> str:
    return ",".join(item.strip() for item in text.split(","))


_NUMBER = (_as_it_is, _as_it_is, _with_blanks, _signed, _with_zeros)

SPELLINGS = {
    "boolean": Spelling(1, (_as_it_is, str.upper, str.capitalize, _with_blanks), lambda text: text.strip().lower()),
    "string": Spelling(2, (_as_it_is, _as_it_is, _with_blanks), str.strip),
    "int": Spelling(3, _NUMBER, lambda text: str(int(text))),
    "long": Spelling(5, _NUMBER, lambda text: str(int(text))),
    "double": Spelling(6, (_as_it_is, _with_blanks), lambda text: str(float(text))),
    "list": Spelling(7, (_as_it_is, _with_blanks, _with_spaces), _list_described),
}
_NO_INT = ("", "many", "5.0", "1e3", "5_000", "0x10", str(INT + 1), str(-INT - 2))
_NO_LONG = ("", "soon", "5.0", "1e3", "5_000", "10L", str(LONG + 1), str(-LONG - 2))
_NO_BOOLEAN = ("", "yes", "1", "0", "t")


def _long(low: int, *others: str) -> SettingValues:
    return SettingValues("long", (str(low), "86400000", str(LONG), *others), (str(low - 1), *_NO_LONG))


def _int(low: int, high: int = INT) -> SettingValues:
    over = (str(high + 1),) if high < INT else ()
    return SettingValues("int", (str(low), str(low + 1), str(high)), (str(low - 1), *over, *_NO_INT))


def _boolean() -> SettingValues:
    return SettingValues("boolean", ("true", "false"), _NO_BOOLEAN)


GOOD_AND_BAD = {
    "cleanup.policy": SettingValues(
        "list", ("delete", "compact", "compact,delete", "delete,compact"), ("tidy", "COMPACT", "delete,tidy")
    ),
    "compression.type": SettingValues(
        "string", ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), ("none", "GZIP", "", "gzip,lz4")
    ),
    "delete.retention.ms": _long(0),
    "file.delete.delay.ms": _long(0),
    "flush.ms": _long(0),
    "flush.messages": _long(1),
    "index.interval.bytes": _int(0),
    "max.compaction.lag.ms": _long(1),
    "max.message.bytes": _int(0),
    "message.timestamp.after.max.ms": _long(0),
    "message.timestamp.before.max.ms": _long(0),
    "message.timestamp.type": SettingValues(
        "string", ("CreateTime", "LogAppendTime"), ("logappendtime", "NoTimestampType", "", "CreateTime,LogAppendTime")
    ),
    "min.cleanable.dirty.ratio": SettingValues(
        "double",
        ("0", "1", "0.5", "0.25", "1.0", "5e-1", ".5"),
        ("-0.1", "1.01", "0,5", "", "half", "Infinity", "-1"),
    ),
    "min.compaction.lag.ms": SettingValues("long", ("0",), ("-1", *_NO_LONG)),
    "min.insync.replicas": _int(1),
    "preallocate": _boolean(),
    "retention.bytes": SettingValues("long", ("-1", "0", "1000000", str(LONG)), _NO_LONG),
    "retention.ms": _long(-1, "0"),
    "segment.bytes": SettingValues("int", (str(1 << 20), "5000000", str(INT)), ("0", "13", "-1", *_NO_INT)),
    "segment.index.bytes": SettingValues("int", ("4", "4096", "10485760"), ("3", "-1", *_NO_INT)),
    "segment.jitter.ms": SettingValues("long", ("0", "10"), ("-1", *_NO_LONG)),
    "segment.ms": _long(1),
    "unclean.leader.election.enable": _boolean(),
}
"""Left out: what has to do with tiers, levels of codecs and throttles, which brokers may refuse for other reasons."""
